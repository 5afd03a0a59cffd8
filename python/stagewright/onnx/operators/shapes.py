"""Operators that read shapes, change shapes, or create arrays from shapes."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from stagewright.onnx.registry import integers, jax_type, operator


@operator("Shape")
def shape(node, x):
    return np.asarray(x.shape[slice(node.get("start", 0), node.get("end"))], np.int64)


@operator("Size")
def size(node, x):
    return np.asarray(math.prod(x.shape), np.int64)


@operator("Reshape", static=(1,))
def reshape(node, x, wanted):
    sizes = integers(wanted)
    if not node.get("allowzero", 0):
        sizes = [x.shape[i] if extent == 0 else extent for i, extent in enumerate(sizes)]
    return jnp.reshape(x, sizes)


@operator("Flatten")
def flatten(node, x):
    axis = node.get("axis", 1)
    axis += x.ndim if axis < 0 else 0
    return jnp.reshape(x, (math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))


@operator("Squeeze", static=(1,))
def squeeze(node, x, axes=None):
    return jnp.squeeze(x, None if axes is None else tuple(integers(axes)))


@operator("Unsqueeze", static=(1,))
def unsqueeze(node, x, axes):
    return jnp.expand_dims(x, tuple(integers(axes)))


@operator("Transpose")
def transpose(node, x):
    return jnp.transpose(x, node.get("perm"))


@operator("Expand", static=(1,))
def expand(node, x, wanted):
    return jnp.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(integers(wanted))))


@operator("Tile", static=(1,))
def tile(node, x, repeats):
    return jnp.tile(x, integers(repeats))


@operator("Concat")
def concat(node, *inputs):
    parts = [x for x in inputs if 0 not in x.shape] or list(inputs[:1])
    return jnp.concatenate(parts, node.get("axis"))


@operator("Split", static=(1,))
def split(node, x, sizes=None):
    axis, outputs = node.get("axis", 0), len(node.proto.output)
    length = x.shape[axis]
    if sizes is None:
        each = -(-length // node.get("num_outputs", outputs))
        sizes = [min(each, length - start) for start in range(0, length, each)]
    return tuple(pieces(x, integers(sizes), axis))


def pieces(x, sizes, axis):
    """Consecutive parts of an array."""
    ends = np.cumsum(sizes)
    x = jnp.asarray(x)
    return [lax.slice_in_dim(x, int(end - extent), int(end), axis=axis) for extent, end in zip(sizes, ends)]


@operator("ConstantOfShape", static=(0,))
def constant_of_shape(node, wanted):
    value = node.get("value", np.zeros(1, np.float32))
    return jnp.full(integers(wanted), value.reshape(()), value.dtype)


@operator("Range", static=(0, 1, 2))
def range_of(node, start, limit, delta):
    return np.arange(start.reshape(()), limit.reshape(()), delta.reshape(()), start.dtype)


@operator("EyeLike")
def eye_like(node, x):
    kind = jax_type(node.get("dtype")) if node.get("dtype") else x.dtype
    return jnp.eye(*x.shape, k=node.get("k", 0), dtype=kind)


@operator("Trilu", static=(1,))
def triangle(node, x, diagonal=None):
    k = 0 if diagonal is None else int(diagonal.reshape(()))
    return (jnp.triu if node.get("upper", 1) else jnp.tril)(x, k)


@operator("Pad", static=(1, 3))
def pad(node, x, widths, value=None, axes=None):
    """The modes are constant (negative widths crop), reflect, edge and wrap."""
    x = jnp.asarray(x)
    axes = list(range(x.ndim)) if axes is None else [axis % x.ndim for axis in integers(axes)]
    before, after = np.split(np.asarray(integers(widths)), 2)
    pairs = [(0, 0)] * x.ndim
    for axis, low, high in zip(axes, before, after):
        pairs[axis] = (int(low), int(high))
    mode = node.get("mode", "constant")
    if mode == "constant":
        value = jnp.zeros((), x.dtype) if value is None else jnp.asarray(value, x.dtype).reshape(())
        return lax.pad(x, value, [(low, high, 0) for low, high in pairs])
    for axis, (low, high) in enumerate(pairs):
        x = lax.slice_in_dim(x, max(0, -low), x.shape[axis] - max(0, -high), axis=axis)
    return jnp.pad(x, [(max(0, low), max(0, high)) for low, high in pairs], mode=mode)


@operator("DepthToSpace")
def depth_to_space(node, x):
    block = node.get("blocksize")
    batch, channels, height, width = x.shape
    if node.get("mode", "DCR") == "DCR":
        x = jnp.reshape(x, (batch, block, block, channels // block**2, height, width)).transpose(0, 3, 4, 1, 5, 2)
    else:
        x = jnp.reshape(x, (batch, channels // block**2, block, block, height, width)).transpose(0, 1, 4, 2, 5, 3)
    return x.reshape(batch, channels // block**2, height * block, width * block)


@operator("SpaceToDepth")
def space_to_depth(node, x):
    block = node.get("blocksize")
    batch, channels, height, width = x.shape
    x = jnp.reshape(x, (batch, channels, height // block, block, width // block, block))
    order = (0, 3, 5, 1, 2, 4) if node.get("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return x.transpose(order).reshape(batch, channels * block**2, height // block, width // block)


@operator("CenterCropPad", static=(1,))
def center_crop_pad(node, x, wanted):
    axes = node.get("axes") or list(range(x.ndim))
    x = jnp.asarray(x)
    for axis, extent in zip(axes, integers(wanted)):
        low = (extent - x.shape[axis]) // 2 if extent >= x.shape[axis] else -((x.shape[axis] - extent) // 2)
        pairs = [(0, 0, 0)] * x.ndim
        pairs[axis] = (low, extent - x.shape[axis] - low, 0)
        x = lax.pad(x, jnp.zeros((), x.dtype), pairs)
    return x
