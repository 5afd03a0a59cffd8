"""Elementwise functions that StableHLO has no operation for, each written as one linalg.generic.

They are calls: `stagewright.erf` and the like are operations of the math dialect; `stagewright.threefry2x32` is the hash behind
JAX's random numbers, with 20 rounds in one body, so that one kernel makes a mask of any size.
"""

from __future__ import annotations

from torch_mlir import ir

# Rotation distances of Threefry-2x32 and the constant of its key schedule (Salmon et al., "Parallel random numbers: as easy as
# 1, 2, 3", SC 2011).
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY = 0x1BD11BDA


def write_functions(module):
    calls = []

    def visit(op):
        if op.name == "stablehlo.custom_call":
            target = ir.StringAttr(op.operation.attributes["call_target_name"]).value
            if target.startswith("stagewright."):
                calls.append((op.operation, target.removeprefix("stagewright.")))
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit)
    for op, name in calls:
        with ir.InsertionPoint(op), op.location:
            results = _generic(op, _threefry if name == "threefry2x32" else
                               lambda values: [_scalar("math." + name, *values)])
        for old, new in zip(list(op.results), results):
            old.replace_all_uses_with(new)
        op.erase()


def _generic(op, body):
    """An elementwise linalg.generic over the operands; operands of rank 0 are broadcast."""
    types = [ir.RankedTensorType(r.type) for r in op.results]
    rank = types[0].rank
    identity, scalar = ir.AffineMap.get_identity(rank), ir.AffineMap.get(rank, 0, [])
    maps = [identity if ir.RankedTensorType(v.type).rank == rank else scalar for v in op.operands]
    targets = [ir.Operation.create("tensor.empty", results=[t]).results[0] for t in types]
    generic = ir.Operation.create(
        "linalg.generic", results=types, operands=[*op.operands, *targets], regions=1,
        attributes=dict(
            indexing_maps=ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in (*maps, *[identity] * len(types))]),
            iterator_types=ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * rank),
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([len(maps), len(types)])))
    elements = [ir.RankedTensorType(v.type).element_type for v in (*op.operands, *targets)]
    block = ir.Block.create_at_start(generic.regions[0], elements, [op.location] * len(elements))
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=body(list(block.arguments)[:len(maps)]))
    return generic.results


def _scalar(name, *operands):
    return ir.Operation.create(name, results=[operands[0].type], operands=list(operands)).results[0]


def _threefry(words):
    key0, key1, x0, x1 = words

    def number(value):
        value -= (value >> 31) << 32
        return ir.Operation.create("arith.constant", results=[key0.type],
                                   attributes=dict(value=ir.IntegerAttr.get(key0.type, value))).results[0]
    def add(a, b):
        return _scalar("arith.addi", a, b)
    def xor(a, b):
        return _scalar("arith.xori", a, b)
    keys = [key0, key1, xor(xor(key0, key1), number(PARITY))]
    x0, x1 = add(x0, key0), add(x1, key1)
    for group in range(5):
        for turn in ROTATIONS[group % 2]:
            x0 = add(x0, x1)
            turned = _scalar("arith.ori", _scalar("arith.shli", x1, number(turn)),
                             _scalar("arith.shrui", x1, number(32 - turn)))
            x1 = xor(turned, x0)
        x0 = add(x0, keys[(group + 1) % 3])
        x1 = add(x1, add(keys[(group + 2) % 3], number(group + 1)))
    return [x0, x1]
