"""Program 4711-256: layers of shards were planned out of order, and refused. 2 stages, split over 2 shards, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, x0, i0):
    with jax.named_scope("h0"):
        v1 = lax.scan(lambda h, w: (jnp.tanh(h @ w), h.sum()), x0, p["w4"])[0]
        v2 = ((p["w4"] - p["w4"].astype(F).mean((0, 1))) * lax.rsqrt(jnp.square(p["w4"].astype(F)).mean((0, 1)) - jnp.square(p["w4"].astype(F).mean((0, 1))) + 0.3)).astype(F) * p["w5"]
        v3 = lax.dot_general(v2, p["w6"], (((0,), (2,)), ((1, 2), (0, 1))))
        v4 = v3[1:2, 1, 0:1]
        v5 = jnp.einsum('ij,ij->', v4, p["w7"])
        v6 = lax.associative_scan(jnp.maximum, v1, axis=0)
    with jax.named_scope("h1"):
        v7 = lax.scan(lambda c, x: (jnp.concatenate([c[1:], x[None]]), (c * x[None]).sum(0)), jnp.ones_like(v3[:2]), v3)[1]
        v8 = jnp.mean(v7, axis=0, keepdims=True)
        v9 = lax.associative_scan(lambda u, v: (u[0] * v[0], v[0] * u[1] + v[1]), (jax.nn.sigmoid(v3), v7), axis=1)[1]
        v10 = jax.nn.gelu(v8 @ p["w8"] + p["w5"]) @ p["w8"] + v8
        v11 = lax.erf_inv(0.8 * jnp.tanh(v10))
        v12 = jnp.where(jnp.abs(v8 - v11) < 1, 0.5 * jnp.square(v8 - v11), jnp.abs(v8 - v11) - 0.5)
    return weigh(v3) + weigh(v5) + weigh(v6) + weigh(v9) + weigh(v12)


def program():
    p = {
        "w4": jnp.asarray(np.random.default_rng(88030).standard_normal((4, 2, 2)) * 0.707, F),
        "w5": jnp.asarray(np.random.default_rng(88037).standard_normal((2,)), F),
        "w6": jnp.asarray(np.random.default_rng(88044).standard_normal((2, 2, 4, 2)) * 0.5, F),
        "w7": jnp.asarray(np.random.default_rng(88051).standard_normal((1, 1)), F),
        "w8": jnp.asarray(np.random.default_rng(88058).standard_normal((2, 2)) * 0.707, F),
    }
    x0 = jnp.asarray(np.random.default_rng(88120).standard_normal((2,)), F)
    i0 = jnp.asarray(np.random.default_rng(88105).integers(-1, 7, (2,)), I)
    return jax.value_and_grad(function), (p, x0, i0)
# refused, compile: program.py:15:1: error: a value of layer 'h0.layer2.t5.s1' on stage 7 is used by layer 'h0.layer2.t6.s0' on
# the earlier stage 6; list stages in the order of their layers
