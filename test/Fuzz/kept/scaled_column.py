"""The gradient of a scale was several times too large: the update overwrote what the backward reads. 2 stages"""
import jax
import jax.numpy as jnp
import numpy as np


def function(p, x):
    with jax.named_scope("h0"):
        h = jnp.tanh(x @ p["w"])
    with jax.named_scope("h1"):
        h = h.at[:, 1].multiply(p["s"])
    with jax.named_scope("h2"):
        h = h.at[0].set(h.mean(0) * p["s"]).at[:, 2].max(0.3)
        h = jax.lax.dynamic_update_slice(h, h[:, :3] * 2, (0, 2))
    with jax.named_scope("h3"):
        h = h.at[:, :3].set(h[:, 3:]).at[:, 3:].set(h[:, :3])
        return (h @ p["w"]).sum()


def program():
    rng = np.random.default_rng(1)
    p = {"w": jnp.asarray(rng.standard_normal((6, 6)), jnp.float32), "s": jnp.float32(0.7)}
    return jax.value_and_grad(function), (p, jnp.asarray(rng.standard_normal((4, 6)), jnp.float32))
