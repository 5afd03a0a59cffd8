"""Program 251128-2373: with two slots for gradients, window deadlocked: a sender runs far ahead. 3 stages, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, x0, x1):
    with jax.named_scope("h0"):
        v1 = x0.at[jnp.array([1])].multiply((x0.mean() * p["w4"]), unique_indices=True)
        v2 = jnp.sin(v1)
        v3 = jnp.concatenate([x1, p["w6"], v1], 0)
    with jax.named_scope("h1"):
        v5 = v3[..., None].reshape(6, -1, 1, 1)
        v6 = jnp.sin(v2)
        v7 = jnp.sin(v1)
    with jax.named_scope("h2"):
        v9 = jnp.stack([v2, v2, v2 * v2], 2)
    return weigh(v5) + weigh(v6) + weigh(v7) + weigh(v9)


def program():
    p = {
        "w4": jnp.asarray(np.random.default_rng(275030).standard_normal(()), F),
        "w6": jnp.asarray(np.random.default_rng(275044).standard_normal((2, 1)), F),
    }
    x0 = jnp.asarray(np.random.default_rng(275120).standard_normal((2, 1)), F)
    x1 = jnp.asarray(np.random.default_rng(275127).standard_normal((2, 1)), F)
    return jax.value_and_grad(function), (p, x0, x1)
