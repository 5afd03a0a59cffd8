"""Resizing by interpolation. Each axis is handled independently, by selecting elements or by a product with a small matrix."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np

from stagewright.onnx.registry import operator

NEAREST = {"round_prefer_floor": lambda c: np.ceil(c - 0.5), "round_prefer_ceil": lambda c: np.floor(c + 0.5),
           "floor": np.floor, "ceil": np.ceil}


def _linear(x):
    return np.maximum(0, 1 - np.abs(x))


def _cubic(a):
    """Keys, Cubic convolution interpolation for digital image processing, 1981, equation 4."""
    def kernel(x):
        x = np.abs(x)
        near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0))
    return kernel


@operator("Resize", static=(1, 2, 3))
def resize(node, x, roi=None, scales=None, sizes=None):
    x = jnp.asarray(x)
    axes = [a % x.ndim for a in node.get("axes") or range(x.ndim)]
    extents = [x.shape[a] for a in axes]
    corners = np.asarray([0] * len(axes) + [1] * len(axes) if roi is None or not roi.size else roi, np.float64)
    if sizes is not None and sizes.size:
        scales, sizes = _from_sizes(node, extents, [int(s) for s in sizes])
    else:
        scales = [float(s) for s in scales]
        sizes = [math.floor(extent * scale) for extent, scale in zip(extents, scales)]
    mode = node.get("mode", "nearest")
    for i, axis in enumerate(axes):
        place = _coordinates(node, extents[i], sizes[i], scales[i], corners[i], corners[len(axes) + i])
        if sizes[i] == extents[i] and np.array_equal(place, np.arange(extents[i])):
            continue
        if mode == "nearest":
            chosen = NEAREST[node.get("nearest_mode", "round_prefer_floor")](place)
            x = _taken(x, np.clip(chosen, 0, extents[i] - 1).astype(np.int64), axis)
        else:
            matrix = _matrix(node, place, extents[i], scales[i], mode).astype(x.dtype)
            x = jnp.moveaxis(jnp.tensordot(x, matrix, ((axis,), (1,))), -1, axis)
        if node.get("coordinate_transformation_mode") == "tf_crop_and_resize":
            outside = ((place < 0) | (place > extents[i] - 1)).reshape(-1, *[1] * (x.ndim - axis - 1))
            x = jnp.where(outside, jnp.asarray(node.get("extrapolation_value", 0.0), x.dtype), x)
    return x


def _from_sizes(node, extents, sizes):
    """(scales, sizes), with the aspect ratio kept if the node requires it."""
    policy = node.get("keep_aspect_ratio_policy", "stretch")
    scales = [size / extent for size, extent in zip(sizes, extents)]
    if policy == "stretch":
        return scales, sizes
    scale = (min if policy == "not_larger" else max)(scales)
    return [scale] * len(sizes), [math.floor(scale * extent + 0.5) for extent in extents]


def _coordinates(node, extent, size, scale, start, end):
    """The input coordinate of every element of the output."""
    mode, y, width = node.get("coordinate_transformation_mode", "half_pixel"), np.arange(size), scale * extent
    if mode == "align_corners":
        return y * 0.0 if width == 1 else y * (extent - 1) / (width - 1)
    if mode == "asymmetric":
        return y / scale
    if mode == "tf_crop_and_resize":
        step = (end - start) * (extent - 1)
        return start * (extent - 1) + (y * 0.0 + step / 2 if width == 1 else y * step / (width - 1))
    if mode == "pytorch_half_pixel" and width == 1:
        return y * 0.0 - 0.5
    centre = extent / 2 * (1 - size / width) if mode == "half_pixel_symmetric" else 0
    return centre + (y + 0.5) / scale - 0.5


def _taken(x, chosen, axis):
    """Selects elements by index; if each is repeated equally often, without a gather."""
    extent = x.shape[axis]
    times = len(chosen) // extent
    if times and np.array_equal(chosen, np.repeat(np.arange(extent), times)):
        return jnp.repeat(x, times, axis)
    return jnp.take(x, chosen, axis)


def _matrix(node, place, extent, scale, mode):
    """The weights of the input's elements for every element of the output; beyond the edges the edge values continue."""
    kernel, reach = (_linear, 1) if mode == "linear" else (_cubic(node.get("cubic_coeff_a", -0.75)), 2)
    stretch = min(scale, 1.0) if node.get("antialias", 0) else 1.0
    reach = math.ceil(reach / stretch)
    offsets = np.floor(place)[:, None] + np.arange(-reach, reach + 1)
    weights = kernel((offsets - place[:, None]) * stretch)
    if node.get("exclude_outside", 0):
        weights = np.where((offsets < 0) | (offsets >= extent), 0, weights)
    if node.get("exclude_outside", 0) or stretch < 1:
        weights = weights / weights.sum(1, keepdims=True)
    matrix = np.zeros((len(place), extent))
    np.add.at(matrix, (np.arange(len(place))[:, None], np.clip(offsets, 0, extent - 1).astype(np.int64)), weights)
    return matrix
