"""Program 606944-89: values that only the last of two shards computes. 1 stage, split over 2 shards, 2 microbatches"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


def function(p, i1, n0):
    with jax.named_scope("h0"):
        j0 = i1[0]
        v1 = jnp.stack([p["w1"], p["w1"], p["w1"] * p["w1"]], 0)
        v2 = -jax.nn.log_sigmoid(v1) * jax.nn.sigmoid(v1)
        v4 = lax.dynamic_update_slice(v2, v2[:3] * -0.33, (n0,))
    with jax.named_scope("h1"):
        v5 = jnp.take(p["w5"], j0, axis=0, mode='clip')
        v6 = v4[:]
        v8 = jnp.log(jnp.cosh(v6 - v4))
        v9 = jnp.take(v8, i1 - 1, axis=0, mode='wrap')
    with jax.named_scope("h2"):
        v11 = v9[j0]
        v12 = v6[2]
        v13 = lax.map(lambda x: jnp.tanh(x @ p["w7"]), p["w6"])
        v14 = lax.fori_loop(1, 3, lambda i, b: b.at[i].add(b[i - 1] * p["w4"]), v13)
    return weigh(v4) + weigh(v5) + weigh(v8) + weigh(v9) + weigh(v11) + weigh(v12) + weigh(v14)


def program():
    p = {
        "w1": jnp.asarray(np.random.default_rng(407009).standard_normal(()), F),
        "w4": jnp.asarray(np.random.default_rng(407030).standard_normal(()), F),
        "w5": jnp.asarray(np.random.default_rng(407037).standard_normal((6, 1)), F),
        "w6": jnp.asarray(np.random.default_rng(407044).standard_normal((3, 5, 5)) * 0.447, F),
        "w7": jnp.asarray(np.random.default_rng(407051).standard_normal((5, 5)) * 0.447, F),
    }
    i1 = jnp.asarray(np.random.default_rng(407112).integers(-1, 6, (5,)), I)
    n0 = jnp.asarray(np.random.default_rng(407110).integers(-1, 5, ()), I)
    return jax.value_and_grad(function), (p, i1, n0)
