"""Small losses that compilers have got wrong: updates of parts of an array, values that are returned and also updated,
computed indices, pooling before the head. One function per loss; each takes (parameters, x) of a microbatch."""

import jax
import jax.numpy as jnp
from jax import lax

from common import normals


def ordinary(loss):
    """Decorator that replaces a loss by the function that makes its step."""
    def make():
        n, x = normals(scale=0.4), normals(seed=1, scale=1.0)
        p = dict(w=n(8, 8), v=n(8, 8), s=n(5) + 1.5, k=n(3, 1, 8))
        return jax.value_and_grad(loss), (p, x(5, 8))
    return make


@ordinary
def column(p, x):
    h = jnp.tanh(x @ p["w"])
    return (h.at[:, 1].multiply(p["s"]) @ p["v"]).sum()


@ordinary
def first_row(p, x):
    h = jnp.tanh(x @ p["w"])
    return ((h.at[0].set(h.mean(0) * p["s"][0]) @ p["v"]) ** 2).mean()


@ordinary
def swapped_halves(p, x):
    h = jnp.tanh(x @ p["w"])
    g = h.at[:, :4].set(h[:, 4:]).at[:, 4:].set(h[:, :4] * p["s"][1])
    return (jnp.sin(g @ p["v"]) * g).mean()


@ordinary
def largest(p, x):
    h = jnp.tanh(x @ p["w"])
    return ((h.at[:2].max(p["v"][:2] * 0.1) @ p["v"]) ** 2).mean()


@ordinary
def shifted(p, x):
    h = jnp.tanh(x @ p["w"])
    return ((lax.dynamic_update_slice(h, h[:2, :4] * 2, (0, 3)) @ p["v"]) ** 2).mean() + h[0, 3]


@ordinary
def swapped_by_a_loop(p, x):
    a, b = lax.fori_loop(0, 3, lambda i, ab: (ab[1] * p["s"][2], jnp.tanh(ab[0] @ p["v"])), (x @ p["w"], x))
    return (a * jnp.cos(b)).mean()


@ordinary
def scanned(p, x):
    h = lax.scan(lambda c, r: (0.5 * c + jnp.sin(r) * p["s"], c * r), p["s"], x @ p["w"] @ x.T)[1]
    return ((h - p["s"]).min(1) * p["s"]).mean()


@ordinary
def pooled(p, x):
    x = x + x @ p["w"]
    return ((x.max(0) @ p["v"]) ** 2).mean()


@ordinary
def chosen_row(p, x):
    i = jnp.argmax(x[:, 0])
    return (lax.dynamic_index_in_dim(x @ p["w"], i, 0, keepdims=False) @ p["v"] ** 2).mean()


@ordinary
def beside(p, x):
    a = lax.conv_general_dilated(x[None], p["k"], (1,), "SAME", feature_group_count=8,
                                 dimension_numbers=("NWC", "WIO", "NWC"))
    return jnp.sin(a + 0.3).mean() + jnp.sin(x @ p["v"] + 0.3).mean()


@ordinary
def unread(p, x):
    return jnp.tanh(jnp.tanh(x @ p["w"]) @ p["v"]).mean()


@ordinary
def penalty(p, x):
    def energy(x):
        return jnp.tanh(jnp.tanh(x @ p["w"]) @ p["v"]).sum()
    return (jax.grad(energy)(x) ** 2).mean() + energy(x) * 0.1
