"""Program 70001-470: a slice with a stride in one dimension that drops another dimension. 1 stage, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, n0):
    with jax.named_scope("h0"):
        v1 = lax.dynamic_slice(jnp.sin(p["w2"][:, np.array([3])]), (n0, I(0), I(3)), (5, 1, 1))
        v2 = v1[0::3, 0]
    return weigh(v2), (v2,)


def program():
    p = {"w2": jnp.asarray(np.random.default_rng(1).standard_normal((5, 6, 6)), F)}
    n0 = jnp.asarray(np.random.default_rng(2).integers(-1, 5, ()), I)
    return jax.value_and_grad(function, has_aux=True), (p, n0)
