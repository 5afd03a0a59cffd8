"""A slice of a slice, both with computed starts: 2 stages, schedule gpipe, 2 microbatches. XLA omits a clamp."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, x1, i0):
    with jax.named_scope("h0"):
        j0 = i0[0]
        v5 = x1
        v6 = lax.dynamic_slice(v5, (I(2), j0,), (3, 3))
        v8 = lax.dynamic_slice(v6, (j0, I(0),), (2, 3))
    return weigh(v8)


def program():
    p = {
        "w": jnp.asarray(np.random.default_rng(415001).standard_normal(()), F),
    }
    x1 = jnp.asarray(np.random.default_rng(415127).standard_normal((8, 6)), F)
    i0 = jnp.asarray(np.random.default_rng(415105).integers(0, 3, (4,)), I)
    return jax.value_and_grad(function), (p, x1, i0)
