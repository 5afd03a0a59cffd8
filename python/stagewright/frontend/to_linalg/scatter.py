"""A scatter as loops over its positions: read the index, test it, combine one window, write it back in place.

Updates with an index outside the operand are dropped, as StableHLO specifies. The loops run in the order of the positions, so
results depend only on the input.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo

from stagewright.errors import ImportFailure
from stagewright.frontend.to_linalg.build import described

FLOAT = {"stablehlo.add": "addf", "stablehlo.multiply": "mulf", "stablehlo.maximum": "maximumf",
         "stablehlo.minimum": "minimumf"}
INTEGER = {"stablehlo.add": "addi", "stablehlo.multiply": "muli", "stablehlo.maximum": "maxsi",
           "stablehlo.minimum": "minsi", "stablehlo.or": "ori", "stablehlo.and": "andi"}


def _combiner(op):
    """The arithmetic operation of the region, or None if the update replaces the old value."""
    block = op.regions[0].blocks[0]
    body = [o.operation for o in block.operations]
    if len(body) == 1 and body[0].operands[0] == block.arguments[1]:
        return None
    element = ir.RankedTensorType(op.operands[0].type).element_type
    table = INTEGER if isinstance(element, ir.IntegerType) else FLOAT
    if len(body) != 2 or body[0].name not in table:
        raise ImportFailure(described("stablehlo.scatter with a custom update function", op.location))
    return "arith." + table[body[0].name]


class _Text:
    def __init__(self):
        self.lines, self.count = [], 0

    def value(self, text):
        self.count += 1
        self.lines.append(f"%v{self.count} = {text}")
        return f"%v{self.count}"


def _function(op):
    """The text of a function (operand, indices, updates) -> result."""
    numbers = _stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    operand, indices, updates = (ir.RankedTensorType(v.type) for v in op.operands)
    combiner, element = _combiner(op), operand.element_type
    shape, window_dims = list(operand.shape), list(numbers.update_window_dims)
    gone = [*numbers.inserted_window_dims, *numbers.input_batching_dims]
    sizes = iter(updates.shape[d] for d in window_dims)
    window = [1 if d in gone else next(sizes) for d in range(operand.rank)]
    reduced = [window[d] for d in range(operand.rank) if d not in gone]
    scatter_dims = [d for d in range(updates.rank) if d not in window_dims]
    vector_dim = numbers.index_vector_dim
    index_dims = [d for d in range(indices.rank) if d != vector_dim]

    t = _Text()
    bounds = dict.fromkeys([0, 1, *(updates.shape[d] for d in scatter_dims), *shape])
    limits = {n - w for n, w in zip(shape, window)}
    names = {n: t.value(f"arith.constant {n} : index") for n in dict.fromkeys([*bounds, *limits])}
    carried, opening = "%operand", []
    position = {}
    for n, d in enumerate(scatter_dims):
        position[d] = f"%i{n}"
        t.lines.append(f"%loop{n} = scf.for %i{n} = {names[0]} to {names[updates.shape[d]]} step {names[1]} "
                       f"iter_args(%t{n} = {carried}) -> ({operand}) {{")
        opening.append(f"%loop{n}")
        carried = f"%t{n}"

    at_indices = {d: position[s] for d, s in zip(index_dims, scatter_dims)}
    start = [names[0]] * operand.rank
    inside = None
    for k, dim in enumerate(numbers.scattered_dims_to_operand_dims):
        where = [at_indices.get(d, names[k] if k in names else None) for d in range(indices.rank)]
        if None in where:
            where[vector_dim] = t.value(f"arith.constant {k} : index")
        raw = t.value(f"tensor.extract %indices[{', '.join(where)}] : {indices}")
        start[dim] = t.value(f"arith.index_cast {raw} : {indices.element_type} to index")
        low = t.value(f"arith.cmpi sge, {start[dim]}, {names[0]} : index")
        high = t.value(f"arith.cmpi sle, {start[dim]}, {names[shape[dim] - window[dim]]} : index")
        both = t.value(f"arith.andi {low}, {high} : i1")
        inside = both if inside is None else t.value(f"arith.andi {inside}, {both} : i1")
    for batch, d in zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims):
        start[batch] = at_indices[d]

    if inside:
        t.lines.append(f"%kept = scf.if {inside} -> ({operand}) {{")
    if not reduced:
        spots = ", ".join(start)
        at_update = ", ".join(position[d] for d in range(updates.rank))
        new = t.value(f"tensor.extract %updates[{at_update}] : {updates}")
        if combiner:
            old = t.value(f"tensor.extract {carried}[{spots}] : {operand}")
            new = t.value(f"{combiner} {old}, {new} : {element}")
        done = t.value(f"tensor.insert {new} into {carried}[{spots}] : {operand}")
    else:
        piece = ir.RankedTensorType.get(reduced, element)
        update_starts = ", ".join(position.get(d, "0") for d in range(updates.rank))
        update_sizes = ", ".join("1" if d in position else str(updates.shape[d]) for d in range(updates.rank))
        ones = ", ".join(["1"] * updates.rank)
        new = t.value(f"tensor.extract_slice %updates[{update_starts}] [{update_sizes}] [{ones}] : "
                      f"{updates} to {piece}")
        place = (f"[{', '.join(start)}] [{', '.join(map(str, window))}] [{', '.join(['1'] * operand.rank)}]")
        if combiner:
            old = t.value(f"tensor.extract_slice {carried}{place} : {operand} to {piece}")
            dims = ", ".join(f"d{i}" for i in range(len(reduced)))
            identity = f"affine_map<({dims}) -> ({dims})>"
            kinds = ", ".join(['"parallel"'] * len(reduced))
            new = t.value(
                f"linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = [{kinds}]}} "
                f"ins({new} : {piece}) outs({old} : {piece}) {{\n^bb0(%u: {element}, %o: {element}):\n"
                f"%s = {combiner} %o, %u : {element}\nlinalg.yield %s : {element}\n}} -> {piece}")
        done = t.value(f"tensor.insert_slice {new} into {carried}{place} : {piece} into {operand}")
    if inside:
        t.lines.append(f"scf.yield {done} : {operand}\n}} else {{\nscf.yield {carried} : {operand}\n}}")
        done = "%kept"
    for name in reversed(opening):
        t.lines.append(f"scf.yield {done} : {operand}\n}}")
        done = name
    body = "\n".join(t.lines)
    return (f"func.func @scatter(%operand: {operand}, %indices: {indices}, %updates: {updates}) -> {operand} {{\n"
            f"{body}\nreturn {done} : {operand}\n}}")


def expand_scatter(op):
    if len(op.results) != 1:
        raise ImportFailure(described("stablehlo.scatter of several operands", op.location))
    with op.location:
        template = ir.Module.parse(_function(op))
    function = template.body.operations[0]
    block = function.regions[0].blocks[0]
    for argument, value in zip(block.arguments, op.operands):
        argument.replace_all_uses_with(value)
    operations = [o.operation for o in block.operations]
    ended = operations.pop()
    result = ended.operands[0]
    ended.erase()
    for operation in operations:
        operation.move_before(op)
        _relocate(operation, op.location)
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _relocate(operation, location):
    """Gives the template's operations the location and scope of the scatter that they replace."""
    def visit(inner):
        inner.location = location
        return ir.WalkResult.ADVANCE
    operation.walk(visit)
