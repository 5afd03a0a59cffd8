"""Program 70001-334: a slice at a computed index, updated by a scatter and also read unchanged. 1 stage, 2 microbatches"""
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
        v3 = lax.dynamic_slice(x0, (i0[0], I(0), I(0)), (1, 1, 2))
        v4 = v3.at[jnp.array([0])].min(1.45)
    return weigh(v4) + weigh(v3)


def program():
    p = {"w": jnp.asarray(np.random.default_rng(1).standard_normal(()), F)}
    x0 = jnp.asarray(np.random.default_rng(2).standard_normal((2, 1, 2)), F)
    i0 = jnp.asarray(np.random.default_rng(3).integers(-1, 4, (2,)), I)
    return jax.value_and_grad(function), (p, x0, i0)
