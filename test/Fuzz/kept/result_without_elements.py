"""Program 112525-2041: a result without elements. 3 stages, schedule gpipe, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, x0):
    with jax.named_scope("h0"):
        v3 = lax.scan(lambda h, w: (jnp.tanh(h @ w), h), x0, p["w4"], reverse=True)[1]
        v5 = v3[None]
        v13 = lax.conv_general_dilated(v5, p["w12"], (1, 1), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC'), feature_group_count=3, rhs_dilation=(2, 2))
    return v13,


def program():
    p = {
        "w4": jnp.asarray(np.random.default_rng(704030).standard_normal((3, 3, 3)) * 0.577, F),
        "w12": jnp.asarray(np.random.default_rng(704087).standard_normal((1, 2, 1, 3)) * 0.707, F),
    }
    x0 = jnp.asarray(np.random.default_rng(704120).standard_normal((2, 3)), F)
    return function, (p, x0)
