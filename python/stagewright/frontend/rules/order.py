"""Sorting: top-k by repeated maxima, short rows sorted by ranks, long ones by a sorting network.

All compare integer keys in the order of the values, so ties, infinities and NaN give the same results as in JAX. Values are
recovered exactly from the keys, or gathered by their positions. Ranks cost n^2 comparisons per row: acceptable for experts,
beams and shuffles of a microbatch. The network, Batcher's bitonic sort, is a loop of log2(n) (log2(n) + 1) / 2 rounds, in each
of which every element is compared with one other.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from stagewright.frontend.evaluate import rule
from stagewright.frontend.rows import to_array
from stagewright.frontend.rules.kept import inside_loop

# Repeated maxima read each row once per result; ranks compare each pair of a row's elements.
MOST_MAXIMA = 64
LONGEST_BY_RANKS = 2048


def ordered_key(x):
    """Integers in the total order of the values; on the bits of a float, the function is its own inverse."""
    if x.dtype == np.bool_:
        return lax.convert_element_type(x, np.int32)
    if np.issubdtype(x.dtype, np.unsignedinteger):
        signed = np.dtype(f"int{x.dtype.itemsize * 8}")
        return lax.bitwise_xor(lax.bitcast_convert_type(x, signed), np.array(np.iinfo(signed).min, signed))
    if np.issubdtype(x.dtype, np.integer):
        return x
    if x.dtype.itemsize < 4:
        x = lax.convert_element_type(x, np.float32)
    width = x.dtype.itemsize * 8
    return _flipped(lax.bitcast_convert_type(x, np.dtype(f"int{width}")))


def _flipped(bits):
    width = bits.dtype.itemsize * 8
    mask = lax.shift_right_arithmetic(bits, np.array(width - 1, bits.dtype))
    return lax.bitwise_xor(bits, lax.bitwise_and(mask, np.array(np.iinfo(bits.dtype).max, bits.dtype)))


def value_of(key, dtype):
    """The value that has this key."""
    if dtype == np.bool_:
        return lax.ne(key, np.array(0, key.dtype))
    if np.issubdtype(dtype, np.unsignedinteger):
        return lax.bitcast_convert_type(lax.bitwise_xor(key, np.array(np.iinfo(key.dtype).min, key.dtype)), dtype)
    if np.issubdtype(dtype, np.integer):
        return key
    wide = np.dtype(np.float64 if key.dtype.itemsize == 8 else np.float32)
    return lax.convert_element_type(lax.bitcast_convert_type(_flipped(key), wide), dtype)


@rule("top_k")
def top_k(evaluator, eqn, values):
    return _largest(evaluator, eqn, to_array(values[0]), eqn.params.get("axis", -1))


@rule("approx_top_k")
def approx_top_k(evaluator, eqn, values):
    """Exact, as JAX computes it on a processor."""
    p, x = eqn.params, to_array(values[0])
    if not p["aggregate_to_topk"]:
        raise evaluator.failure(eqn, "it returns candidates that are not reduced to the k largest; leave out aggregate_to_topk=False")
    found, places = _largest(evaluator, eqn, x if p["is_max_k"] else lax.neg(x), p["reduction_dimension"])
    return [found if p["is_max_k"] else lax.neg(found), places]


def _largest(evaluator, eqn, x, axis):
    """The k largest elements along an axis in descending order, and their positions."""
    k, axis = eqn.params["k"], axis % x.ndim
    if k > MOST_MAXIMA:
        raise evaluator.failure(eqn, f"it asks for {k} elements, and at most {MOST_MAXIMA} are found by repeated "
                                     "maxima")
    key, extent = ordered_key(x), x.shape[axis]
    place = lax.broadcasted_iota(np.int32, x.shape, axis)
    lowest = np.array(np.iinfo(key.dtype).min, key.dtype)
    free, keys, places = None, [], []
    spread = tuple(d for d in range(x.ndim) if d != axis)
    for _ in range(k):
        candidates = key if free is None else lax.select(free, key, lax.full_like(key, lowest))
        best = lax.reduce_max(candidates, (axis,))
        hit = lax.eq(key, lax.broadcast_in_dim(best, x.shape, spread))
        hit = hit if free is None else lax.bitwise_and(hit, free)
        first = lax.reduce_min(lax.select(hit, place, lax.full_like(place, extent)), (axis,))
        other = lax.ne(place, lax.broadcast_in_dim(first, x.shape, spread))
        free = other if free is None else lax.bitwise_and(free, other)
        keys.append(lax.expand_dims(best, (axis,))), places.append(lax.expand_dims(first, (axis,)))
    index = eqn.outvars[1].aval.dtype
    return [value_of(lax.concatenate(keys, axis), x.dtype),
            lax.convert_element_type(lax.concatenate(places, axis), index)]


@rule("sort")
def sort(evaluator, eqn, values):
    arrays, axis, count = [to_array(v) for v in values], eqn.params["dimension"], eqn.params["num_keys"]
    shape = arrays[0].shape
    extent = shape[axis]
    if extent > LONGEST_BY_RANKS:
        return _sort_by_network(evaluator, arrays, axis, count)
    # An additional last dimension pairs the elements of a row.
    paired = (*shape, extent)
    mine = lambda a: lax.broadcast_in_dim(a, paired, tuple(range(len(shape))))
    theirs = lambda a: lax.broadcast_in_dim(
        lax.transpose(a, [d for d in range(len(shape)) if d != axis] + [axis]), paired,
        tuple(d for d in range(len(shape)) if d != axis) + (len(shape),))
    place = lax.broadcasted_iota(np.int32, shape, axis)
    before = lax.lt(theirs(place), mine(place))
    for array in reversed(arrays[:count]):
        key = ordered_key(_canonical(array))
        low, high = theirs(key), mine(key)
        before = lax.bitwise_or(lax.lt(low, high), lax.bitwise_and(lax.eq(low, high), before))
    rank = lax.reduce_sum(lax.convert_element_type(before, np.int32), (len(shape),))
    chosen = lax.eq(theirs(rank), mine(place))
    results = []
    for array in arrays:
        key = ordered_key(array)
        moved = lax.reduce_sum(lax.select(chosen, theirs(key), lax.full(paired, 0, key.dtype)), (len(shape),))
        results.append(value_of(moved, array.dtype))
    return results


def _sort_by_network(evaluator, arrays, axis, count):
    """Sorts keys and positions in a loop; then all arrays are gathered once by the positions."""
    arrays = [jnp.moveaxis(array, axis, -1) for array in arrays]
    extent = arrays[0].shape[-1]
    size = 1 << (extent - 1).bit_length()
    place = lax.broadcasted_iota(np.int32, (*arrays[0].shape[:-1], size), arrays[0].ndim - 1)
    keys = []
    for array in arrays[:count]:
        key = ordered_key(_canonical(array))
        largest = np.array(np.iinfo(key.dtype).max, key.dtype)  # equal keys are ordered by position, so padding comes last
        keys.append(lax.pad(key, largest, [(0, 0, 0)] * (key.ndim - 1) + [(0, size - extent, 0)]))

    def exchange(state):
        number, block, distance, mine = state
        i = lax.iota(np.int32, size)
        theirs = [a.at[..., i ^ distance].get(mode="promise_in_bounds") for a in mine]
        less = jnp.zeros(mine[0].shape, bool)
        for a, b in reversed(list(zip(mine, theirs))):
            less = (b < a) | (b == a) & less
        smaller = ((i & distance) == 0) == ((i & block) == 0)  # whether an element takes the smaller of the two
        kept = [lax.select(less == smaller, b, a) for a, b in zip(mine, theirs)]
        half = distance >> 1
        return number + 1, jnp.where(half > 0, block, 2 * block), jnp.where(half > 0, half, block), kept

    # Counted, so that GPUs can unroll the loop: each round is then computed in parallel.
    bits = size.bit_length() - 1
    rounds = np.int32(bits * (bits + 1) // 2)
    state = (np.int32(0), np.int32(2), np.int32(1), [*keys, place])
    closed, tree = jax.make_jaxpr(exchange)(state), jax.tree.structure(state)

    def step(state):
        return jax.tree.unflatten(tree, map(to_array, evaluator.run(closed.jaxpr, closed.consts, jax.tree.leaves(state))))
    *_, (*_, place) = lax.while_loop(lambda state: lax.lt(state[0], rounds), inside_loop(evaluator, step), state)

    def fetch(place, *arrays):
        return [jnp.take_along_axis(array, place[..., :extent], -1, mode="promise_in_bounds") for array in arrays]
    closed = jax.make_jaxpr(fetch)(place, *arrays)
    return [jnp.moveaxis(to_array(array), -1, axis) for array in evaluator.run(closed.jaxpr, closed.consts, [place, *arrays])]


def _canonical(x):
    """Makes both zeros equal and every NaN the largest value, as in lax.sort."""
    if not np.issubdtype(x.dtype, np.floating) and getattr(x.dtype, "name", "") != "bfloat16":
        return x
    x = lax.select(lax.eq(x, lax.full_like(x, 0)), lax.full_like(x, 0), x)
    return lax.select(lax.ne(x, x), lax.full_like(x, np.nan), x)
