"""Convolutions, forwards and transposed."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from stagewright.onnx.operators.windows import Windows
from stagewright.onnx.registry import operator


def _layout(rank):
    letters = "DHW"[3 - rank:] if rank <= 3 else "".join(map(str, range(rank)))
    return f"NC{letters}", f"OI{letters}", f"NC{letters}"


def _with_bias(y, bias):
    return y if bias is None else y + jnp.reshape(bias, (1, -1, *[1] * (y.ndim - 2)))


@operator("Conv")
def convolution(node, x, kernel, bias=None):
    windows = Windows(node, x.shape, node.get("kernel_shape") or kernel.shape[2:])
    y = lax.conv_general_dilated(jnp.asarray(x), jnp.asarray(kernel), windows.strides, windows.pads,
                                 rhs_dilation=windows.dilations, dimension_numbers=_layout(x.ndim - 2),
                                 feature_group_count=node.get("group", 1))
    return _with_bias(y, bias)


@operator("ConvTranspose")
def transposed_convolution(node, x, kernel, bias=None):
    """A convolution of the input, dilated by `stride`, with the flipped kernel."""
    rank, groups = x.ndim - 2, node.get("group", 1)
    windows = Windows(node, x.shape, node.get("kernel_shape") or kernel.shape[2:])
    more = node.get("output_padding") or [0] * rank
    wanted, mode = node.get("output_shape"), node.get("auto_pad", "NOTSET")
    if wanted is None and mode.startswith("SAME"):
        wanted = [extent * stride for extent, stride in zip(x.shape[2:], windows.strides)]
    pads = list(windows.pads)
    for i in range(rank if wanted else 0):
        total = windows.strides[i] * (x.shape[2 + i] - 1) + more[i] + windows.reach[i] - wanted[i]
        small, large = total // 2, total - total // 2
        pads[i] = (small, large) if mode == "SAME_UPPER" else (large, small)
    pads = [(reach - 1 - low, reach - 1 - high + extra)
            for reach, (low, high), extra in zip(windows.reach, pads, more)]
    inputs, outputs = kernel.shape[:2]
    kernel = jnp.reshape(kernel, (groups, inputs // groups, outputs, *kernel.shape[2:]))
    kernel = jnp.flip(jnp.swapaxes(kernel, 1, 2), range(3, 3 + rank))
    kernel = kernel.reshape(groups * outputs, inputs // groups, *kernel.shape[3:])
    y = lax.conv_general_dilated(jnp.asarray(x), kernel, [1] * rank, pads, lhs_dilation=windows.strides,
                                 rhs_dilation=windows.dilations, dimension_numbers=_layout(rank),
                                 feature_group_count=groups)
    return _with_bias(y, bias)
