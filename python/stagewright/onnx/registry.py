"""The table of ONNX operators, and the node that an operator's function is called with.

An operator is a function `(node, *inputs)` that returns its output, or a tuple of outputs. An input is

- a numpy array: a known value, which depends on no argument of the step (constants, shapes, results of these),
- a JAX array or tracer: everything else,
- a list of these: an ONNX sequence,
- None: an omitted optional input.
"""

from __future__ import annotations

import jax
import numpy as np
import onnx

from stagewright.errors import ImportFailure

OLDEST, NEWEST = 13, 28  # opsets whose operator semantics are implemented here

OPERATORS = {}


class Operator:
    """An operator's function, and the positions of inputs that must be known."""

    def __init__(self, function, static):
        self.function, self.static = function, frozenset(static)


def operator(*names, static=()):
    """Registers a function for operators of the domain ai.onnx."""

    def register(function):
        for name in names:
            OPERATORS[name] = Operator(function, static)
        return function

    return register


class Node:
    """A node of the graph. `place` is the file, for messages; `opset` the version of its operators."""

    def __init__(self, proto, opset, place, evaluation=None):
        self.proto, self.opset, self.place, self.evaluation = proto, opset, place, evaluation
        self.op_type, self.name = proto.op_type, node_name(proto)
        self.attributes = {a.name: a for a in proto.attribute}

    def get(self, name, default=None):
        """The value of an attribute, or the default: numbers, lists, strings, numpy arrays, graphs."""
        attribute = self.attributes.get(name)
        if attribute is None:
            return default
        value = onnx.helper.get_attribute_value(attribute)
        if isinstance(value, bytes):
            return value.decode()
        if isinstance(value, onnx.TensorProto):
            return onnx.numpy_helper.to_array(value)
        if attribute.type == onnx.AttributeProto.STRINGS:
            return [item.decode() for item in value]
        return list(value) if attribute.type in (onnx.AttributeProto.INTS, onnx.AttributeProto.FLOATS) else value

    def output(self, index):
        """Whether the node has an output at a position; an omitted optional one has no name."""
        return index < len(self.proto.output) and bool(self.proto.output[index])

    def failure(self, reason):
        return ImportFailure(f"{self.place}: node '{self.name}' ({self.op_type}): {reason}")


def node_name(proto):
    """The node's name, or, as names are optional, that of its first output."""
    return proto.name or next((f"-> {name}" for name in proto.output if name), "without a name")


def is_known(value):
    return value is None or isinstance(value, (np.ndarray, np.generic)) or \
        isinstance(value, list) and all(map(is_known, value))


def jax_type(number):
    """The JAX type for an ONNX type: 64-bit types become 32-bit ones unless jax_enable_x64 is set."""
    return jax.dtypes.canonicalize_dtype(onnx.helper.tensor_dtype_to_np_dtype(number))


def is_float(value):
    return jax.dtypes.issubdtype(value.dtype, np.floating)


def integers(value):
    """A known tensor as a list of Python integers."""
    return [int(item) for item in np.asarray(value).reshape(-1)]
