"""Elementwise operations, slices and additions on rows and constants do not build arrays.

This separates stacked layers: a parameter stacked over layers is read row by row, even through a cast to bfloat16 or a decay
term; the rows of the gradient are stacked once, at the end.
"""

from __future__ import annotations

import jax
import numpy as np
from jax import lax

from stagewright.frontend.evaluate import is_known, rule
from stagewright.frontend.rows import Lazy, Splat, rows_of, to_array

ELEMENTWISE = (
    "abs", "add", "add_any", "and", "atan2", "bitcast_convert_type", "cbrt", "ceil", "clamp", "convert_element_type",
    "cos", "cosh", "div", "eq", "erf", "exp", "exp2", "expm1", "floor", "ge", "gt", "integer_pow", "is_finite", "le",
    "log", "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg", "not", "or", "pow", "rem", "round", "rsqrt",
    "select_n", "sign", "sin", "sinh", "sqrt", "square", "sub", "tan", "tanh", "xor")


# Arrays of more rows are not split into rows if only single rows are read: they are tables, not stacks of layers.
MOST_ROWS = 64


def signed_index(index):
    """linalg has no unsigned types. An index above the signed range is outside any operand, as is the largest signed one."""
    index = to_array(index)
    if not np.issubdtype(index.dtype, np.unsignedinteger):
        return index
    signed = np.dtype(np.int64 if index.dtype.itemsize > 4 else np.int32)
    if index.dtype.itemsize == signed.itemsize:
        index = lax.min(index, lax.full_like(index, np.iinfo(signed).max))
    return lax.convert_element_type(index, signed)


def is_zero(value) -> bool:
    return isinstance(value, Splat) and value.is_zero()


@rule(*ELEMENTWISE)
def elementwise(evaluator, eqn, values):
    if eqn.primitive.name in ("add", "add_any") and len(values) == 2:
        if is_zero(values[0]) and values[1].shape == eqn.outvars[0].aval.shape:
            return [values[1]]
        if is_zero(values[1]) and values[0].shape == eqn.outvars[0].aval.shape:
            return [values[0]]
    stacks = [v for v in values if isinstance(v, Lazy)]
    aval = eqn.outvars[0].aval
    if not stacks or eqn.primitive.name == "bitcast_convert_type" and aval.shape != values[0].shape:
        return None
    origins = [v.origin for v in stacks if v.origin is not None]
    origin = next((o for o in origins if not isinstance(o, str)), "rows" if "rows" in origins else
                  origins[0] if origins else None)
    stack, traceback = evaluator.stack, evaluator.traceback

    def scope(i=None):
        if i is None or origin is None:
            return evaluator.scope(stack, traceback)
        if isinstance(origin, str):  # the row belongs to the first layer that reads it
            return evaluator.scope(evaluator.stack, traceback)
        return evaluator.scope(stack.extend(origin.scope(i)), traceback)

    def row(i):
        # A value of one row, as in the gradient of a maximum, is combined with each row of the others.
        rows = [v if v.ndim == 0 else rows_of(v).row(i if v.shape[0] > 1 else 0) for v in values]
        with scope(i):
            if eqn.primitive.name in ("add", "add_any"):
                if is_zero(rows[0]):
                    return rows[1]
                if is_zero(rows[1]):
                    return rows[0]
            return evaluator.bind(eqn, rows)[0]

    def whole():
        with scope():
            return evaluator.bind(eqn, values)[0]

    return [Lazy(aval.shape, aval.dtype, row, whole, origin)]


@rule("broadcast_in_dim")
def broadcast(evaluator, eqn, values):
    aval = eqn.outvars[0].aval
    if len(values) == 1 and is_known(values[0]) and values[0].ndim == 0:
        return [Splat(aval.shape, aval.dtype, values[0])]
    if isinstance(values[0], Splat):
        return [Splat(aval.shape, aval.dtype, values[0].scalar)]
    if len(values) == 1 and aval.shape == (1, *values[0].shape) and \
            tuple(eqn.params["broadcast_dimensions"]) == tuple(range(1, aval.ndim)):
        # A row to be written into a stack.
        stack, traceback = evaluator.stack, evaluator.traceback

        def whole():
            with evaluator.scope(stack, traceback):
                return evaluator.bind(eqn, values)[0]
        return [Lazy(aval.shape, aval.dtype, lambda _i: values[0], whole)]
    return None


@rule("transpose", "rev")
def rearranged_splat(_evaluator, eqn, values):
    aval = eqn.outvars[0].aval
    return [Splat(aval.shape, aval.dtype, values[0].scalar)] if isinstance(values[0], Splat) else None


