"""Shared code of the model files: sizes from the environment, and plain initialisation. JAX is loaded where it is used."""

import os

import numpy as np


def sizes(variable, **defaults):
    """Sizes by name: `defaults`, overridden by the variable's list of numbers in that order or of name=number."""
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
    """A function from a shape to new normal values. It uses numpy, because JAX would compile code for every shape."""
    rng = np.random.default_rng(seed)
    return lambda *shape: (rng.standard_normal(shape) * scale).astype(np.float32)


def integers(high, *shape, seed=1):
    return np.random.default_rng(seed).integers(0, high, shape, np.int32)


def tokens(vocabulary, *shape, seed=1):
    """Token ids and their targets, which are the next tokens."""
    ids = integers(vocabulary, *shape, seed=seed)
    return ids, np.roll(ids, -1, -1)


def ones(*shape):
    return np.ones(shape, np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


def mean_token_loss(logits, targets):
    import jax
    import jax.numpy as jnp
    logp = jax.nn.log_softmax(logits, -1)
    return -jnp.take_along_axis(logp, targets[..., None], -1).mean()


def layer_norm(p, x):
    import jax
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["g"] + p["b"]


def layer_norm_parameters(width):
    return dict(g=ones(width), b=zeros(width))


def on_grid(params, rows, specs):
    """Parameters placed as `specs`, by the last key of their paths, over a mesh of `rows` x `rows` devices with the axes x and y."""
    import jax
    mesh = jax.make_mesh((rows, rows), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

    def place(path, leaf):
        return jax.device_put(leaf, jax.sharding.NamedSharding(mesh, jax.P(*specs.get(getattr(path[-1], "key", None), ()))))
    return jax.tree_util.tree_map_with_path(place, params)
