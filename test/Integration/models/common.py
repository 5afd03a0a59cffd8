"""What the model files share: sizes from the environment, and plain initialisation."""

import os

import jax
import jax.numpy as jnp


def sizes(variable, **defaults):
    """Sizes by name; the environment variable holds numbers in the same order, or some as name=number."""
    values = dict(defaults)
    for position, item in enumerate(filter(None, os.environ.get(variable, "").split(","))):
        name, equals, number = item.partition("=")
        if not equals:
            name, number = list(defaults)[position], name
        if name not in defaults:
            raise ValueError(f"{variable}: no size is called '{name}'; they are {', '.join(defaults)}")
        values[name] = int(number)
    return values


def normals(seed=0, scale=0.02):
    """A function from a shape to fresh normal values."""
    keys = iter(jax.random.split(jax.random.key(seed), 4096))
    return lambda *shape: jax.random.normal(next(keys), shape) * scale


def tokens(vocabulary, *shape, seed=1):
    """Token numbers and their targets, the next tokens."""
    ids = jax.random.randint(jax.random.key(seed), shape, 0, vocabulary)
    return ids, jnp.roll(ids, -1, -1)


def mean_token_loss(logits, targets):
    logp = jax.nn.log_softmax(logits, -1)
    return -jnp.take_along_axis(logp, targets[..., None], -1).mean()


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["g"] + p["b"]


def layer_norm_parameters(width):
    return dict(g=jnp.ones(width), b=jnp.zeros(width))
