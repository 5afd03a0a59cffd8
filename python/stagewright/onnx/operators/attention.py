"""Attention as one operator, and the rotation of its queries and keys."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from stagewright.onnx.registry import is_known, jax_type, operator


def _heads(x, count):
    """(batch, sequence, heads * width) as (batch, heads, sequence, width)."""
    if x.ndim == 4:
        return x
    return jnp.reshape(x, (x.shape[0], x.shape[1], count, -1)).transpose(0, 2, 1, 3)


@operator("Attention")
def attention(node, query, key, value, mask=None, past_key=None, past_value=None, lengths=None):
    joined = query.ndim == 3
    q = _heads(jnp.asarray(query), node.get("q_num_heads"))
    k, v = (_heads(jnp.asarray(x), node.get("kv_num_heads")) for x in (key, value))
    if past_key is not None:
        k, v = jnp.concatenate([past_key, k], 2), jnp.concatenate([past_value, v], 2)
    present = k, v
    if repeats := q.shape[1] // k.shape[1] if q.shape[1] != k.shape[1] else 0:
        k, v = jnp.repeat(k, repeats, 1), jnp.repeat(v, repeats, 1)
    scale = jnp.asarray(math.sqrt(node.get("scale") or 1 / math.sqrt(q.shape[3])), q.dtype)
    scores = jnp.matmul(q * scale, jnp.swapaxes(k, 2, 3) * scale)
    stages = [scores]
    if cap := node.get("softcap", 0.0):
        scores = jnp.tanh(scores / cap) * cap
    stages.append(scores)
    allowed, bias, closed = _masks(node, q, k, mask, past_key, lengths)
    if bias is not None:
        scores = scores + bias
    if allowed is not None:
        scores = jnp.where(allowed, scores, jnp.asarray(-jnp.inf, scores.dtype))
    stages.append(scores)
    kind = scores.dtype if node.get("softmax_precision") is None else jax_type(node.get("softmax_precision"))
    if closed is None:
        weights = jax.nn.softmax(scores.astype(kind), -1)
    else:  # rows without any key, and their gradients, are zero
        weights = jax.nn.softmax(jnp.where(closed, 0, scores).astype(kind), -1)
        weights = jnp.where(closed, 0, weights)
    weights = weights.astype(q.dtype)
    stages.append(weights)
    result = jnp.matmul(weights, v)
    if joined:
        result = result.transpose(0, 2, 1, 3).reshape(*query.shape[:2], -1)
    shown = stages[node.get("qk_matmul_output_mode", 0)]
    return result, *present, jnp.broadcast_to(shown, (*shown.shape[:2], q.shape[2], k.shape[2])).astype(q.dtype)


def _masks(node, q, k, mask, past_key, lengths):
    """(mask of readable keys, bias added to the scores, mask of queries without readable keys); each may be None."""
    queries, keys = q.shape[2], k.shape[2]
    allowed, bias, can_close = [], None, False
    if mask is not None:
        short = keys - mask.shape[-1]
        if mask.dtype == bool:
            mask = jnp.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, short)]) if short else mask
            allowed.append(mask)
        else:
            bias = jnp.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, short)], constant_values=-jnp.inf) if short else mask
        can_close = not is_known(mask) or not np.all(np.any(mask if mask.dtype == bool else mask > -np.inf, -1))
    left, right = node.get("left_window_size", -1), node.get("right_window_size", -1)
    if node.get("is_causal", 0):
        right = 0
    offset = 0 if past_key is None else past_key.shape[2]
    if lengths is not None:
        lengths = jnp.asarray(lengths).reshape(-1, 1, 1, 1)
        offset = lengths - queries
        allowed.append(lax.broadcasted_iota(np.int32, (1, 1, 1, keys), 3) < lengths)
    if left >= 0 or right >= 0:
        place = lax.broadcasted_iota(np.int32, (queries, keys), 0) + offset
        distance = lax.broadcasted_iota(np.int32, (queries, keys), 1) - place
        allowed += [distance <= right] if right >= 0 else []
        allowed += [distance >= -left] if left >= 0 else []
        can_close = can_close or bool(mask is not None) or left >= 0 and keys < queries
    can_close = can_close or lengths is not None
    joint = None
    for condition in allowed:
        joint = condition if joint is None else joint & condition
    closed = None
    if can_close:
        readable = jnp.ones((queries, keys), bool) if joint is None else joint
        if bias is not None:
            readable = readable & (bias > -jnp.inf)
        closed = ~jnp.any(readable, -1, keepdims=True)
    return joint, bias, closed


@operator("RotaryEmbedding")
def rotary_embedding(node, x, cosine, sine, positions=None):
    """Rotates pairs of numbers: the two halves of a head, or neighbours."""
    joined = x.ndim == 3
    heads = _heads(jnp.asarray(x), node.get("num_heads"))
    if positions is not None:
        cosine, sine = jnp.asarray(cosine)[positions], jnp.asarray(sine)[positions]
    cosine, sine = jnp.expand_dims(cosine, 1), jnp.expand_dims(sine, 1)
    width = node.get("rotary_embedding_dim", 0) or heads.shape[3]
    turned, rest = heads[..., :width], heads[..., width:]
    if node.get("interleaved", 0):
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned[..., :width // 2], turned[..., width // 2:]
    real, imaginary = cosine * first - sine * second, sine * first + cosine * second
    if node.get("interleaved", 0):
        turned = jnp.stack([real, imaginary], -1).reshape(turned.shape)
    else:
        turned = jnp.concatenate([real, imaginary], -1)
    result = jnp.concatenate([turned, rest], -1) if width < heads.shape[3] else turned
    return result.transpose(0, 2, 1, 3).reshape(x.shape) if joined else result
