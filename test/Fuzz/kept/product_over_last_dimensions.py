"""jax.numpy.prod transposes, then reshapes; rows of a parameter were taken without the transpose."""
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
        v2 = jnp.prod(jnp.tanh(p["w2"]) + 1.2, axis=(1, 2))
    return weigh(v2)


def program():
    p = {
        "w2": jnp.asarray(np.random.default_rng(504016).standard_normal((2, 1, 2)), F),
    }
    x = jnp.asarray(np.random.default_rng(504120).standard_normal((2,)), F)
    return jax.value_and_grad(function), (p, x)
