"""Losses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from stagewright.onnx.registry import operator


def _negative_log_likelihood(node, log_probabilities, target, weights):
    """Dimension 1 is the classes. Targets equal to `ignore_index` have zero loss and zero weight."""
    x, target = jnp.asarray(log_probabilities), jnp.asarray(target)
    ignored = node.get("ignore_index")
    counts = None if ignored is None else target != ignored
    classes = jnp.where(counts, target, 0) if counts is not None else target
    places = lax.broadcasted_iota(np.int32, x.shape, 1)
    loss = -jnp.sum(jnp.where(places == jnp.expand_dims(classes, 1), x, 0), 1)
    weight = None if weights is None else jnp.asarray(weights)[classes]
    if counts is not None:
        weight = jnp.where(counts, 1 if weight is None else weight, 0).astype(x.dtype)
    loss = loss if weight is None else loss * weight
    reduction = node.get("reduction", "mean")
    if reduction == "none":
        return loss
    if reduction == "sum":
        return jnp.sum(loss)
    return jnp.mean(loss) if weight is None else jnp.sum(loss) / jnp.sum(weight)


@operator("NegativeLogLikelihoodLoss")
def negative_log_likelihood(node, x, target, weights=None):
    return _negative_log_likelihood(node, x, target, weights)


@operator("SoftmaxCrossEntropyLoss")
def softmax_cross_entropy(node, scores, target, weights=None):
    log_probabilities = jax.nn.log_softmax(scores, 1)
    return _negative_log_likelihood(node, log_probabilities, target, weights), log_probabilities
