"""Products written with einsum, with array layouts that no device library accepts.

STAGEWRIGHT_EINSUMS="B,Q,D": samples, rows of each sample, width.

    batch_last    scores whose innermost dimension is the batch
    grouped       groups of queries share keys; the innermost dimension of the scores is the query within a group
"""

import jax
import jax.numpy as jnp

from common import normals, sizes


def _made(scores, *shape):
    s = sizes("STAGEWRIGHT_EINSUMS", B=4, Q=8, D=16)
    n = normals(scale=0.3)

    def loss(params, x):
        with jax.named_scope("scores"):
            made = scores(jnp.tanh(x @ params["w"]), s)
        with jax.named_scope("head"):
            return ((jnp.tanh(made) * params["v"]) ** 2).mean()

    params = {"w": n(s["D"], s["D"]), "v": n(*(s[i] if isinstance(i, str) else i for i in shape))}
    return jax.value_and_grad(loss), (params, normals(1, 1.0)(s["B"], s["Q"], s["D"]))


def batch_last():
    return _made(lambda h, _: jnp.einsum("bqd,bkd->qkb", h, h), "Q", "Q", "B")


def grouped():
    def scores(h, s):
        keys = h.reshape(s["B"], s["Q"], 2, s["D"] // 2)
        queries = jnp.sin(keys)[:, :, :, None] * jnp.arange(1.0, 4.0)[:, None]
        return jnp.einsum("bskd,bqkgd->bksqg", keys, queries)
    return _made(scores, "B", 2, "Q", "Q", 3)
