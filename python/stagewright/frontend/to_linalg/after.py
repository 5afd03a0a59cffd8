"""Rewrites of linalg after the legalization: slices as single operations, names, roles; and the final check."""

from __future__ import annotations

from torch_mlir import ir

from stagewright.errors import ImportFailure
from stagewright.frontend.to_linalg.build import create, described

DIALECTS = {"builtin", "func", "linalg", "tensor", "arith", "math", "scf"}
HINT = "stagewright_split"  # the call that shardings.py makes


def keep_hints(module):
    """Replaces calls that keep sharding constraints by `pipeline.split_hint`, those inside of loops by their operand."""
    calls = []

    def collect(op):
        op = op.operation
        if op.name == "stablehlo.custom_call" and ir.StringAttr(op.attributes["call_target_name"]).value == HINT:
            calls.append(op)
        return ir.WalkResult.ADVANCE
    module.operation.walk(collect)
    for op in calls:
        value = op.operands[0]
        if op.parent.name == "func.func":
            with ir.InsertionPoint(op), op.location:
                value = create("pipeline.split_hint", [value.type], [value],
                               **{each.name: each.attr for each in ir.DictAttr(op.attributes["mhlo.backend_config"])})
        op.results[0].replace_all_uses_with(value)
        op.erase()


def check(module):
    """Checks that the compiler supports every operation; the error names the first that it does not."""
    def visit(op):
        name = op.operation.name
        if name == "builtin.unrealized_conversion_cast":
            raise ImportFailure(described(next(iter(op.operation.operands)).owner.name, op.operation.location))
        if name == "stablehlo.custom_call":
            name += f" @{ir.StringAttr(op.operation.attributes['call_target_name']).value}"
        if name.split(".")[0] not in DIALECTS and name != "pipeline.split_hint":
            raise ImportFailure(described(name, op.operation.location))
        return ir.WalkResult.ADVANCE
    found = []

    def safe(op):
        try:
            return visit(op)
        except ImportFailure as failure:
            found.append(failure)
            return ir.WalkResult.INTERRUPT
    module.operation.walk(safe)
    if found:
        raise found[0]


def rewrite(module, name, attributes):
    step = [op for op in module.body.operations if op.operation.name == "func.func"]
    main = next(op.operation for op in step if ir.StringAttr(op.operation.attributes["sym_name"]).value == "main")
    main.attributes["sym_name"] = ir.StringAttr.get(name)
    if "sym_visibility" in main.attributes:
        del main.attributes["sym_visibility"]
    _reduce_ranks(main)
    _annotate(module, main, attributes)


def _array(attribute):
    return list(ir.DenseI64ArrayAttr(attribute))


def _drops_units(long, short):
    """Whether the longer shape is the shorter one with unit dimensions inserted."""
    rest = list(short)
    for n in long:
        if rest and n == rest[0]:
            rest.pop(0)
        elif n != 1:
            return False
    return not rest


def _reduce_ranks(main):
    """extract_slice + collapse_shape -> extract_slice, expand_shape + insert_slice -> insert_slice."""
    block = main.regions[0].blocks[0]
    for op in [o.operation for o in block.operations]:
        if op.name == "tensor.collapse_shape":
            source = op.operands[0].owner
            if not isinstance(source, ir.Operation) and not hasattr(source, "operation"):
                continue
            source = source.operation if hasattr(source, "operation") else source
            if source.name != "tensor.extract_slice":
                continue
            result = ir.RankedTensorType(op.results[0].type)
            if not _drops_units(ir.RankedTensorType(source.results[0].type).shape, result.shape):
                continue
            with ir.InsertionPoint(op), op.location:
                new = ir.Operation.create("tensor.extract_slice", results=[result], operands=list(source.operands),
                                          attributes={a: source.attributes[a] for a in source.attributes})
            op.results[0].replace_all_uses_with(new.results[0])
            op.erase()
            if not list(source.results[0].uses):
                source.erase()
        elif op.name == "tensor.insert_slice":
            source = op.operands[0].owner
            source = getattr(source, "operation", source)
            if not isinstance(source, ir.Operation) or source.name != "tensor.expand_shape":
                continue
            inner = source.operands[0]
            if not _drops_units(ir.RankedTensorType(op.operands[0].type).shape, ir.RankedTensorType(inner.type).shape):
                continue
            op.operands[0] = inner
            if not list(source.results[0].uses):
                source.erase()


def _is_row(op, rank_shape):
    """The number of the row if a slice reads or writes exactly one row of dimension 0, else None."""
    offsets, sizes, strides = (_array(op.attributes["static_" + n]) for n in ("offsets", "sizes", "strides"))
    if sizes != [1, *rank_shape[1:]] or any(s != 1 for s in strides) or any(offsets[1:]) or offsets[0] < 0:
        return None
    return offsets[0]


