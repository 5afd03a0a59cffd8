"""Program 112525-148: a value of the first stage that only the backward of the second reads. 2 stages, schedule gpipe, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, x):
    with jax.named_scope("h0"):
        v1 = p["w2"] + p["w2"] @ p["w4"]
    with jax.named_scope("h1"):
        v6 = lax.associative_scan(jnp.multiply, jnp.tanh(v1) * 0.3 + 1, axis=0)
    return weigh(v1) + weigh(v6)


def program():
    p = {
        "w2": jnp.asarray(np.random.default_rng(382016).standard_normal((2, 1)), F),
        "w4": jnp.asarray(np.random.default_rng(382030).standard_normal((1, 1)) * 0.408, F),
    }
    x = jnp.asarray(np.random.default_rng(382120).standard_normal((2,)), F)
    return jax.value_and_grad(function), (p, x)
