"""1 stage, schedule 1f1b, 2 microbatches: the maximum of numbers rounded to bfloat16, and the mask of its position"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, x):
    v2 = (p["w1"].astype(H) * 2).astype(F)
    v3 = jnp.ptp(v2, axis=0)
    return weigh(v3)


def program():
    p = {
        "w1": jnp.asarray(np.random.default_rng(693009).standard_normal((2, 1)), F),
    }
    x = jnp.asarray(np.random.default_rng(693120).standard_normal((2,)), F)
    return jax.value_and_grad(function), (p, x)
