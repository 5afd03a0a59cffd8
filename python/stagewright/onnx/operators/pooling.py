"""Pooling: max, mean or norm of windows."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from stagewright.onnx.operators.windows import Windows
from stagewright.onnx.registry import is_float, operator


def _windowed(x, windows, start, function, pads):
    return lax.reduce_window(x, start, function, windows.whole(windows.kernel, 1), windows.whole(windows.strides, 1),
                             windows.whole(pads, (0, 0)), window_dilation=windows.whole(windows.dilations, 1))


@operator("MaxPool")
def max_pool(node, x):
    if node.output(1):
        raise node.failure("its second output, the places of the largest elements, is not supported; export the model "
                           "without return_indices")
    x = jnp.asarray(x)
    least = np.asarray(-np.inf if is_float(x) else jnp.iinfo(x.dtype).min, x.dtype)
    windows = Windows(node, x.shape, node.get("kernel_shape"))
    return _windowed(x, windows, least, lax.max, windows.padded())


@operator("AveragePool")
def average_pool(node, x):
    """Padding is counted if `count_include_pad` is set; the additional padding of ceil_mode is never counted."""
    x = jnp.asarray(x)
    windows = Windows(node, x.shape, node.get("kernel_shape"))
    zero = np.zeros((), x.dtype)
    total = _windowed(x, windows, zero, lax.add, windows.padded())
    ones = np.ones((1, 1, *x.shape[2:]), x.dtype)
    if node.get("count_include_pad", 0):
        ones = np.pad(ones, windows.whole(windows.pads, (0, 0)), constant_values=1)
        counts = _windowed(ones, windows, zero, lax.add, [(0, extra) for extra in windows.extra])
    elif any(map(any, windows.padded())):
        counts = _windowed(ones, windows, zero, lax.add, windows.padded())
    else:
        counts = np.asarray(np.prod(windows.kernel), x.dtype)
    return total / counts


@operator("LpPool")
def lp_pool(node, x):
    order = node.get("p", 2)
    x = jnp.asarray(x)
    windows = Windows(node, x.shape, node.get("kernel_shape"))
    total = _windowed(jnp.abs(x) ** order, windows, np.zeros((), x.dtype), lax.add, windows.padded())
    return total ** (1 / order)


def _space(x):
    return tuple(range(2, x.ndim))


@operator("GlobalAveragePool")
def global_average_pool(node, x):
    return jnp.mean(x, _space(x), keepdims=True)


@operator("GlobalMaxPool")
def global_max_pool(node, x):
    return jnp.max(x, _space(x), keepdims=True)


@operator("GlobalLpPool")
def global_lp_pool(node, x):
    order = node.get("p", 2)
    return jnp.sum(jnp.abs(x) ** order, _space(x), keepdims=True) ** (1 / order)
