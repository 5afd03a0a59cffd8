"""Normalisations."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from stagewright.onnx.registry import jax_type, operator


def _standardised(x, axes, epsilon, kind):
    """(standardised array, mean, 1 / deviation), computed in type `kind`."""
    x = jnp.asarray(x).astype(kind)
    mean = jnp.mean(x, axes, keepdims=True)
    centred = x - mean
    inverse = lax.rsqrt(jnp.mean(centred * centred, axes, keepdims=True) + epsilon)
    return centred * inverse, mean, inverse


def _by_channel(vector, x):
    return jnp.reshape(vector, (1, -1, *[1] * (x.ndim - 2)))


@operator("LayerNormalization")
def layer_normalization(node, x, scale, bias=None):
    axis, kind = node.get("axis", -1) % x.ndim, jax_type(node.get("stash_type", 1))
    y, mean, inverse = _standardised(x, tuple(range(axis, x.ndim)), node.get("epsilon", 1e-5), kind)
    y = y.astype(x.dtype) * scale
    return y if bias is None else y + bias, mean, inverse


@operator("RMSNormalization")
def rms_normalization(node, x, scale):
    axis, kind = node.get("axis", -1) % x.ndim, jax_type(node.get("stash_type", 1))
    wide = jnp.asarray(x).astype(kind)
    square = jnp.mean(wide * wide, tuple(range(axis, x.ndim)), keepdims=True)
    return (wide * lax.rsqrt(square + node.get("epsilon", 1e-5))).astype(x.dtype) * scale


@operator("BatchNormalization")
def batch_normalization(node, x, scale, bias, mean, variance):
    epsilon, momentum = node.get("epsilon", 1e-5), node.get("momentum", 0.9)
    if not node.get("training_mode", 0):
        factor = scale * lax.rsqrt(jnp.asarray(variance) + jnp.asarray(epsilon, variance.dtype))
        return (x * _by_channel(factor, x) + _by_channel(bias - mean * factor, x)).astype(x.dtype)
    axes = (0, *range(2, x.ndim))
    y, own, _ = _standardised(x, axes, epsilon, mean.dtype)
    spread = jnp.var(x, axes)
    y = (y * _by_channel(scale, x) + _by_channel(bias, x)).astype(x.dtype)
    return y, mean * momentum + own.reshape(-1) * (1 - momentum), variance * momentum + spread * (1 - momentum)


@operator("InstanceNormalization")
def instance_normalization(node, x, scale, bias):
    y, _, _ = _standardised(x, tuple(range(2, x.ndim)), node.get("epsilon", 1e-5), x.dtype)
    return y * _by_channel(scale, x) + _by_channel(bias, x)


@operator("GroupNormalization")
def group_normalization(node, x, scale, bias):
    """Scale and bias are per channel; before opset 21, per group."""
    groups = node.get("num_groups")
    kind = jax_type(node.get("stash_type", 1)) if node.opset >= 21 else x.dtype
    parts = jnp.reshape(x, (x.shape[0], groups, -1))
    y, _, _ = _standardised(parts, (2,), node.get("epsilon", 1e-5), kind)
    y = y.astype(x.dtype)
    if node.opset < 21:
        y = y * jnp.reshape(scale, (1, -1, 1)) + jnp.reshape(bias, (1, -1, 1))
        return y.reshape(x.shape)
    return y.reshape(x.shape) * _by_channel(scale, x) + _by_channel(bias, x)


@operator("MeanVarianceNormalization")
def mean_variance_normalization(node, x):
    axes = tuple(node.get("axes") or (0, 2, 3))
    centred = x - jnp.mean(x, axes, keepdims=True)
    return centred / (jnp.sqrt(jnp.mean(centred * centred, axes, keepdims=True)) + 1e-9)


@operator("LpNormalization")
def lp_normalization(node, x):
    axis = node.get("axis", -1)
    if node.get("p", 2) == 1:
        norm = jnp.sum(jnp.abs(x), axis, keepdims=True)
    else:
        square = jnp.sum(x * x, axis, keepdims=True)
        norm = jnp.sqrt(jnp.where(square == 0, 1, square)) * (square != 0)
    return jnp.where(norm == 0, 0, x / jnp.where(norm == 0, 1, norm))


@operator("LRN")
def local_response_normalization(node, x):
    """x / (bias + alpha / size * sum) ** beta, with the sum of the squares of `size` neighbouring channels."""
    size = node.get("size")
    x = jnp.asarray(x)
    low = (size - 1) // 2
    window, pads = (1, size, *[1] * (x.ndim - 2)), ((0, 0), (low, size - 1 - low), *[(0, 0)] * (x.ndim - 2))
    total = lax.reduce_window(x * x, jnp.zeros((), x.dtype), lax.add, window, [1] * x.ndim, pads)
    return x / (node.get("bias", 1.0) + node.get("alpha", 1e-4) / size * total) ** node.get("beta", 0.75)
