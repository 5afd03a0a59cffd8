"""Comparisons, logic and bits."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import onnx
from jax import lax

from stagewright.onnx.registry import OPERATORS, Operator, jax_type, operator

FUNCTIONS = {
    "Equal": jnp.equal, "Greater": jnp.greater, "GreaterOrEqual": jnp.greater_equal, "Less": jnp.less,
    "LessOrEqual": jnp.less_equal, "And": jnp.logical_and, "Or": jnp.logical_or, "Xor": jnp.logical_xor,
    "Not": jnp.logical_not, "BitwiseAnd": jnp.bitwise_and, "BitwiseOr": jnp.bitwise_or, "BitwiseXor": jnp.bitwise_xor,
    "BitwiseNot": jnp.bitwise_not, "Where": jnp.where,
}
for _name, _function in FUNCTIONS.items():
    OPERATORS[_name] = Operator(lambda node, *x, function=_function: function(*x), ())


@operator("BitShift")
def shift(node, x, amount):
    x, amount = jnp.broadcast_arrays(x, amount)
    if node.get("direction") == "LEFT":
        return lax.shift_left(x, amount)
    signed = jnp.issubdtype(x.dtype, np.signedinteger)
    return (lax.shift_right_arithmetic if signed else lax.shift_right_logical)(x, amount)


@operator("BitCast")
def bitcast(node, x):
    wanted, x = onnx.helper.tensor_dtype_to_np_dtype(node.get("to")), jnp.asarray(x)
    if wanted != jax_type(node.get("to")) or wanted.itemsize != x.dtype.itemsize:
        raise node.failure(f"the bits of {x.dtype} cannot be read as {wanted}, because 64-bit types are computed as "
                           "32-bit ones; export the model with types of 32 bits")
    return lax.bitcast_convert_type(x, wanted)
