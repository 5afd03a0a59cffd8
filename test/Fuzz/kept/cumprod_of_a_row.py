"""The running product of one row, kept for the backward, was read after it had been partly overwritten. 1 stage"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, x):
    with jax.named_scope("h2"):
        v3 = jnp.cumprod(jnp.tanh(p["w1"]) * 0.3 + 1, 1)
    with jax.named_scope("h3"):
        v5 = jnp.sin(v3)
    return weigh(v5)


def program():
    p = {
        "w1": jnp.asarray(np.random.default_rng(769009).standard_normal((1, 3)), F),
    }
    x = jnp.asarray(np.random.default_rng(769120).standard_normal((2,)), F)
    return jax.value_and_grad(function), (p, x)
