"""The backward of max pooling: select_and_scatter_add, written as one masked, strided placement per window offset."""

from __future__ import annotations

import itertools

import numpy as np
from jax import lax

from stagewright.frontend.evaluate import rule
from stagewright.frontend.rows import to_array


@rule("select_and_scatter_add")
def select_and_scatter_add(evaluator, eqn, values):
    """Adds each window's source to the first element, in row-major order, that the selection keeps."""
    source, operand = map(to_array, values)
    p = eqn.params
    prim = p["select_prim"].name
    if prim not in ("ge", "le"):
        raise evaluator.failure(eqn, f"its selection is '{prim}', not 'ge' or 'le'")
    window, strides, padding = p["window_dimensions"], p["window_strides"], p["padding"]
    worst = _worst(operand.dtype, low=prim == "ge")
    padded = lax.pad(operand, worst, [(lo, hi, 0) for lo, hi in padding])
    better = lax.gt if prim == "ge" else lax.lt
    offsets = list(itertools.product(*map(range, window)))
    best = chosen = None
    for number, offset in enumerate(offsets):
        limits = [o + (n - 1) * s + 1 for o, n, s in zip(offset, source.shape, strides)]
        element = lax.slice(padded, offset, limits, strides)
        if best is None:
            best, chosen = element, lax.full(source.shape, 0, np.int32)
            continue
        wins = better(element, best)
        best = lax.select(wins, element, best)
        chosen = lax.select(wins, lax.full(source.shape, number, np.int32), chosen)
    total = None
    for number, offset in enumerate(offsets):
        kept = lax.select(lax.eq(chosen, np.int32(number)), source, lax.full_like(source, 0))
        config = []
        for o, (lo, _), n, s, extent in zip(offset, padding, source.shape, strides, operand.shape):
            low = o - lo
            config.append((low, extent - low - ((n - 1) * s + 1), s - 1))
        placed = _placed(kept, config)
        total = placed if total is None else lax.add(total, placed)
    return [total]


def _placed(array, config):
    """lax.pad without negative padding: elements that would fall outside are cut off first."""
    starts, limits, padded = [], [], []
    for (low, high, interior), n in zip(config, array.shape):
        step = interior + 1
        first = -(low // step) if low < 0 else 0
        low += first * step
        last = n - (-(high // step) if high < 0 else 0)
        high += (n - last) * step
        starts.append(first), limits.append(last), padded.append((low, high, interior))
    return lax.pad(lax.slice(array, starts, limits), np.zeros((), array.dtype), padded)


def _worst(dtype, low):
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return np.array(info.min if low else info.max, dtype)
    return np.array(-np.inf if low else np.inf, dtype)
