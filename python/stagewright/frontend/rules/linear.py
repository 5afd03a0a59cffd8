"""Cholesky factors and triangular solves, written out column by column.

Each column is a few operations on the whole matrix, so these suit small matrices (whitening, Gaussian processes of a
microbatch); other functions that need LAPACK are refused.
"""

from __future__ import annotations

import numpy as np
from jax import lax

from stagewright.frontend.evaluate import rule
from stagewright.frontend.rows import to_array

MOST_COLUMNS = 128


def _checked(evaluator, eqn, n):
    if n > MOST_COLUMNS:
        raise evaluator.failure(eqn, f"its matrix has {n} columns, and at most {MOST_COLUMNS} are written out; solve "
                                     "it by an iteration of products")


def _column(matrix, i):
    """Column i as [..., n, 1]."""
    return lax.slice_in_dim(matrix, i, i + 1, axis=matrix.ndim - 1)


def _row(matrix, i):
    return lax.slice_in_dim(matrix, i, i + 1, axis=matrix.ndim - 2)


def _spread(vector, shape):
    """Broadcasts a row, a column or an element to a matrix."""
    return lax.broadcast_in_dim(vector, shape, tuple(range(len(shape))))


def _product(column, row):
    shape = (*column.shape[:-1], row.shape[-1])
    return lax.mul(_spread(column, shape), _spread(row, shape))


def _swapped(matrix):
    return lax.transpose(matrix, (*range(matrix.ndim - 2), matrix.ndim - 1, matrix.ndim - 2))


@rule("cholesky")
def cholesky(evaluator, eqn, values):
    matrix = to_array(values[0])
    n = matrix.shape[-1]
    _checked(evaluator, eqn, n)
    rest, columns = matrix, []
    for i in range(n):
        column = _column(rest, i)
        below = lax.ge(lax.broadcasted_iota(np.int32, column.shape, column.ndim - 2), np.int32(i))
        column = lax.select(below, lax.div(column, _spread(lax.sqrt(_row(column, i)), column.shape)),
                            lax.full_like(column, 0))
        columns.append(column)
        if i + 1 < n:
            rest = lax.sub(rest, _product(column, _swapped(column)))
    factor = lax.concatenate(columns, matrix.ndim - 1) if n > 1 else columns[0]
    # A matrix that is not positive definite has no factor: its last pivot is NaN.
    last = _spread(_row(columns[-1], n - 1), factor.shape)
    return [lax.select(lax.ne(last, last), lax.full_like(factor, np.nan), factor)]


@rule("triangular_solve")
def triangular_solve(evaluator, eqn, values):
    matrix, right, p = to_array(values[0]), to_array(values[1]), eqn.params
    n = matrix.shape[-1]
    _checked(evaluator, eqn, n)
    lower = p["lower"]
    if p["transpose_a"] == p["left_side"]:  # x a = b is a' x' = b'
        matrix, lower = _swapped(matrix), not lower
    right = right if p["left_side"] else _swapped(right)
    rows = {}
    for i in range(n) if lower else range(n - 1, -1, -1):
        row, column = _row(right, i), _column(matrix, i)
        rows[i] = row if p["unit_diagonal"] else lax.div(row, _spread(_row(column, i), row.shape))
        if len(rows) < n:  # finished rows change too, but are not read again
            right = lax.sub(right, _product(column, rows[i]))
    solution = lax.concatenate([rows[i] for i in range(n)], right.ndim - 2) if n > 1 else rows[0]
    return [solution if p["left_side"] else _swapped(solution)]
