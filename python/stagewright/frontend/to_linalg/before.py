"""Rewrites of StableHLO before the legalization: operations that it does not convert, or that it expands to work per element.

`concatenate` becomes a chain of tensor.insert_slice into a tensor.empty, slices at run-time positions become
tensor.extract_slice and insert_slice, and `scatter` a loop over its positions that updates its operand in place.
"""

from __future__ import annotations

import re

from torch_mlir import ir

from stagewright.errors import ImportFailure
from stagewright.frontend.to_linalg.loops import expand_while
from stagewright.frontend.to_linalg.scatter import expand_scatter
from stagewright.frontend.to_linalg.build import constant, create, described, has_signless_elements, insert_slice, \
    extract_slice


# Functions of chlo that the math dialect has under the same name.
MATH = "acos|acosh|asin|asinh|atan|atanh|cosh|erf|erfc|sinh"


def readable(text):
    """The text without the chlo dialect, which the bindings cannot read.

    Elementwise functions become calls that functions.py turns into math operations. The evaluator's rules replace the other
    functions that they support; any that remain are refused here.
    """
    text = re.sub(r"chlo\.square (%\w+) : (tensor<[^>]*>) -> tensor<[^>]*>", r"stablehlo.multiply \1, \1 : \2", text)
    text = re.sub(rf"chlo\.({MATH}) (%\w+) : (tensor<[^>]*>) -> tensor<[^>]*>",
                  r"stablehlo.custom_call @stagewright.\1(\2) : (\3) -> \3", text)
    match = re.search(r"chlo\.(\w+).*?loc\((#loc\d*)\)", text)
    if match:
        raise ImportFailure(described("chlo." + match.group(1), _resolved(match.group(2), text)))
    return text


def _resolved(alias, text, depth=8):
    """The location behind an alias, with the aliases in it also resolved."""
    found = re.search(rf"^{alias} = (.*)$", text, re.MULTILINE)
    if not found or not depth:
        return "loc(unknown)"
    return re.sub(r"#loc\d*", lambda m: _resolved(m.group(0), text, depth - 1), found.group(1))


def rewrite(module):
    found = {}

    def visit(op):
        if op.name in REWRITES:
            found.setdefault(op.name, []).append(op.operation)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit)
    for name, operations in found.items():
        # Outer loops before inner ones (the walk is in post-order), and concatenations before their operands.
        for op in reversed(operations) if name in ("stablehlo.while", "stablehlo.concatenate") else operations:
            REWRITES[name](op)


def _replace(op, *values):
    for old, new in zip(op.results, values):
        old.replace_all_uses_with(new)
    op.erase()


def _joined(op, axis):
    """The operands of a concatenation. JAX splits a concatenation of more than sixteen arrays into several, some of which are
    operands of others."""
    for part in op.operands:
        source = getattr(part.owner, "operation", None)
        if source is not None and source.name == op.name and len(list(part.uses)) == 1 and \
                ir.IntegerAttr(source.attributes["dimension"]).value == axis:
            yield from _joined(source, axis)
        else:
            yield part


def _concatenate(op):
    result = op.results[0].type
    if not list(op.results[0].uses):  # already merged into another
        return op.erase()
    if not has_signless_elements(result):
        return
    axis = ir.IntegerAttr(op.attributes["dimension"]).value
    with ir.InsertionPoint(op), op.location:
        value, offsets = create("tensor.empty", [result]), [0] * result.rank
        for part in _joined(op, axis):
            shape = ir.RankedTensorType(part.type).shape
            if 0 in shape:
                continue
            value = insert_slice(part, value, offsets, shape)
            offsets[axis] += shape[axis]
    _replace(op, value)


def _starts(op, operands, shape, window):
    """Start indices as index values, clamped so that the window lies inside, as StableHLO specifies."""
    starts = []
    for operand, extent, size in zip(operands, shape, window):
        if extent == size:
            starts.append(0)
            continue
        width = ir.RankedTensorType(operand.type).element_type
        scalar = create("tensor.extract", [width], [operand])
        index = create("arith.index_cast", [ir.IndexType.get()], [scalar])
        index = create("arith.maxsi", [ir.IndexType.get()], [index, constant(0)])
        starts.append(create("arith.minsi", [ir.IndexType.get()], [index, constant(extent - size)]))
    return starts


def _dynamic_slice(op):
    operand, *indices = op.operands
    result = ir.RankedTensorType(op.results[0].type)
    if not has_signless_elements(result) or not all(has_signless_elements(i.type) for i in indices):
        return
    with ir.InsertionPoint(op), op.location:
        starts = _starts(op, indices, ir.RankedTensorType(operand.type).shape, result.shape)
        value = extract_slice(operand, starts, result.shape, result)
    _replace(op, value)


def _dynamic_update_slice(op):
    operand, update, *indices = op.operands
    result, window = ir.RankedTensorType(op.results[0].type), ir.RankedTensorType(update.type)
    if not has_signless_elements(result) or not all(has_signless_elements(i.type) for i in indices):
        return
    with ir.InsertionPoint(op), op.location:
        value = insert_slice(update, operand, _starts(op, indices, result.shape, window.shape), window.shape)
    _replace(op, value)


def _custom_call(op):
    """Replaces calls that only mark a sharding by their operand."""
    if ir.StringAttr(op.attributes["call_target_name"]).value == "Sharding":
        _replace(op, op.operands[0])


REWRITES = {
    "stablehlo.while": expand_while,
    "stablehlo.custom_call": _custom_call,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.dynamic_slice": _dynamic_slice,
    "stablehlo.dynamic_update_slice": _dynamic_update_slice,
    "stablehlo.scatter": expand_scatter,
}
