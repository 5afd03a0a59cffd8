"""Rewrites scatter as operations that linalg has.

Few positions per batch element (the gradient of `take_along_axis`, of top-k): compare an iota with the index and select, one
elementwise operation for each position. One window at a position known at import: padding, or an update of a slice. The rest
(the gradient of an embedding: many rows at positions known at run time) stays a scatter here; stagewright.frontend.to_linalg
makes it a loop over rows that updates in place.
"""

from __future__ import annotations

import itertools

import jax
import jax.extend.core as jex
import numpy as np
from jax import lax
from jax.lax import GatherScatterMode

from stagewright.frontend.evaluate import is_known, rule
from stagewright.frontend.rows import to_array
from stagewright.frontend.rules.arrays import is_zero, signed_index

# Above this, the comparisons cost more than a loop over the positions.
COMPARED_POSITIONS = 8

COMBINE = {
    "scatter-add": lax.add,
    "scatter_add": lax.add,
    "scatter_mul": lax.mul,
    "scatter_min": lax.min,
    "scatter_max": lax.max,
    "scatter": lambda _old, new: new,
}


@rule("scatter-add", "scatter_add", "scatter_mul", "scatter_min", "scatter_max", "scatter")
def scatter(evaluator, eqn, values):
    operand, indices, updates = values
    numbers, mode = eqn.params["dimension_numbers"], eqn.params["mode"]
    name, applied = eqn.primitive.name, _applied(evaluator, eqn)
    combine = applied or COMBINE[name]
    depth = len(numbers.scatter_dims_to_operand_dims)
    if updates.shape and 0 in updates.shape:
        return [operand]
    windows = _window_shape(numbers, operand.ndim, updates.shape)
    if is_known(indices) and indices.size == depth and not numbers.operand_batching_dims:
        return [_at_known_place(name, combine, operand, indices.reshape(-1), to_array(updates), numbers, windows, mode)]
    positions = [n for i, n in enumerate(indices.shape[:-1]) if i not in numbers.scatter_indices_batching_dims]
    compared = set(numbers.scatter_dims_to_operand_dims) <= set(numbers.inserted_window_dims)
    if compared and np.prod(positions, dtype=int) <= COMPARED_POSITIONS and depth:
        return [_compared(name, combine, operand, to_array(indices), to_array(updates), numbers, mode)]
    if applied:
        raise evaluator.failure(eqn, f"a function is applied to elements at {' x '.join(map(str, positions))} positions, and at most "
                                     f"{COMPARED_POSITIONS} are supported; select with jnp.where(mask, f(x), x)")
    unsigned = np.issubdtype(operand.dtype, np.unsignedinteger)
    if unsigned and name not in ("scatter_min", "scatter_max"):
        signed = np.dtype(f"int{operand.dtype.itemsize * 8}")
        operand, updates = (lax.bitcast_convert_type(to_array(v), signed) for v in (operand, updates))
        function = {"scatter": lax.scatter, "scatter_mul": lax.scatter_mul}.get(name, lax.scatter_add)
        result = function(operand, signed_index(indices), updates, numbers, mode=mode)
        return [lax.bitcast_convert_type(result, eqn.outvars[0].aval.dtype)]
    return evaluator.bind(eqn, [operand, signed_index(indices), updates])


def _applied(evaluator, eqn):
    """For `x.at[i].apply(f)`: f of the old elements. None for scatters that combine old and new elements."""
    jaxpr = eqn.params["update_jaxpr"]
    if eqn.primitive.name != "scatter" or jaxpr is None or jaxpr.outvars[0] is jaxpr.invars[1]:
        return None

    def apply(old, _new):
        def element(x):
            return jex.jaxpr_as_fun(jex.ClosedJaxpr(jaxpr, eqn.params["update_consts"]))(x, np.zeros((), x.dtype))[0]
        for _ in range(old.ndim):
            element = jax.vmap(element)
        return evaluator.function(element, old)
    return apply


@rule("scatter-sub", "scatter_sub")
def subtraction(evaluator, eqn, values):
    """Subtracts by adding the negated updates."""
    def add(operand, indices, updates):
        return lax.scatter_add(operand, indices, lax.neg(updates), eqn.params["dimension_numbers"], mode=eqn.params["mode"],
                               indices_are_sorted=eqn.params["indices_are_sorted"], unique_indices=eqn.params["unique_indices"])
    return [evaluator.function(add, *values)]


