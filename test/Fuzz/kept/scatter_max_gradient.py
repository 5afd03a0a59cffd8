"""The gradient of a maximum over rows chosen by an argument: a value was read after it was overwritten. 1 stage"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, x1, i0):
    v3 = jnp.zeros((4, *(1,)), F).at[i0 % 4].max(x1)
    return weigh(v3)


def program():
    p = {
        "w": jnp.asarray(np.random.default_rng(364001).standard_normal(()), F),
    }
    x1 = jnp.asarray(np.random.default_rng(364127).standard_normal((2, 1)), F)
    i0 = jnp.asarray(np.random.default_rng(364105).integers(-1, 7, (2,)), I)
    return jax.value_and_grad(function), (p, x1, i0)
