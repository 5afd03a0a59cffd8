"""Reductions over axes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from stagewright.onnx.registry import OPERATORS, Operator, integers, is_float


def _extreme(function, least):
    """Max or min; over no elements it is the opposite end of the type's range."""
    def extreme(x, *axes, **options):
        return function(x, *axes, initial=None if x.size else least(x.dtype), **options)
    return extreme


def _limit(name, infinity):
    return lambda kind: infinity if jnp.issubdtype(kind, np.floating) else getattr(jnp.iinfo(kind), name)


FUNCTIONS = {
    "ReduceSum": jnp.sum,
    "ReduceMean": jnp.mean,
    "ReduceMax": _extreme(jnp.max, _limit("min", -np.inf)),
    "ReduceMin": _extreme(jnp.min, _limit("max", np.inf)),
    "ReduceProd": jnp.prod,
    "ReduceL1": lambda x, *a, **k: jnp.sum(jnp.abs(x), *a, **k),
    "ReduceL2": lambda x, *a, **k: jnp.sqrt(jnp.sum(x * x, *a, **k)),
    "ReduceSumSquare": lambda x, *a, **k: jnp.sum(x * x, *a, **k),
    "ReduceLogSum": lambda x, *a, **k: jnp.log(jnp.sum(x, *a, **k)),
    "ReduceLogSumExp": lambda x, *a, **k: jax.nn.logsumexp(x, *a, **k),
}


def _reduce(function):
    def rule(node, x, axes=None):
        """The axes are an input since opset 18 (ReduceSum: 13), before that an attribute."""
        axes = node.get("axes") if axes is None else integers(axes)
        if not axes and node.get("noop_with_empty_axes", 0):
            return function(jnp.asarray(x), ()) if function is not jnp.mean else x
        x = jnp.asarray(x)
        if x.dtype == bool:  # the max and min of booleans are any and all
            return function(x.astype(np.int32), tuple(axes) if axes else None,
                            keepdims=bool(node.get("keepdims", 1))) > 0
        result = function(x, tuple(axes) if axes else None, keepdims=bool(node.get("keepdims", 1)))
        return result if is_float(x) else result.astype(x.dtype)

    return rule


for _name, _function in FUNCTIONS.items():
    OPERATORS[_name] = Operator(_reduce(_function), (1,))
