"""Program 81125-3466: rows of a batch update a parameter one by one, which is not a sum. 1 stage, the first on 2 devices, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, i0):
    v4 = p["w2"].at[jnp.arange(2), i0 % 1].multiply(p["w5"], unique_indices=True)
    return weigh(v4)


def program():
    p = {
        "w2": jnp.asarray(np.random.default_rng(795016).standard_normal((2, 1)), F),
        "w5": jnp.asarray(np.random.default_rng(795037).standard_normal((2,)), F),
    }
    i0 = jnp.asarray(np.random.default_rng(795105).integers(0, 3, (2,)), I)
    return jax.value_and_grad(function), (p, i0)
