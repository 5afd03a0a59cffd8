"""Writing parts of arrays."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from stagewright.onnx.registry import operator

METHODS = {"none": "set", "add": "add", "mul": "multiply", "max": "max", "min": "min"}


def _update(node, x, index, updates):
    method = METHODS[node.get("reduction", "none")]
    return getattr(x.at[index], method)(updates)


@operator("ScatterND")
def scatter_nd(node, x, indices, updates):
    indices = jnp.asarray(indices)
    return _update(node, jnp.asarray(x), tuple(jnp.moveaxis(indices, -1, 0)), updates)


@operator("ScatterElements", "Scatter")
def scatter_elements(node, x, indices, updates):
    x, indices = jnp.asarray(x), jnp.asarray(indices)
    index = [lax.broadcasted_iota(np.int32, indices.shape, i) for i in range(x.ndim)]
    index[node.get("axis", 0) % x.ndim] = indices
    return _update(node, x, tuple(index), updates)


@operator("TensorScatter")
def tensor_scatter(node, cache, update, starts=None):
    """Writes an update into a cache of keys or values, at a separate position for each row of the batch."""
    cache, update = jnp.asarray(cache), jnp.asarray(update)
    axis = node.get("axis", -2) % cache.ndim
    starts = jnp.zeros(cache.shape[0], np.int32) if starts is None else jnp.asarray(starts)
    index = [lax.broadcasted_iota(np.int32, update.shape, i) for i in range(cache.ndim)]
    index[axis] = index[axis] + starts.reshape(-1, *[1] * (cache.ndim - 1))
    if node.get("mode", "linear") == "circular":
        index[axis] = index[axis] % cache.shape[axis]
    return cache.at[tuple(index)].set(update)
