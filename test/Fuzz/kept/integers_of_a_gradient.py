"""Program 20900-26: integers computed from a gradient, with the shape of an argument. 1 stage, 2 microbatches"""
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
        v1 = jnp.square(jax.grad(lambda x: jnp.tanh(x @ p["w4"]).sum())(x0)).sum(-1)
        v2 = (v1 * 3).astype(I)
    return weigh(i0), (v2, )


def program():
    p = {
        "w4": jnp.asarray(np.random.default_rng(912030).standard_normal((1, 2)) * 0.5, F),
    }
    x0 = jnp.asarray(np.random.default_rng(912120).standard_normal((1, 1)), F)
    i0 = jnp.asarray(np.random.default_rng(912105).integers(-1, 5, (1,)), I)
    return jax.value_and_grad(function, has_aux=True), (p, x0, i0)