@rule("reshape")
def regroup(evaluator, eqn, values):
    """Groups of layers: the first dimension is split in two, or two are merged; rows stay rows."""
    value, aval = values[0], eqn.outvars[0].aval
    if isinstance(value, Splat):
        return [Splat(aval.shape, aval.dtype, value.scalar)]
    # `dimensions` transposes first, so rows do not stay rows.
    if not isinstance(value, Lazy) or 0 in aval.shape or eqn.params["dimensions"] is not None:
        return None
    if aval.ndim == value.ndim + 1 and aval.shape[2:] == value.shape[1:]:
        group = aval.shape[1]

        def row(i):
            return Lazy(aval.shape[1:], aval.dtype, lambda j: value.row(i * group + j), None, value.origin)
    elif aval.ndim == value.ndim - 1 and aval.ndim and aval.shape[1:] == value.shape[2:]:
        group = value.shape[1]

        def row(i):
            return rows_of(value.row(i // group)).row(i % group)
    else:
        return None
    stack, traceback = evaluator.stack, evaluator.traceback

    def whole():
        with evaluator.scope(stack, traceback):
            return evaluator.bind(eqn, [value])[0]
    return [Lazy(aval.shape, aval.dtype, row, whole, value.origin)]


@rule("slice")
def slice_rows(_evaluator, eqn, values):
    value, p = values[0], eqn.params
    aval = eqn.outvars[0].aval
    if isinstance(value, Splat):
        return [Splat(aval.shape, aval.dtype, value.scalar)]
    return _rows_slice(value, aval, p["start_indices"], p["strides"])


@rule("split")
def split_rows(_evaluator, eqn, values):
    if not isinstance(values[0], Lazy) or eqn.params["axis"] != 0:
        return None
    starts = np.cumsum([0, *eqn.params["sizes"]])
    return [_range(values[0], var.aval, int(start)) for start, var in zip(starts, eqn.outvars)]


def _rows_slice(value, aval, starts, strides):
    if not isinstance(value, Lazy) or tuple(aval.shape[1:]) != value.shape[1:]:
        return None
    return [_range(value, aval, starts[0], strides[0] if strides else 1)]


def _range(value, aval, start, stride=1):
    def whole():
        if value._whole is not None:
            return lax.slice_in_dim(value.whole(), start, start + (aval.shape[0] - 1) * stride + 1, stride)
        return Lazy._stack(result)
    result = Lazy(aval.shape, aval.dtype, lambda i: value.row(start + i * stride), whole, value.origin)
    return result


@rule("squeeze")
def squeeze_row(_evaluator, eqn, values):
    value, aval = values[0], eqn.outvars[0].aval
    if isinstance(value, Splat):
        return [Splat(aval.shape, aval.dtype, value.scalar)]
    if isinstance(value, Lazy) and tuple(eqn.params["dimensions"]) == (0,):
        return [value.row(0)]
    return None


@rule("dynamic_slice")
def static_slice(evaluator, eqn, values):
    """An index known at import makes it a static slice."""
    value, starts, aval = values[0], values[1:], eqn.outvars[0].aval
    if not all(map(is_known, starts)):
        return _signed(evaluator, eqn, [value], [signed_index(s) for s in starts])
    starts = _clamped(starts, value.shape, aval.shape)
    if isinstance(value, Splat):
        return [Splat(aval.shape, aval.dtype, value.scalar)]
    return _rows_slice(value, aval, starts, None) or [
        lax.slice(to_array(value), starts, [s + n for s, n in zip(starts, aval.shape)])]


@rule("dynamic_update_slice")
def static_update(evaluator, eqn, values):
    """An index known at import: replaces the whole value, or rows of a stack; no array is built."""
    value, update, starts, aval = values[0], values[1], values[2:], eqn.outvars[0].aval
    if not all(map(is_known, starts)):
        return _signed(evaluator, eqn, [value, update], [signed_index(s) for s in starts])
    starts = _clamped(starts, value.shape, update.shape)
    if update.shape == value.shape:
        return [update]
    if isinstance(value, (Lazy, Splat)) and update.shape[1:] == value.shape[1:]:
        def row(i):
            inside = starts[0] <= i < starts[0] + update.shape[0]
            return rows_of(update).row(i - starts[0]) if inside else value.row(i)
        origin = getattr(value, "origin", None) or getattr(update, "origin", None)
        if origin is None and value.shape[0] <= MOST_ROWS:
            origin = "rows"
        return [Lazy(aval.shape, aval.dtype, row, lambda: lax.dynamic_update_slice(
            to_array(value), to_array(update), starts), origin)]
    return None


@rule("concatenate")
def concatenate(evaluator, eqn, values):
    return _signed(evaluator, eqn, values)


def _signed(evaluator, eqn, values, others=()):
    """Binds an equation that only moves elements, with unsigned values as signed ones: linalg has no unsigned types."""
    dtype = eqn.outvars[0].aval.dtype
    if not jax.dtypes.issubdtype(dtype, np.unsignedinteger):
        return evaluator.bind(eqn, [*values, *others])
    signed = np.dtype(f"int{dtype.itemsize * 8}")
    result, = evaluator.bind(eqn, [lax.bitcast_convert_type(to_array(v), signed) for v in values] + list(others))
    return [lax.bitcast_convert_type(result, dtype)]


@rule("pad")
def pad_rows(_evaluator, eqn, values):
    """The gradient of a slice of rows: the rows, padded with rows of zeros."""
    value, padding, aval = values[0], values[1], eqn.outvars[0].aval
    (low, high, interior), *others = eqn.params["padding_config"]
    if any(map(any, others)) or low < 0 or high < 0 or interior or not is_known(padding) or aval.ndim == 0:
        return None
    if not isinstance(value, Lazy) and (value.shape[0] != 1 or aval.shape[0] > MOST_ROWS):
        return None
    zeros = Splat(aval.shape, aval.dtype, padding)

    def row(i):
        return rows_of(value).row(i - low) if low <= i < low + value.shape[0] else zeros.row(i)
    return [Lazy(aval.shape, aval.dtype, row, lambda: lax.pad(to_array(value), padding, eqn.params["padding_config"]),
                 getattr(value, "origin", None) or "rows")]


def _clamped(starts, shape, window):
    return [int(np.clip(int(s), 0, n - w)) for s, n, w in zip(starts, shape, window)]
