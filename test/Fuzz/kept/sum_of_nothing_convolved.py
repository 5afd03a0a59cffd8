"""Program 112525-1776: the gradient of a convolution whose result has no elements. 1 stage, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, x):
    v1 = lax.conv_general_dilated(p["w2"], p["w4"], (2, 2), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC'), rhs_dilation=(2, 2))
    v3 = p["w5"].at[jnp.array([1, 0, 1])].add(jnp.tanh(p["w6"]))
    return weigh(v1) + weigh(v3)


def program():
    p = {
        "w2": jnp.asarray(np.random.default_rng(159016).standard_normal((1, 3, 3, 2)), F),
        "w4": jnp.asarray(np.random.default_rng(159030).standard_normal((2, 3, 2, 2)) * 0.289, F),
        "w5": jnp.asarray(np.random.default_rng(159037).standard_normal((2, 1)) * 0.707, F),
        "w6": jnp.asarray(np.random.default_rng(159044).standard_normal((1,)), F),
    }
    x = jnp.asarray(np.random.default_rng(159120).standard_normal((2,)), F)
    return jax.value_and_grad(function), (p, x)
