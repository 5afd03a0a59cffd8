"""Random keys: every operation on them is written out in integer arithmetic.

The Threefry hash is unrolled (20 rounds of elementwise work fuse into one kernel; the CPU lowering of JAX has a loop
here). Keys stay keys between operations, so slicing and stacking them is left to JAX.
"""

from __future__ import annotations

import jax
import numpy as np
from jax import lax

from stagewright.frontend.evaluate import rule
from stagewright.frontend.rows import to_array

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def threefry2x32(key0, key1, x0, x1):
    """Threefry-2x32 with 20 rounds (Salmon et al., SC 2011)."""
    keys = [key0, key1, lax.bitwise_xor(lax.bitwise_xor(key0, key1), _PARITY)]
    x0, x1 = lax.add(x0, keys[0]), lax.add(x1, keys[1])
    for group in range(5):
        for turn in _ROTATIONS[group % 2]:
            x0 = lax.add(x0, x1)
            high = lax.shift_left(x1, np.uint32(turn))
            x1 = lax.bitwise_xor(lax.bitwise_or(high, lax.shift_right_logical(x1, np.uint32(32 - turn))), x0)
        x0 = lax.add(x0, keys[(group + 1) % 3])
        x1 = lax.add(x1, lax.add(keys[(group + 2) % 3], np.uint32(group + 1)))
    return x0, x1


@rule("threefry2x32")
def hash_rule(_evaluator, eqn, values):
    shape = eqn.outvars[0].aval.shape
    # A key is often one scalar for many counters: its schedule is computed once, before it is broadcast.
    def shaped(v):
        v = to_array(v)
        if v.ndim == len(shape):
            return lax.broadcast_in_dim(v, shape, tuple(range(v.ndim))) if v.shape != shape else v
        return lax.broadcast_in_dim(v, shape, tuple(range(len(shape) - v.ndim, len(shape))))
    return list(threefry2x32(*map(shaped, values)))


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
