"""Values of the evaluator that are not built as arrays yet.

A scan over stacked layers reads row i of its inputs and writes row i of its outputs. Unrolled, rows never need to be stacked
into an array: row i written by the forward scan is row i read by the backward scan. A `Lazy` value is such a stack, given by a
function from the row's number to the row; the whole array is built only on demand. `Splat` is a scalar constant broadcast to a
shape, such as zeros that a later addition removes.
"""

from __future__ import annotations

import jax
import numpy as np
from jax import lax


def is_plain(dtype) -> bool:
    """Whether a type is numeric: not a random key."""
    return not jax.dtypes.issubdtype(dtype, jax.dtypes.extended)


def to_array(value):
    """The value in a form that a JAX primitive takes: an array, a tracer or a numpy constant."""
    return value.whole() if isinstance(value, (Lazy, Splat)) else value


class Lazy:
    """A stack of rows along dimension 0. `rows(i)` computes row i, `build()` the whole array; each is called at most once."""

    def __init__(self, shape, dtype, rows, build=None, origin=None):
        self.shape, self.dtype = tuple(shape), dtype
        self._rows, self._build, self._cache, self._whole = rows, build or self._stack, {}, None
        # What the rows belong to: a loop, "parameter", "rows" (single rows read by number), or None.
        self.origin = origin

    ndim = property(lambda self: len(self.shape))

    def row(self, i: int):
        if i not in self._cache:
            self._cache[i] = self._rows(i)
        return self._cache[i]

    def whole(self):
        if self._whole is None:
            self._whole = self._build()
        return self._whole

    def stacked(self):
        """The array. If the rows are those of a loop, or were read one by one, it is stacked from them, even if it could be
        computed in one piece."""
        return self._stack() if self.origin not in (None, "parameter") else self.whole()

    def _stack(self):
        rows = [to_array(self.row(i)) for i in range(self.shape[0])]
        if all(isinstance(row, np.ndarray) for row in rows):
            return np.stack(rows)
        return lax.concatenate([lax.reshape(row, (1, *row.shape)) for row in rows], 0)


class Splat:
    """A scalar constant broadcast to a shape."""

    def __init__(self, shape, dtype, scalar):
        self.shape, self.dtype, self.scalar, self._whole = tuple(shape), dtype, scalar, None

    ndim = property(lambda self: len(self.shape))

    def is_zero(self) -> bool:
        return not np.asarray(self.scalar).astype(np.float64).any()

    def row(self, _i: int):
        return Splat(self.shape[1:], self.dtype, self.scalar)

    def whole(self):
        if self._whole is None:
            self._whole = lax.broadcast(np.asarray(self.scalar, self.dtype), self.shape)
        return self._whole


def rows_of(array) -> Lazy:
    """Any array as a stack of its rows; a row is read by one static slice."""
    if isinstance(array, (Lazy, Splat)):
        return array
    if isinstance(array, np.ndarray):
        return Lazy(array.shape, array.dtype, lambda i: array[i], lambda: array)
    return Lazy(array.shape, array.dtype, lambda i: lax.index_in_dim(array, i, 0, keepdims=False), lambda: array)
