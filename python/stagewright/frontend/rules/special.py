"""Gamma functions by the Lanczos approximation that XLA uses.

C. Lanczos, "A Precision Approximation of the Gamma Function" (SIAM J. Numer. Anal. B 1, 1964), with g = 7 and nine
coefficients: exact to the last bits of float64 on x >= 1/2, reflected below.
"""

from __future__ import annotations

import math

import numpy as np
from jax import lax

from stagewright.frontend.evaluate import is_known, rule
from stagewright.frontend.rows import Splat, to_array

G = 7.0
BASE = 0.99999999999980993227684700473478
COEFFICIENTS = (676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                771.3234287776530788486528258894, -176.61502916214059906584551354, 12.507343278686904814458936853,
                -0.13857109526572011689554707, 9.984369578019570859563e-6, 1.50563273514931155834e-7)


def _prepared(eqn, values):
    """(x, a function that makes constants of its type, x < 1/2, z), at least in float32."""
    x = to_array(values[0])
    if x.dtype.itemsize < 4:
        x = lax.convert_element_type(x, np.float32)

    def number(value):
        return lax.full_like(x, value)
    reflected = lax.lt(x, number(0.5))
    return x, number, reflected, lax.select(reflected, lax.neg(x), lax.sub(x, number(1)))


def _logarithm_of_t(z, number):
    return lax.add(number(math.log(G + 0.5)), lax.log1p(lax.div(z, number(G + 0.5))))


@rule("lgamma")
def lgamma(_evaluator, eqn, values):
    x, number, reflected, z = _prepared(eqn, values)
    series = number(BASE)
    for i, coefficient in enumerate(COEFFICIENTS):
        series = lax.add(series, lax.div(number(coefficient), lax.add(z, number(i + 1))))
    t, log_t = lax.add(z, number(G + 0.5)), _logarithm_of_t(z, number)
    result = lax.add(lax.add(number(math.log(2 * math.pi) / 2), lax.mul(
        lax.sub(lax.add(z, number(0.5)), lax.div(t, log_t)), log_t)), lax.log(series))
    magnitude = lax.abs(x)
    fraction = lax.sub(magnitude, lax.floor(magnitude))
    fraction = lax.min(fraction, lax.sub(number(1), fraction))  # the sine's accuracy is lost near its other zeros
    sine = lax.log(lax.sin(lax.mul(number(math.pi), fraction)))
    mirror = lax.sub(lax.sub(number(math.log(math.pi)), sine), result)
    mirror = lax.select(lax.is_finite(sine), mirror, lax.neg(sine))
    result = lax.select(reflected, mirror, result)
    result = lax.select(lax.eq(magnitude, number(np.inf)), magnitude, result)
    return [lax.convert_element_type(result, eqn.outvars[0].aval.dtype)]


@rule("digamma")
def digamma(_evaluator, eqn, values):
    x, number, reflected, z = _prepared(eqn, values)
    numerator, denominator = number(0), number(BASE)
    for i, coefficient in enumerate(COEFFICIENTS):
        place = lax.add(z, number(i + 1))
        part = lax.div(number(coefficient), place)
        numerator, denominator = lax.sub(numerator, lax.div(part, place)), lax.add(denominator, part)
    t = lax.add(z, number(G + 0.5))
    result = lax.sub(lax.add(_logarithm_of_t(z, number), lax.div(numerator, denominator)), lax.div(number(G), t))
    # The distance to the nearest integer keeps the cotangent exact for large negative numbers.
    angle = lax.mul(number(math.pi), lax.add(x, lax.abs(lax.floor(lax.add(x, number(0.5))))))
    mirror = lax.sub(result, lax.div(lax.mul(number(math.pi), lax.cos(angle)), lax.sin(angle)))
    result = lax.select(reflected, mirror, result)
    pole = lax.bitwise_and(lax.le(x, number(0)), lax.eq(x, lax.floor(x)))
    result = lax.select(pole, number(np.nan), result)
    return [lax.convert_element_type(result, eqn.outvars[0].aval.dtype)]


# Bernoulli's numbers B2, B4, ... over the factorials of 2, 4, ...: the tail of the sum, by Euler and Maclaurin.
TAIL = (1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600)
TERMS = 10


@rule("zeta")
def zeta(_evaluator, eqn, values):
    """The Hurwitz zeta function, which the derivatives of digamma use; NaN for s < 1."""
    s, q = (lax.convert_element_type(v, np.float32) if v.dtype.itemsize < 4 else v for v in map(to_array, values))
    return [lax.convert_element_type(_zeta(s, q), eqn.outvars[0].aval.dtype)]


def _zeta(s, q):
    def number(value):
        return lax.full_like(q, value)
    total = number(0)
    for i in range(TERMS):
        total = lax.add(total, lax.pow(lax.add(q, number(i)), lax.neg(s)))
    end = lax.add(q, number(TERMS))
    power = lax.pow(end, lax.neg(s))
    total = lax.add(total, lax.mul(power, lax.add(lax.div(end, lax.sub(s, number(1))), number(0.5))))
    factor = lax.div(lax.mul(power, s), end)
    for k, coefficient in enumerate(TAIL):
        total = lax.add(total, lax.mul(number(coefficient), factor))
        rising = lax.mul(lax.add(s, number(2 * k + 1)), lax.add(s, number(2 * k + 2)))
        factor = lax.div(lax.mul(factor, rising), lax.mul(end, end))
    pole = lax.bitwise_and(lax.le(q, number(0)), lax.eq(q, lax.floor(q)))
    half = lax.mul(s, number(0.5))
    undefined = lax.bitwise_and(lax.le(q, number(0)), lax.ne(s, lax.floor(s)))
    total = lax.select(lax.bitwise_or(undefined, lax.lt(s, number(1))), number(np.nan), total)
    total = lax.select(pole, lax.select(lax.eq(half, lax.floor(half)), number(np.inf), number(np.nan)), total)
    return lax.select(lax.eq(s, number(1)), number(np.inf), total)


@rule("polygamma")
def polygamma(evaluator, eqn, values):
    """(-1)^(m+1) m! zeta(m+1, x), for an order known at import."""
    order = _order(values[0])
    if order is None:
        raise evaluator.failure(eqn, "its order must be one number that is known at import, from 0 to 20")
    if order == 0:
        return digamma(evaluator, eqn, values[1:])
    x = to_array(values[1])
    if x.dtype.itemsize < 4:
        x = lax.convert_element_type(x, np.float32)
    factor = lax.full_like(x, (-1) ** (order + 1) * math.factorial(order))
    result = lax.mul(factor, _zeta(lax.full_like(x, order + 1), x))
    return [lax.convert_element_type(result, eqn.outvars[0].aval.dtype)]


def _order(value):
    value = value.scalar if isinstance(value, Splat) else value
    if not is_known(value) or value.size == 0 or (np.asarray(value) != np.asarray(value).flat[0]).any():
        return None
    order = float(np.asarray(value).flat[0])
    return int(order) if order in range(21) else None
