"""A perceptron with products of 8-bit floats, forward and backward. STAGEWRIGHT_FLOAT8="D,L,B": width, layers, microbatch.
A device's library computes the products if their sizes are multiples of 16."""

import functools

import jax
import jax.numpy as jnp

from common import normals, sizes, zeros

ROWS, COLUMNS = (((0,), (0,)), ((), ())), (((1,), (1,)), ((), ()))


@jax.custom_vjp
def product(x, w):
    return jax.lax.dot(x.astype(jnp.float8_e4m3fn), w.astype(jnp.float8_e4m3fn), preferred_element_type=jnp.float32)


def forward(x, w):
    return product(x, w), (x.astype(jnp.float8_e4m3fn), w.astype(jnp.float8_e4m3fn))


def backward(kept, g):
    x, w = kept
    g = g.astype(jnp.float8_e5m2)
    multiply = functools.partial(jax.lax.dot_general, preferred_element_type=jnp.float32)
    return multiply(g, w, dimension_numbers=COLUMNS), multiply(x, g, dimension_numbers=ROWS)


product.defvjp(forward, backward)


def loss(params, x, y, multiply):
    for i, (w, b) in enumerate(params):
        with jax.named_scope(f"layer{i}"):
            x = jnp.tanh(multiply(x, w) + b)
    with jax.named_scope("out"):
        return ((x - y) ** 2).mean()


def _made(multiply):
    s = sizes("STAGEWRIGHT_FLOAT8", D=64, L=4, B=32)
    n = normals(scale=0.2)
    params = [(n(s["D"], s["D"]), zeros(s["D"])) for _ in range(s["L"])]
    n = normals(seed=1, scale=1.0)
    return (jax.value_and_grad(functools.partial(loss, multiply=multiply)),
            (params, n(s["B"], s["D"]), n(s["B"], s["D"])))


def float8():
    return _made(product)


def float32():
    return _made(jnp.matmul)
