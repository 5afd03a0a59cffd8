"""Sequences of arrays, which are Python lists during evaluation: their lengths and positions must be known."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from stagewright.onnx.operators.shapes import pieces
from stagewright.onnx.registry import integers, operator


@operator("SequenceConstruct")
def sequence_construct(node, *inputs):
    return list(inputs)


@operator("SequenceEmpty")
def sequence_empty(node):
    return []


@operator("SequenceAt", static=(1,))
def sequence_at(node, sequence, place):
    return sequence[int(place.reshape(()))]


@operator("SequenceInsert", static=(2,))
def sequence_insert(node, sequence, value, place=None):
    made = list(sequence)
    made.insert(len(made) if place is None else int(place.reshape(())), value)
    return made


@operator("SequenceErase", static=(1,))
def sequence_erase(node, sequence, place=None):
    made = list(sequence)
    del made[-1 if place is None else int(place.reshape(()))]
    return made


@operator("SplitToSequence", static=(1,))
def split_to_sequence(node, x, sizes=None):
    """Splits into the given sizes; a single number is the size of every part but the last; without sizes, parts have one
    row."""
    axis = node.get("axis", 0)
    length = x.shape[axis]
    if sizes is not None and sizes.ndim == 1:
        return pieces(x, integers(sizes), axis)
    each = 1 if sizes is None else int(sizes.reshape(()))
    parts = pieces(x, [min(each, length - start) for start in range(0, length, each)], axis)
    return [jnp.squeeze(p, axis) for p in parts] if sizes is None and not node.get("keepdims", 1) else parts


@operator("ConcatFromSequence")
def concat_from_sequence(node, sequence):
    return (jnp.stack if node.get("new_axis", 0) else jnp.concatenate)(sequence, node.get("axis"))


@operator("Optional", "OptionalGetElement")
def optional_element(node, value):
    return value


@operator("OptionalHasElement")
def optional_has_element(node, value=None):
    return np.asarray(value is not None)
