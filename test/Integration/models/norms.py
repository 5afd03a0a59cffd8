"""Norms over many rows, each with its own parameters. STAGEWRIGHT_NORMS="R,D": rows, width.

    layers      two layer norms, each inside a residual
    roots       `layers` with root-mean-square norms, which have no bias
    bfloat16    `layers` with bfloat16 activations
"""

import jax
import jax.numpy as jnp

from common import layer_norm, layer_norm_parameters, normals, ones, sizes


def root_norm(scale, x):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def _loss(norm, params, x, y):
    for i, p in enumerate(params):
        with jax.named_scope(f"layer{i}"):
            x = x + jnp.tanh(norm(p, x))
    with jax.named_scope("out"):
        return ((x - y).astype(jnp.float32) ** 2).mean()


def _step(norm, parameters, dtype=jnp.float32):
    s = sizes("STAGEWRIGHT_NORMS", R=2064, D=40)
    n = normals(scale=1.0)
    def loss(params, x, y):
        narrow = jax.tree.map(lambda a: a.astype(dtype), (params, x, y))
        return _loss(norm, *narrow)
    return jax.value_and_grad(loss), ([parameters(s["D"]) for _ in range(2)], n(s["R"], s["D"]), n(s["R"], s["D"]))


def layers():
    return _step(layer_norm, layer_norm_parameters)


def roots():
    return _step(root_norm, ones)


def bfloat16():
    return _step(layer_norm, layer_norm_parameters, jnp.bfloat16)
