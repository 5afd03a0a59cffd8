"""Program 81125-2451: a slice at a computed index that one branch overwrites and the other does not. 1 stage, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, x0, i0):
    j0 = i0[0]
    v1 = x0.at[0].set(x0.mean(0) * p["w4"])
    v2 = v1[j0]
    v8 = v2.at[j0 % 1].multiply(jnp.tanh(p["w7"]), unique_indices=True)
    return weigh(v8)


def program():
    p = {
        "w4": jnp.asarray(np.random.default_rng(190030).standard_normal(()), F),
        "w7": jnp.asarray(np.random.default_rng(190051).standard_normal((2,)), F),
    }
    x0 = jnp.asarray(np.random.default_rng(190120).standard_normal((2, 1, 1, 2)), F)
    i0 = jnp.asarray(np.random.default_rng(190105).integers(-1, 4, (2,)), I)
    return jax.value_and_grad(function), (p, x0, i0)
