"""Example arguments of a step: arrays, or only their shapes and types.

A model that is too large for this machine is imported by shapes, as `jax.eval_shape` gives them; the values come from weight
files at run time.
"""

from __future__ import annotations

import jax
import numpy as np


def is_abstract(leaf):
    """Whether only shape and type are known."""
    return isinstance(leaf, jax.ShapeDtypeStruct)


def shaped(leaf):
    """Shape and type of an example, as JAX sees them."""
    if is_abstract(leaf):
        return _struct(leaf)
    aval = jax.typeof(leaf)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype)


def as_traced(leaf):
    """An example as the step takes it: numpy's 64-bit types become those that JAX uses."""
    if is_abstract(leaf):
        return _struct(leaf)
    if isinstance(leaf, (np.ndarray, np.generic)):
        return leaf.astype(jax.dtypes.canonicalize_dtype(leaf.dtype), copy=False)
    return leaf if hasattr(leaf, "dtype") else jax.numpy.asarray(leaf)


def _struct(leaf):
    """Shape and type without the sharding; shardings.py reads those of parameters separately."""
    key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype if key else jax.dtypes.canonicalize_dtype(leaf.dtype))


def stored(leaf):
    """An array as stored in files: a key as its words, unsigned integers as signed ones of the same width."""
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    array = np.array(leaf, order="C")
    if np.issubdtype(array.dtype, np.unsignedinteger):
        array = array.view(f"int{array.dtype.itemsize * 8}")
    return array
