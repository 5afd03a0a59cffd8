"""Sums in short floating-point types, and functions that no later dialect has.

XLA sums bfloat16 and float16 products in float32 and rounds once; linalg would round after every addition. So the sum is
computed in float32 and the result converted.
"""

from __future__ import annotations

import numpy as np
from jax import lax

from stagewright.frontend.evaluate import rule
from stagewright.frontend.rows import to_array

SHORT = ("bfloat16", "float16")


def _is_short(dtype):
    return getattr(dtype, "name", "") in SHORT


@rule("dot_general", "conv_general_dilated")
def contraction(_evaluator, eqn, values):
    """A product computed in float32 if its result is short.

    A product's `algorithm` (`jax.nn.dot_product_attention` asks for bfloat16 summed in float32) is ignored: it tells a matrix
    unit to do what is done here anyway. Grouped convolutions need a single type.
    """
    params, dtype = dict(eqn.params), eqn.outvars[0].aval.dtype
    values = list(map(to_array, values))
    algorithm = not isinstance(params.get("precision"), (type(None), tuple, lax.Precision))
    grouped = params.get("feature_group_count", 1) > 1 or params.get("batch_group_count", 1) > 1
    grouped &= any(_is_short(v.dtype) for v in values)
    if not (_is_short(dtype) or algorithm or grouped):
        return None
    if algorithm:
        params["precision"] = None
    if grouped:
        values = [lax.convert_element_type(v, np.float32) for v in values]
    wide = np.dtype(np.float32) if _is_short(dtype) else dtype
    result = eqn.primitive.bind(*values, **{**params, "preferred_element_type": wide})
    return [lax.convert_element_type(result, dtype)]


@rule("reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor")
def reduction(_evaluator, eqn, values):
    return None if eqn.params["axes"] else [to_array(values[0])]


@rule("reduce_sum", "cumsum", "reduce_window_sum")
def summation(_evaluator, eqn, values):
    if eqn.params.get("axes") == ():  # of a scalar, as in the norm of all parameters
        return [to_array(values[0])]
    dtype = eqn.outvars[0].aval.dtype
    if not _is_short(dtype):
        return None
    wide = lax.convert_element_type(to_array(values[0]), np.float32)
    return [lax.convert_element_type(eqn.primitive.bind(wide, **eqn.params), dtype)]


# M. Giles, "Approximating the erfinv function" (GPU Computing Gems, Jade edition, 2011), table for single precision:
# polynomials in w - 2.5 for w < 5 and in sqrt(w) - 3 above, w = -log(1 - x^2), highest power first.
_CENTRE = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
           -0.00417768164, 0.246640727, 1.50140941)
_TAIL = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
         1.00167406, 2.83297682)


@rule("erf_inv")
def erf_inv(evaluator, eqn, values):
    dtype = eqn.outvars[0].aval.dtype
    if dtype == np.float64:
        raise evaluator.failure(eqn, "it is implemented only for float32 and shorter types")
    x = lax.convert_element_type(to_array(values[0]), np.float32)
    one = np.float32(1)
    w = lax.neg(lax.log1p(lax.neg(lax.mul(x, x))))
    central = lax.lt(w, np.float32(5))
    v = lax.select(central, lax.sub(w, np.float32(2.5)), lax.sub(lax.sqrt(w), np.float32(3)))
    result = None
    for centre, tail in zip(_CENTRE, _TAIL):
        factor = lax.select(central, lax.full_like(x, centre), lax.full_like(x, tail))
        result = factor if result is None else lax.add(factor, lax.mul(result, v))
    result = lax.select(lax.eq(lax.abs(x), one), lax.mul(x, np.float32(np.inf)), lax.mul(result, x))
    return [lax.convert_element_type(result, dtype)]
