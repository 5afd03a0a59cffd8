"""Recurrent layers, as loops over time."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from stagewright.onnx.registry import is_known, operator

ACTIVATIONS = {"Sigmoid": jax.nn.sigmoid, "Tanh": jnp.tanh, "Relu": jax.nn.relu, "Softsign": jax.nn.soft_sign,
               "Softplus": jax.nn.softplus}


def _rnn(node, functions, weights, recurrence, bias, state):
    hidden, = state
    activation, = functions

    def step(carry, inputs):
        new = activation(inputs + bias[0] + carry[0] @ recurrence.T + bias[1])
        return (new,), new

    return step, (hidden,)


def _gru(node, functions, weights, recurrence, bias, state):
    """Gates in the order update, reset, new."""
    first, second = functions
    size = node.get("hidden_size")
    own, other = bias
    before = node.get("linear_before_reset", 0)

    def step(carry, inputs):
        hidden, = carry
        gates = hidden @ recurrence[:2 * size].T + (inputs + own)[:, :2 * size] + other[:2 * size]
        update, reset = first(gates[:, :size]), first(gates[:, size:])
        if before:
            new = second((inputs + own)[:, 2 * size:] + reset * (hidden @ recurrence[2 * size:].T + other[2 * size:]))
        else:
            new = second((inputs + own)[:, 2 * size:] + (reset * hidden) @ recurrence[2 * size:].T + other[2 * size:])
        made = (1 - update) * new + update * hidden
        return (made,), made

    return step, state


def _lstm(node, functions, weights, recurrence, bias, state):
    """Gates in the order input, output, forget, cell; peepholes read the cell."""
    first, second, third = functions
    size, (bias, peephole) = node.get("hidden_size"), bias

    def step(carry, inputs):
        hidden, cell = carry
        i, o, f, c = jnp.split(inputs + hidden @ recurrence.T + bias, 4, -1)
        if peephole is not None:
            i, f = i + peephole[:size] * cell, f + peephole[2 * size:] * cell
        cell = first(f) * cell + first(i) * second(c)
        o = o if peephole is None else o + peephole[size:2 * size] * cell
        hidden = first(o) * third(cell)
        return (hidden, cell), hidden

    return step, state


def _recurrent(node, make, gates, defaults, states, x, weights, recurrence, bias, lengths, initial, peephole=None):
    """One or two directions of a layer: (all hidden states, last states)."""
    time = x.shape[1 if node.get("layout", 0) else 0]
    if lengths is not None and not (is_known(lengths) and (lengths == time).all()) or node.get("clip"):
        raise node.failure("it clips, or has sequences whose lengths differ or depend on the step's arguments, which "
                           "is not supported; export the model for sequences of one length")
    if node.get("input_forget"):
        raise node.failure("its input and forget gates are coupled (input_forget), which is not supported; export the model "
                           "without it")
    size, reverse = node.get("hidden_size"), node.get("direction", "forward")
    names = node.get("activations") or defaults * weights.shape[0]
    if unknown := [name for name in names if name not in ACTIVATIONS]:
        raise node.failure(f"activation '{unknown[0]}' is not supported; it can be one of {', '.join(ACTIVATIONS)}")
    turn = bool(node.get("layout", 0))
    x = jnp.swapaxes(x, 0, 1) if turn else jnp.asarray(x)
    initial = [None if s is None else jnp.swapaxes(s, 0, 1) if turn else s for s in initial]
    histories, lasts = [], []
    for d in range(weights.shape[0]):
        back = reverse == "reverse" or d == 1
        pair = jnp.zeros((2, gates * size), x.dtype) if bias is None else jnp.reshape(bias[d], (2, -1))
        if states == 2:
            pair = (pair[0] + pair[1], None if peephole is None else peephole[d])
        start = tuple(jnp.zeros((x.shape[1], size), x.dtype) if s is None else jnp.asarray(s)[d] for s in initial)
        functions = [ACTIVATIONS[name] for name in names[d * len(defaults):(d + 1) * len(defaults)]]
        step, start = make(node, functions, weights[d], recurrence[d], pair, start)
        last, history = lax.scan(step, start, jnp.matmul(x, weights[d].T), reverse=back)
        histories.append(history), lasts.append(last)
    history = jnp.stack(histories, 1)
    ends = [jnp.stack([last[i] for last in lasts]) for i in range(states)]
    if turn:
        history, ends = history.transpose(2, 0, 1, 3), [jnp.swapaxes(end, 0, 1) for end in ends]
    return history, *ends


@operator("RNN")
def rnn(node, x, weights, recurrence, bias=None, lengths=None, hidden=None):
    return _recurrent(node, _rnn, 1, ["Tanh"], 1, x, weights, recurrence, bias, lengths, [hidden])


@operator("GRU")
def gru(node, x, weights, recurrence, bias=None, lengths=None, hidden=None):
    return _recurrent(node, _gru, 3, ["Sigmoid", "Tanh"], 1, x, weights, recurrence, bias, lengths, [hidden])


@operator("LSTM")
def lstm(node, x, weights, recurrence, bias=None, lengths=None, hidden=None, cell=None, peephole=None):
    return _recurrent(node, _lstm, 4, ["Sigmoid", "Tanh", "Tanh"], 2, x, weights, recurrence, bias, lengths,
                      [hidden, cell], peephole)
