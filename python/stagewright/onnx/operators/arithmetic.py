"""Arithmetic, mostly elementwise; dropout, and random operators, which are refused."""

from __future__ import annotations

import functools

import jax.numpy as jnp
import numpy as np
from jax import lax

from stagewright.onnx.registry import OPERATORS, Operator, is_float, is_known, operator

UNARY = {
    "Abs": jnp.abs, "Acos": jnp.arccos, "Acosh": jnp.arccosh, "Asin": jnp.arcsin, "Asinh": jnp.arcsinh,
    "Atan": jnp.arctan, "Atanh": jnp.arctanh, "Ceil": jnp.ceil, "Cos": jnp.cos, "Cosh": jnp.cosh, "Exp": jnp.exp,
    "Floor": jnp.floor, "Log": jnp.log, "Neg": jnp.negative, "Reciprocal": lambda x: 1 / x, "Round": jnp.round,
    "Sign": jnp.sign, "Sin": jnp.sin, "Sinh": jnp.sinh, "Sqrt": jnp.sqrt, "Tan": jnp.tan, "Tanh": jnp.tanh,
}
FOLDED = {"Max": jnp.maximum, "Min": jnp.minimum, "Sum": jnp.add}


def _register():
    for name, function in UNARY.items():
        OPERATORS[name] = Operator(lambda node, x, function=function: function(x), ())
    for name, function in FOLDED.items():
        OPERATORS[name] = Operator(lambda node, *x, function=function: functools.reduce(function, x), ())


_register()


@operator("Erf")
def erf(node, x):
    return lax.erf(jnp.asarray(x)) if is_float(x) else lax.erf(jnp.asarray(x, jnp.float32)).astype(x.dtype)


@operator("Mean")
def mean(node, *inputs):
    return functools.reduce(jnp.add, inputs) / len(inputs)


@operator("Add")
def add(node, a, b):
    return jnp.add(a, b)


@operator("Sub")
def subtract(node, a, b):
    return jnp.subtract(a, b)


@operator("Mul")
def multiply(node, a, b):
    return jnp.multiply(a, b)


@operator("Div")
def divide(node, a, b):
    """Integer division truncates towards zero, as in C."""
    if is_float(a):
        return jnp.divide(a, b)
    return lax.div(*jnp.broadcast_arrays(a, b))


@operator("Mod")
def modulo(node, a, b):
    """With fmod=1 the result has the sign of the dividend, otherwise that of the divisor."""
    if node.get("fmod", 0):
        return lax.rem(*jnp.broadcast_arrays(a, b))
    return jnp.remainder(a, b)


@operator("Pow")
def power(node, x, exponent):
    """The result has the base's type. A small known integer exponent becomes products, whose gradient is exact at zero."""
    if is_known(exponent) and exponent.size == 1 and jnp.ndim(x) >= exponent.ndim:
        value = float(exponent.reshape(()))
        if value == 0.5 and is_float(x):
            return jnp.sqrt(x)
        if value.is_integer() and abs(value) <= 8 and (is_float(x) or value >= 0):
            return lax.integer_pow(jnp.asarray(x), int(value))
    if is_float(x):
        return jnp.power(x, jnp.asarray(exponent).astype(x.dtype))
    if is_float(exponent):
        return jnp.power(jnp.asarray(x).astype(exponent.dtype), exponent).astype(x.dtype)
    return jnp.power(x, jnp.asarray(exponent).astype(x.dtype))


@operator("Clip")
def clip(node, x, least=None, largest=None):
    """The upper bound wins if it is below the lower one. No gradient flows where a bound applies, as in PyTorch's relu6."""
    x = jnp.asarray(x)
    if least is None and largest is None:
        return x
    if not is_float(x):
        limits = jnp.iinfo(x.dtype)
        x = jnp.maximum(x, limits.min if least is None else least)
        return jnp.minimum(x, limits.max if largest is None else largest)
    low = jnp.asarray(-np.inf if least is None else least, x.dtype).reshape(())
    high = jnp.asarray(np.inf if largest is None else largest, x.dtype).reshape(())
    return lax.clamp(low, x, high)


@operator("CumSum", static=(1,))
def cumulative_sum(node, x, axis):
    return _cumulative(node, jnp.asarray(x), axis, lax.cumsum, 0)


@operator("CumProd", static=(1,))
def cumulative_product(node, x, axis):
    return _cumulative(node, jnp.asarray(x), axis, lax.cumprod, 1)


def _cumulative(node, x, axis, function, start):
    axis, reverse = int(axis.reshape(())) % x.ndim, bool(node.get("reverse", 0))
    result = function(x, axis, reverse)
    if not node.get("exclusive", 0):
        return result
    edge = jnp.full_like(lax.slice_in_dim(x, 0, 1, axis=axis), start)
    length = x.shape[axis]
    if reverse:
        return jnp.concatenate([lax.slice_in_dim(result, 1, length, axis=axis), edge], axis)
    return jnp.concatenate([edge, lax.slice_in_dim(result, 0, length - 1, axis=axis)], axis)


@operator("Det")
def determinant(node, x):
    return jnp.linalg.det(x)




@operator("IsNaN")
def is_nan(node, x):
    return jnp.isnan(x)


@operator("IsInf")
def is_infinite(node, x):
    positive, negative = node.get("detect_positive", 1), node.get("detect_negative", 1)
    x = jnp.asarray(x)
    return jnp.isinf(x) & (((x > 0) & bool(positive)) | ((x < 0) & bool(negative)))


@operator("Identity")
def identity(node, x):
    return x


@operator("Dropout", static=(1, 2))
def dropout(node, x, ratio=None, training=None):
    """Returns its input unchanged outside training."""
    rate = 0.5 if ratio is None else float(ratio.reshape(()))
    if training is not None and bool(training.reshape(())) and rate > 0:
        raise node.failure(f"dropout with ratio {rate:g} is in training mode, and its random numbers are not defined "
                           "by the file; export the model in evaluation mode")
    return x, jnp.ones(x.shape, bool)


def random_failure(node, *inputs):
    raise node.failure("its random numbers are not defined by the file; pass them to the model as an input")


for _name in ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial"):
    OPERATORS[_name] = Operator(random_failure, ())

