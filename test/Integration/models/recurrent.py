"""Recurrent networks. STAGEWRIGHT_RECURRENT="T,B,D": iterations, sequences, width.

    lstm    an LSTM, a scan of so many iterations that the import keeps it as a loop
    slices  a plain recurrence of few iterations: the import unrolls its scan; each reads a row of the transposed input
"""

import jax
import jax.numpy as jnp
from jax import lax

from common import normals, sizes


def layer(p, xs):
    def step(carry, x):
        h, cell = carry
        i, f, o, new = jnp.split(x @ p["input"] + h @ p["state"] + p["bias"], 4, -1)
        cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(new)
        h = jax.nn.sigmoid(o) * jnp.tanh(cell)
        return (h, cell), h
    zero = jnp.zeros(xs.shape[1:])
    return lax.scan(step, (zero, zero), xs)[1]


def lstm():
    s = sizes("STAGEWRIGHT_RECURRENT", T=130, B=3, D=20)
    n = normals(scale=0.2)
    params = {"input": n(s["D"], 4 * s["D"]), "state": n(s["D"], 4 * s["D"]), "bias": n(4 * s["D"])}

    def loss(params, x):
        return (layer(params, x.swapaxes(0, 1)) ** 2).mean()
    return jax.value_and_grad(loss), (params, n(s["B"], s["T"], s["D"]))


def slices():
    s = sizes("STAGEWRIGHT_RECURRENT", T=12, B=4, D=16)
    n = normals(scale=0.2)

    def loss(weight, x):
        def step(h, x):
            h = jnp.tanh(h @ weight + x)
            return h, h
        return (lax.scan(step, jnp.zeros((s["B"], s["D"])), x.swapaxes(0, 1))[1] ** 2).mean()
    return jax.value_and_grad(loss), (n(s["D"], s["D"]), n(s["B"], s["T"], s["D"]))
