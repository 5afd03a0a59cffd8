"""A perceptron with a squared loss. STAGEWRIGHT_MLP="I,D,O,L,B": input, width, output, hidden layers, microbatch."""

import jax
import jax.numpy as jnp

from common import normals, sizes, zeros


def loss(params, x, y):
    *hidden, (w, b) = params
    for i, (wi, bi) in enumerate(hidden):
        with jax.named_scope(f"layer{i}"):
            x = jnp.tanh(x @ wi + bi)
    with jax.named_scope("out"):
        return ((x @ w + b - y) ** 2).mean()


def mlp():
    s = sizes("STAGEWRIGHT_MLP", I=16, D=32, O=8, L=4, B=8)
    n = normals(scale=0.2)
    widths = [s["I"], *[s["D"]] * s["L"], s["O"]]
    params = [(n(i, o), zeros(o)) for i, o in zip(widths, widths[1:])]
    n = normals(seed=1, scale=1.0)
    return jax.value_and_grad(loss), (params, n(s["B"], s["I"]), n(s["B"], s["O"]))
