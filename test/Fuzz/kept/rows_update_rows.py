"""Program 81125-3537: rows of a batch that update rows of a parameter. 2 stages, the first on 2 devices, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, i0):
    with jax.named_scope("h0"):
        v4 = jax.vmap(lambda r, i: r.at[i % 2].multiply(p["w5"], unique_indices=True))(p["w2"], i0)
    return weigh(v4)


def program():
    p = {
        "w2": jnp.asarray(np.random.default_rng(883016).standard_normal((2, 2)), F),
        "w5": jnp.asarray(np.random.default_rng(883037).standard_normal(()), F),
    }
    i0 = jnp.asarray(np.random.default_rng(883105).integers(-1, 6, (2,)), I)
    return jax.value_and_grad(function), (p, i0)
