"""Conversions between types."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import onnx

from stagewright.onnx.registry import is_float, jax_type, operator


@operator("Cast")
def cast(node, x):
    return _convert(node, x, node.get("to"))


@operator("CastLike")
def cast_like(node, x, like):
    return _convert(node, x, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(like.dtype)))


def _convert(node, x, number):
    wanted = onnx.helper.tensor_dtype_to_np_dtype(number)
    if number == onnx.TensorProto.STRING or wanted.itemsize == 1 and wanted.kind not in "biu":
        raise node.failure(f"numbers of type {onnx.TensorProto.DataType.Name(number).lower()} are not supported; "
                           "export the model with float32 or bfloat16")
    made = jax_type(number)
    if made != wanted and node.evaluation is not None:
        node.evaluation.remark(f"{wanted} values are computed as {made} (first in node '{node.name}')")
    x = jnp.asarray(x)
    if jnp.issubdtype(made, np.integer) and is_float(x):
        x = jnp.trunc(x)
    return x.astype(made)
