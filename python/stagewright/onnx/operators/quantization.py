"""Quantized numbers, computed in floating point; rounding has zero gradient."""

from __future__ import annotations

import jax.numpy as jnp

from stagewright.onnx.registry import jax_type, operator


def _spread(node, x, value):
    """Broadcasts scales and zero points along their axis, in blocks if the node has a block size."""
    value = jnp.asarray(value)
    axis, block = node.get("axis", 1), node.get("block_size", 0)
    if value.ndim == 0 or value.size == 1:
        return value.reshape(())
    axis %= x.ndim
    if value.ndim == 1 and not block:
        return value.reshape(-1, *[1] * (x.ndim - axis - 1))
    return jnp.repeat(value, block or x.shape[axis] // value.shape[axis], axis)


@operator("DequantizeLinear")
def dequantize(node, x, scale, zero=None):
    kind = jax_type(node.get("output_dtype")) if node.get("output_dtype") else scale.dtype
    x = jnp.asarray(x)
    _refuse_narrow(node, x)
    wide = x.astype(jnp.int32)
    wide = wide if zero is None else wide - _spread(node, x, zero).astype(jnp.int32)
    return (wide.astype(scale.dtype) * _spread(node, x, scale)).astype(kind)


@operator("QuantizeLinear")
def quantize(node, x, scale, zero=None):
    kind = zero.dtype if zero is not None else jax_type(node.get("output_dtype") or 2)
    _refuse_narrow(node, jnp.zeros((), kind))
    limits, x = jnp.iinfo(kind), jnp.asarray(x)
    steps = jnp.round(x.astype(jnp.float32) / _spread(node, x, scale).astype(jnp.float32))
    steps = steps if zero is None else steps + _spread(node, x, zero).astype(jnp.float32)
    return jnp.clip(steps, limits.min, limits.max).astype(kind)


def _refuse_narrow(node, x):
    if not jnp.issubdtype(x.dtype, jnp.integer) or jnp.iinfo(x.dtype).bits < 8:
        raise node.failure(f"numbers of type {x.dtype} are not supported; quantize the model to int8 or uint8")
