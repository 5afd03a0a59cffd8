"""Random keys: all operations on them are written out in integer arithmetic.

Keys stay keys between operations, so JAX slices and stacks them.
"""

from __future__ import annotations

import jax
import numpy as np
from jax import lax

from stagewright.frontend.evaluate import rule
from stagewright.frontend.rows import to_array


@rule("threefry2x32")
def threefry(_evaluator, eqn, values):
    """One elementwise operation; its body is written in stagewright.frontend.to_linalg.functions."""
    shape = eqn.outvars[0].aval.shape

    def word(value):
        value = to_array(value)
        if value.ndim and value.shape != shape:
            value = lax.broadcast_in_dim(value, shape, tuple(range(len(shape) - value.ndim, len(shape))))
        return lax.bitcast_convert_type(value, np.int32)
    result = jax.ShapeDtypeStruct(shape, np.int32)
    words = jax.ffi.ffi_call("stagewright.threefry2x32", (result, result))(*map(word, values))
    return [lax.bitcast_convert_type(w, np.uint32) for w in words]


def _implementation(eqn):
    return eqn.params.get("impl") or eqn.invars[0].aval.dtype._impl


def _vectorized(function, ndim):
    for _ in range(ndim):
        function = jax.vmap(function)
    return function


@rule("random_bits")
def bits(evaluator, eqn, values):
    impl, p = _implementation(eqn), eqn.params
    draw = _vectorized(lambda key: impl.random_bits(key, p["bit_width"], p["shape"]), eqn.invars[0].aval.ndim)
    return [evaluator.function(lambda keys: draw(jax.random.key_data(keys)), *values)]


@rule("random_split")
def split(evaluator, eqn, values):
    impl, shape = _implementation(eqn), eqn.params["shape"]
    cut = _vectorized(lambda key: impl.split(key, shape), eqn.invars[0].aval.ndim)
    return [evaluator.function(lambda keys: _wrap(cut(jax.random.key_data(keys)), impl), *values)]


@rule("random_fold_in")
def fold_in(evaluator, eqn, values):
    impl, (keys, data) = _implementation(eqn), [a.aval for a in eqn.invars]
    function = impl.fold_in
    if keys.ndim and data.ndim:
        if keys.shape != data.shape:
            raise NotImplementedError(f"keys of shape {keys.shape} and data of shape {data.shape} differ")
        function = _vectorized(function, keys.ndim)
    else:
        for _ in range(keys.ndim + data.ndim):
            function = jax.vmap(function, in_axes=(0, None) if keys.ndim else (None, 0))
    return [evaluator.function(lambda k, d: _wrap(function(jax.random.key_data(k), d), impl), *values)]


@rule("random_seed")
def seed(evaluator, eqn, values):
    impl = _implementation(eqn)
    make = _vectorized(impl.seed, eqn.invars[0].aval.ndim)
    return [evaluator.function(lambda s: _wrap(make(s), impl), *values)]


def _wrap(data, impl):
    return jax.random.wrap_key_data(data, impl=impl)
