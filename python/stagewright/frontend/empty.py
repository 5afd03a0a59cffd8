"""Arrays without elements: linalg cannot slice them, and there is nothing to compute.

`associative_scan` and functions built on it (`cumprod`, `cummax`) take empty slices of short axes.
"""

from __future__ import annotations

import numpy as np
from jax import lax

from stagewright.frontend.rows import is_plain, to_array

# Equations with sub-jaxprs; the equations inside are evaluated one by one.
CALLS = ("scan", "while", "cond", "jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
         "remat2", "checkpoint", "custom_lin")


def without_empty(evaluator, eqn, values):
    """(results, None) of an equation whose results follow from empty arrays, (None, its values) of any other."""
    if eqn.primitive.name in CALLS or not any(_is_empty(v) for v in (*eqn.invars, *eqn.outvars)):
        return None, values
    values = [np.zeros(var.aval.shape, var.aval.dtype) if _is_empty(var) else value
              for var, value in zip(eqn.invars, values)]
    if eqn.outvars and all(_is_empty(v) for v in eqn.outvars):
        return [np.zeros(v.aval.shape, v.aval.dtype) for v in eqn.outvars], None
    name = eqn.primitive.name
    if name == "concatenate":
        values = [v for v in values if 0 not in v.shape]
        return ([to_array(values[0])], None) if len(values) == 1 else (None, values)
    if name == "pad":
        return [lax.broadcast(to_array(values[1]), eqn.outvars[0].aval.shape)], None
    update = {"dynamic_update_slice": 1}.get(name, 2 if name.startswith("scatter") else None)
    if update and _is_empty(eqn.invars[update]):
        return [values[0]], None
    if name in ("dot_general", "conv_general_dilated"):  # sums of no products
        return [np.zeros(v.aval.shape, v.aval.dtype) for v in eqn.outvars], None
    if all(isinstance(v, (np.ndarray, np.generic)) for v in values):  # a sum of no elements
        return evaluator.fold(eqn, values), None
    return None, values


def _is_empty(var):
    shape = getattr(var.aval, "shape", ())
    return 0 in shape and is_plain(var.aval.dtype)
