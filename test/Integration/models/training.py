"""Training steps with optimizers of optax.

    gpt_adamw   gpt_deep with AdamW: gradients clipped by their global norm, the learning rate an argument
    gpt_adamw_wide  the same with gpt
    gpt_adamw_validated  gpt_adamw_wide with the loss alone, for validation
    gpt_adamw_100m  the same with gpt_100m
    tied_adamw  the same with gpt_deep_tied: the first stage owns the shared matrix, the last reads it
    slices_adamw  the same with gpt_slices
    single_adamw  the same with gpt_single
    scan_adamw  the same with gpt_scan: rows of parameters, gradients and moments belong to the stages of their layers
    scan_lamb   gpt_scan with LAMB, which takes norms of values that clipping by the global norm has scaled
    mlp_sgd     the perceptron with SGD and momentum
    large_sgd   sixteen matrices of 16 MiB with SGD, which has no state
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

import gpt
import mlp
from common import sizes


def updating(optimizer):
    def update(parameters, gradients, state):
        changes, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, changes), state
    return update


def _adamw(made):
    step, arguments, *_ = made

    def optimizer(rate):
        return optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(rate, weight_decay=0.1))

    def update(parameters, gradients, state, rate):
        return updating(optimizer(rate))(parameters, gradients, state)

    return step, arguments, {"update": (update, optimizer(0.0).init(arguments[0]), np.float32(3e-3))}


def gpt_adamw():
    return _adamw(gpt.gpt_deep())


def gpt_adamw_wide():
    return _adamw(gpt.gpt())


def gpt_adamw_validated():
    def validation(parameters, ids, tgt):
        return gpt.loss(parameters, ids, tgt, sizes("STAGEWRIGHT_GPT", **gpt.DEFAULT)["H"])

    step, arguments, options = gpt_adamw_wide()
    return step, arguments, {**options, "validation": validation}


def gpt_adamw_100m():
    return _adamw(gpt.gpt_100m())


def tied_adamw():
    return _adamw(gpt.gpt_deep_tied())


def slices_adamw():
    return _adamw(gpt.gpt_slices())


def single_adamw():
    return _adamw(gpt.gpt_single())


def scan_adamw():
    return _adamw(gpt.gpt_scan(gpt.DEEP))


def scan_lamb():
    step, arguments, *_ = gpt.gpt_scan(gpt.DEEP)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.lamb(1e-2))
    return step, arguments, {"update": (updating(optimizer), optimizer.init(arguments[0]))}


def mlp_sgd():
    step, arguments, *_ = mlp.mlp()
    optimizer = optax.sgd(0.05, momentum=0.9)
    return step, arguments, {"update": (updating(optimizer), optimizer.init(arguments[0]))}


def large_sgd():
    def loss(matrices, x):
        for matrix in matrices:
            x = jnp.tanh(matrix @ x)
        return jnp.mean(x)

    matrices = [np.zeros((2048, 2048), np.float32) for _ in range(16)]
    optimizer = optax.sgd(0.05)
    return jax.value_and_grad(loss), (matrices, np.ones(2048, np.float32)), \
        {"update": (updating(optimizer), optimizer.init(matrices))}
