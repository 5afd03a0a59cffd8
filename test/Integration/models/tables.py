"""A table whose rows are looked up many times. STAGEWRIGHT_TABLES="R,D,T": rows, width, tokens.

    sums    the sum of the tokens' rows, each element times a factor; the factors differ so much in size that the order in
            which a row's gradient is summed changes its bits
    order   rows of numbers, sorted by their positions
"""

import jax
import jax.numpy as jnp
import numpy as np

from common import integers, normals, sizes


def sums():
    s = sizes("STAGEWRIGHT_TABLES", R=7, D=24, T=600)
    n = normals(scale=1.0)
    factors = n(s["T"], s["D"]) * np.exp(12 * n(s["T"], s["D"]))
    def loss(params, ids, factors):
        with jax.named_scope("table"):
            return (params["table"][ids] * factors).sum()
    return jax.value_and_grad(loss), ({"table": n(s["R"], s["D"])}, integers(s["R"], s["T"]), factors.astype(np.float32))


def order():
    s = sizes("STAGEWRIGHT_TABLES", R=2, D=2100, T=1)
    n = normals(scale=1.0)

    def loss(params, x):
        scaled = x * params["w"]
        return (jnp.take_along_axis(scaled, jnp.argsort(scaled), -1) * jnp.sin(jnp.arange(s["D"]) * 1.0)).sum()
    return jax.value_and_grad(loss), ({"w": n(1, s["D"])}, n(s["R"], s["D"]))