def _read_rows(argument):
    """The rows read, if every use of the argument reads one row."""
    shape = list(ir.RankedTensorType(argument.type).shape)
    rows = set()
    for use in argument.uses:
        op = use.owner.operation
        if op.name != "tensor.extract_slice":
            return None
        row = _is_row(op, shape)
        if row is None:
            return None
        rows.add(row)
    return rows


def _written_rows(value):
    """The rows written by a chain of insert_slice that ends in a tensor.empty."""
    shape, rows = list(ir.RankedTensorType(value.type).shape), set()
    while True:
        owner = value.owner
        op = getattr(owner, "operation", owner)
        if not isinstance(op, ir.Operation):
            return None
        if op.name == "tensor.empty":
            return rows
        if op.name != "tensor.insert_slice":
            return None
        row = _is_row(op, shape)
        if row is None or row in rows:
            return None
        rows.add(row)
        value = op.operands[1]


def _slices(main, attributes):
    """{argument number: slices} for parameters that are only read, and whose gradients are only written, row by row."""
    block = main.regions[0].blocks[0]
    terminator = list(block.operations)[-1].operation
    gradients = {r["of"]: terminator.operands[i] for i, r in enumerate(attributes["results"]) if r["of"] is not None}
    sliced = {}
    for number, (argument, about) in enumerate(zip(block.arguments, attributes["arguments"])):
        if about["role"] != "parameter" or not attributes["slices"]:
            continue
        shape = ir.RankedTensorType(argument.type).shape
        if not shape or shape[0] < 2:
            continue
        every = set(range(shape[0]))
        if _read_rows(argument) != every or number in gradients and _written_rows(gradients[number]) != every:
            continue
        sliced[number] = shape[0]
        _normalize(argument, gradients.get(number))
    return sliced


def _normalize(argument, gradient):
    """Makes reads and writes of rows drop their unit dimension, so that one pattern matches them all."""
    type_ = ir.RankedTensorType(argument.type)
    row, unit = list(type_.shape[1:]), [1, *type_.shape[1:]]
    with ir.Location.unknown():
        reduced = ir.RankedTensorType.get(row, type_.element_type)
    i64 = ir.IntegerType.get_signless(64)
    groups = [[0, 1], *[[d] for d in range(2, len(unit))]] if row else []
    groups = ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, d) for d in g]) for g in groups])
    for use in list(argument.uses):
        op = use.owner.operation
        if ir.RankedTensorType(op.results[0].type).rank != len(unit):
            continue
        with ir.InsertionPoint(op), op.location:
            taken = ir.Operation.create("tensor.extract_slice", results=[reduced], operands=list(op.operands),
                                        attributes={a: op.attributes[a] for a in op.attributes}).results[0]
            whole = ir.Operation.create(
                "tensor.expand_shape", results=[op.results[0].type], operands=[taken],
                attributes=dict(reassociation=groups, static_output_shape=ir.DenseI64ArrayAttr.get(unit))).results[0]
        op.results[0].replace_all_uses_with(whole)
        op.erase()
    while gradient is not None:
        op = getattr(gradient.owner, "operation", gradient.owner)
        if op.name != "tensor.insert_slice":
            return
        if ir.RankedTensorType(op.operands[0].type).rank == len(unit):
            with ir.InsertionPoint(op), op.location:
                op.operands[0] = ir.Operation.create("tensor.collapse_shape", results=[reduced],
                                                     operands=[op.operands[0]],
                                                     attributes=dict(reassociation=groups)).results[0]
        gradient = op.operands[1]


def _annotate(module, main, attributes):
    i64 = ir.IntegerType.get_signless(64)

    def made(about, slices=None):
        table = {}
        for key in ("role", "name", "combine"):
            if about.get(key) is not None:
                table["pipeline." + key] = ir.StringAttr.get(about[key])
        for key in ("of", "batch_dim", "split_dim"):
            value = about.get(key)
            if value is not None:
                table["pipeline." + key] = (ir.DenseI64ArrayAttr.get(value) if isinstance(value, list) else
                                            ir.IntegerAttr.get(i64, value))
        if slices:
            table["pipeline.slices"] = ir.IntegerAttr.get(i64, slices)
        return ir.DictAttr.get(table)

    sliced = _slices(main, attributes)
    main.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [made(a, sliced.get(i)) for i, a in enumerate(attributes["arguments"])])
    main.attributes["res_attrs"] = ir.ArrayAttr.get([made(r, sliced.get(r["of"])) for r in attributes["results"]])
    for name in list(module.operation.attributes):
        name = getattr(name, "name", name)
        del module.operation.attributes[name]
    if attributes.get("source"):
        module.operation.attributes["pipeline.source"] = ir.StringAttr.get(attributes["source"])
    if attributes.get("microbatches"):
        module.operation.attributes["pipeline.microbatches"] = ir.IntegerAttr.get(i64, attributes["microbatches"])
    if attributes.get("cluster"):
        module.operation.attributes["pipeline.cluster"] = ir.StringAttr.get(attributes["cluster"])
