"""Reading parts of arrays: slices, gathers, top-k, selection by conditions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from stagewright.onnx.registry import integers, is_known, operator


@operator("Slice", static=(1, 2, 3, 4))
def slice_of(node, x, starts, ends, axes=None, steps=None):
    """As in numpy; the max and the min integer stand for the ends."""
    starts, ends = integers(starts), integers(ends)
    axes = list(range(len(starts))) if axes is None else integers(axes)
    steps = [1] * len(starts) if steps is None else integers(steps)
    index = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps):
        extent = x.shape[axis]
        if step < 0 and end < -extent:
            end = None  # down to and including the first element
        index[axis] = slice(start, end, step)
    return jnp.asarray(x)[tuple(index)]


@operator("Gather")
def gather(node, x, indices):
    """One known index, or known consecutive ones, become a slice, so that parts of a fused projection are recognised."""
    axis = node.get("axis", 0) % x.ndim
    x = jnp.asarray(x)
    if is_known(indices) and indices.ndim == 0:
        return lax.index_in_dim(x, int(indices), axis, keepdims=False)
    if is_known(indices) and indices.ndim == 1 and indices.size and (np.diff(indices) == 1).all() and indices[0] >= 0:
        return lax.slice_in_dim(x, int(indices[0]), int(indices[-1]) + 1, axis=axis)
    return x[(slice(None),) * axis + (jnp.asarray(indices),)]


@operator("GatherElements")
def gather_elements(node, x, indices):
    axis = node.get("axis", 0) % x.ndim
    x, indices = jnp.asarray(x), jnp.asarray(indices)
    index = [lax.broadcasted_iota(np.int32, indices.shape, i) for i in range(x.ndim)]
    index[axis] = indices
    return x[tuple(index)]


@operator("GatherND")
def gather_nd(node, x, indices):
    x, indices = jnp.asarray(x), jnp.asarray(indices)

    def take(array, places):
        return array[tuple(jnp.moveaxis(places, -1, 0))]

    for _ in range(node.get("batch_dims", 0)):
        take = jax.vmap(take)
    return take(x, indices)


@operator("TopK", static=(1,))
def top_k(node, x, count):
    axis, count = node.get("axis", -1) % x.ndim, int(count.reshape(()))
    x = jnp.moveaxis(jnp.asarray(x), axis, -1)
    if node.get("largest", 1):
        values, places = lax.top_k(x, count)
    else:
        places = jnp.argsort(x, -1, stable=True)[..., :count]
        values = jnp.take_along_axis(x, places, -1)
    return jnp.moveaxis(values, -1, axis), jnp.moveaxis(places, -1, axis)


def _arg(node, x, function):
    axis, last = node.get("axis", 0), node.get("select_last_index", 0)
    x = jnp.asarray(x)
    found = function(jnp.flip(x, axis) if last else x, axis, keepdims=bool(node.get("keepdims", 1)))
    return x.shape[axis] - 1 - found if last else found


@operator("ArgMax")
def arg_max(node, x):
    return _arg(node, x, jnp.argmax)


@operator("ArgMin")
def arg_min(node, x):
    return _arg(node, x, jnp.argmin)


@operator("OneHot", static=(1,))
def one_hot(node, indices, depth, values):
    depth, axis = int(depth.reshape(())), node.get("axis", -1)
    indices = jnp.asarray(indices).astype(np.int32)
    axis = axis % (indices.ndim + 1)
    indices = jnp.expand_dims(jnp.where(indices < 0, indices + depth, indices), axis)
    places = lax.broadcasted_iota(np.int32, (*indices.shape[:axis], depth, *indices.shape[axis + 1:]), axis)
    return jnp.where(indices == places, values[1], values[0])


@operator("Compress", static=(1,))
def compress(node, x, condition):
    axis = node.get("axis")
    places = np.nonzero(condition.reshape(-1))[0]
    x = jnp.asarray(x).reshape(-1) if axis is None else jnp.asarray(x)
    return jnp.take(x, places, 0 if axis is None else axis)


@operator("ReverseSequence", static=(1,))
def reverse_sequence(node, x, lengths):
    batch, time = node.get("batch_axis", 1), node.get("time_axis", 0)
    steps = np.arange(x.shape[time])
    places = np.where(steps < lengths[:, None], lengths[:, None] - 1 - steps, steps)  # batch, time
    shape = [1] * x.ndim
    shape[batch], shape[time] = places.shape
    places = (places if batch < time else places.T).reshape(shape)
    return jnp.take_along_axis(jnp.asarray(x), places, time)


def _data_dependent(node, *inputs):
    raise node.failure("the size of its result depends on numbers that are not known at import; export the model with "
                       "fixed sizes, with a mask instead of a selection")


for _name in ("NonZero", "Unique", "NonMaxSuppression"):
    operator(_name)(_data_dependent)
