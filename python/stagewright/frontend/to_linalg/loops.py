"""Converts a stablehlo.while to scf.for if it counts between constants, else to scf.while."""

from __future__ import annotations

from torch_mlir import ir

from stagewright.frontend.to_linalg.build import constant, create


def _maker(value):
    """The operation that defines a value; None for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else getattr(owner, "operation", owner)


def _number(value):
    """The value of a scalar constant, else None."""
    op = _maker(value)
    if op is None or op.name != "stablehlo.constant" or \
            not isinstance(ir.RankedTensorType(value.type).element_type, ir.IntegerType):
        return None
    numbers = ir.DenseIntElementsAttr(op.attributes["value"])
    return int(numbers[0]) if len(numbers) == 1 else None


def _argument(value):
    """The number of a value among its block's arguments, else None."""
    return ir.BlockArgument(value).arg_number if isinstance(value.owner, ir.Block) else None


def _counted(op):
    """(number of the counter among the arguments, first value, limit) of a loop that counts up by one, else None."""
    cond, body = (region.blocks[0] for region in op.regions)
    test = _maker(list(cond.operations)[-1].operation.operands[0])
    if test is None or test.name != "stablehlo.compare" or "LT" not in str(test.attributes["comparison_direction"]):
        return None
    at, limit = _argument(test.operands[0]), _number(test.operands[1])
    if at is None or limit is None:
        return None
    step, first = _maker(list(body.operations)[-1].operation.operands[at]), _number(op.operands[at])
    if first is None or step is None or step.name != "stablehlo.add" or _number(step.operands[1]) != 1 or \
            _argument(step.operands[0]) != at or step.operands[0].owner != body:
        return None
    return at, first, limit


def expand_while(op):
    counted = _counted(op)
    results = _for(op, *counted) if counted else _while(op)
    for old, new in zip(list(op.results), results):
        old.replace_all_uses_with(new)
    op.erase()


def _ended(block, name, operands):
    """Replaces the terminator of a block."""
    end = list(block.operations)[-1].operation
    with ir.InsertionPoint(end), end.location:
        ir.Operation.create(name, operands=operands(list(end.operands)))
    end.erase()


def _for(op, at, first, limit):
    others = [n for n in range(len(op.operands)) if n != at]
    with ir.InsertionPoint(op), op.location:
        bounds = [constant(first), constant(max(first, limit)), constant(1)]
        types = [op.operands[n].type for n in others]
        loop = ir.Operation.create("scf.for", results=types, operands=[*bounds, *(op.operands[n] for n in others)],
                                   regions=1)
        last = create("stablehlo.constant", [op.results[at].type], value=ir.DenseElementsAttr.get_splat(
            op.results[at].type, ir.IntegerAttr.get(ir.RankedTensorType(op.results[at].type).element_type,
                                                    max(first, limit))))
    old = op.regions[1].blocks[0]
    block = ir.Block.create_at_start(loop.regions[0], [ir.IndexType.get(), *types], [op.location] * (len(types) + 1))
    inner = iter(list(block.arguments)[1:])
    counter = ir.RankedTensorType(op.operands[at].type)
    with ir.InsertionPoint(block), op.location:
        number = create("arith.index_cast", [counter.element_type], [block.arguments[0]])
        number = create("tensor.from_elements", [counter], [number])
    for n, argument in enumerate(list(old.arguments)):
        argument.replace_all_uses_with(number if n == at else next(inner))
    moved = [o.operation for o in old.operations]
    for inner_op in moved[:-1]:
        _append(inner_op, block)
    operands = [moved[-1].operands[n] for n in others]
    with ir.InsertionPoint(block), op.location:
        ir.Operation.create("scf.yield", operands=operands)
    results = iter(list(loop.results))
    return [last if n == at else next(results) for n in range(len(op.operands))]


def _append(operation, block):
    end = list(block.operations)[-1].operation
    operation.move_after(end)


def _while(op):
    types = [v.type for v in op.operands]
    with ir.InsertionPoint(op), op.location:
        loop = ir.Operation.create("scf.while", results=types, operands=list(op.operands), regions=2)
    for old, new in zip(list(op.regions), loop.regions):
        old.blocks[0].append_to(new)
    before, after = (region.blocks[0] for region in loop.regions)
    boolean = ir.IntegerType.get_signless(1)
    _ended(before, "scf.condition", lambda ends: [create("tensor.extract", [boolean], ends), *before.arguments])
    _ended(after, "scf.yield", lambda ends: ends)
    return loop.results