@rule("gather")
def gather(evaluator, eqn, values):
    numbers, aval = eqn.params["dimension_numbers"], eqn.outvars[0].aval
    if not numbers.start_index_map and not numbers.operand_batching_dims:  # as in `x.at[:]`: no index at all
        operand = to_array(values[0])
        part = lax.slice(operand, [0] * operand.ndim, eqn.params["slice_sizes"])
        part = lax.squeeze(part, numbers.collapsed_slice_dims)
        return [lax.broadcast_in_dim(part, aval.shape, numbers.offset_dims)]
    return evaluator.bind(eqn, [values[0], signed_index(values[1])])


def _window_shape(numbers, rank, updates):
    """The extent of a window in every dimension of the operand."""
    sizes = iter(updates[d] for d in numbers.update_window_dims)
    gone = (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
    return [1 if d in gone else next(sizes) for d in range(rank)]


def _at_known_place(name, combine, operand, index, updates, numbers, windows, mode):
    start = [0] * operand.ndim
    for value, dim in zip(index, numbers.scatter_dims_to_operand_dims):
        start[dim] = int(value)
    limits = [n - w for n, w in zip(operand.shape, windows)]
    if mode == GatherScatterMode.CLIP:
        start = [min(max(s, 0), limit) for s, limit in zip(start, limits)]
    elif any(not 0 <= s <= limit for s, limit in zip(start, limits)):
        return operand
    updates = lax.reshape(updates, windows)
    if name in ("scatter-add", "scatter_add"):
        placed = lax.pad(updates, np.zeros((), updates.dtype),
                         [(s, n - s - w, 0) for s, n, w in zip(start, operand.shape, windows)])
        return placed if is_zero(operand) else lax.add(to_array(operand), placed)
    operand = to_array(operand)
    old = lax.slice(operand, start, [s + w for s, w in zip(start, windows)])
    return lax.dynamic_update_slice(operand, combine(old, updates), [np.int32(s) for s in start])


def _compared(name, combine, operand, indices, updates, numbers, mode):
    """One select per position, in order, so that the last write of a plain scatter wins."""
    shape = operand.shape
    scatter_dims = [d for d in range(updates.ndim) if d not in numbers.update_window_dims]
    batching = dict(zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims))
    kept = [d for d in range(len(shape))
            if d not in numbers.inserted_window_dims and d not in numbers.operand_batching_dims]
    update_to_operand = dict(zip(numbers.update_window_dims, kept))
    update_to_operand |= {scatter_dims[i]: batching[i] for i in batching}
    open_dims = [i for i in range(indices.ndim - 1) if i not in batching]
    result, absent = operand, is_zero(operand) and name in ("scatter-add", "scatter_add")
    for place in itertools.product(*(range(indices.shape[i]) for i in open_dims)):
        at = dict(zip(open_dims, place))
        update = _taken(updates, {scatter_dims[i]: n for i, n in at.items()})
        update = _spread(update, [update_to_operand[d] for d in range(updates.ndim) if d in update_to_operand], shape)
        mask = None
        for k, dim in enumerate(numbers.scatter_dims_to_operand_dims):
            index = _taken(indices, {**at, indices.ndim - 1: k})
            if mode == GatherScatterMode.CLIP:
                index = lax.clamp(np.zeros((), index.dtype), index, np.array(shape[dim] - 1, index.dtype))
            index = _spread(index, [batching[i] for i in range(indices.ndim - 1) if i in batching], shape)
            equal = lax.eq(index, lax.broadcasted_iota(index.dtype, shape, dim))
            mask = equal if mask is None else lax.bitwise_and(mask, equal)
        if absent:
            result, absent = lax.select(mask, update, to_array(operand)), False
        else:
            result = to_array(result)
            result = lax.select(mask, combine(result, update), result)
    return result


def _taken(array, at):
    """The array at the given positions, with those dimensions removed."""
    starts = [at.get(d, 0) for d in range(array.ndim)]
    limits = [at[d] + 1 if d in at else n for d, n in enumerate(array.shape)]
    return lax.squeeze(lax.slice(array, starts, limits), tuple(at))


def _spread(array, dims, shape):
    """Broadcasts: dimension i of the array goes to dims[i]."""
    order = np.argsort(dims) if dims else []
    return lax.broadcast_in_dim(lax.transpose(array, order), shape, sorted(dims))
