"""Helpers that build operations through the generic interface of the bindings, and the texts of errors."""

from __future__ import annotations

import re

from torch_mlir import ir

WAY_OUT = "write it with other operations of JAX, or compute it before the step and pass the result as an argument"

_DYNAMIC = -(2**63)


def create(name, results, operands=(), **attributes):
    op = ir.Operation.create(name, results=results, operands=list(operands), attributes=attributes)
    return op.results[0]


def constant(number):
    return create("arith.constant", [ir.IndexType.get()], value=ir.IntegerAttr.get(ir.IndexType.get(), number))


def has_signless_elements(type_):
    element = ir.RankedTensorType(type_).element_type
    return not isinstance(element, ir.IntegerType) or element.is_signless


def _slice_attributes(offsets, sizes, segments):
    static = [o if isinstance(o, int) else _DYNAMIC for o in offsets]
    return dict(static_offsets=ir.DenseI64ArrayAttr.get(static), static_sizes=ir.DenseI64ArrayAttr.get(list(sizes)),
                static_strides=ir.DenseI64ArrayAttr.get([1] * len(static)),
                operandSegmentSizes=ir.DenseI32ArrayAttr.get(segments))


def insert_slice(part, into, offsets, sizes):
    dynamic = [o for o in offsets if not isinstance(o, int)]
    return create("tensor.insert_slice", [into.type], [part, into, *dynamic],
                  **_slice_attributes(offsets, sizes, [1, 1, len(dynamic), 0, 0]))


def extract_slice(source, offsets, sizes, result):
    dynamic = [o for o in offsets if not isinstance(o, int)]
    return create("tensor.extract_slice", [result], [source, *dynamic],
                  **_slice_attributes(offsets, sizes, [1, len(dynamic), 0, 0]))


def described(name, location):
    """The error for an operation: its name, its place in the source and its scope, read from its location."""
    text = str(location)
    scope = re.search(r'"([^"]*/[^"]*|jit\([^"]*)"\(', text) or re.search(r'"([^"]+)"(?!:\d)', text)
    place = re.search(r'"([^"]+)":(\d+)', text)
    where = f"{place.group(1)}:{place.group(2)}: " if place else ""
    inside = f" in scope '{scope.group(1)}'" if scope else ""
    return f"{where}operation '{name}'{inside} cannot be converted to linalg; {WAY_OUT}"


def failed(text, crashed=False):
    """The error from the output of a pass or of the parser: the first error, without its stack."""
    error = re.search(r'^(?:error: )?(?:loc\()?"?([^"\n]+?)"?:(\d+)(?::\d+)?(?: to :?[\d:]+)?\)?: error: (.+)$', text,
                      re.MULTILINE)
    current = re.search(r"see current operation: (.*)$", text, re.MULTILINE)
    current = current.group(1) if current else ""
    reason = error.group(3) if error else ""
    name = re.search(r"'(\w+\.[\w.]+)'", reason) or re.search(r'"?\b([a-z_]+\.[\w.]+)"?', current)
    if not name:
        last = next((line for line in reversed(text.strip().splitlines()) if line.strip()), "no message")
        reason = reason or ("the tool crashed" if crashed else last.strip())
        where = f"{error.group(1)}:{error.group(2)}: " if error else ""
        return f"{where}the conversion to linalg failed: {reason}; import the step in parts to find the operation"
    location = current[current.rfind(" loc("):] if " loc(" in current else ""
    if error and not re.search(r'"[^"]+":\d+', location):
        location += f' "{error.group(1)}":{error.group(2)}'
    return described(name.group(1), location) + f" ({reason})" * bool(reason)
