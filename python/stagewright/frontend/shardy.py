"""Layouts in the StableHLO of functions that `jax.export` exported with Shardy: read as hints for `--tensor-parallel`, then removed.

`sdy.sharding` of an argument or result of @main, and `sdy.sharding_constraint`, give axes of a mesh for each dimension of a value,
as `with_sharding_constraint` does. The number of devices in the mesh does not matter. Layouts that are more than that (parts of an
axis, sums that are still open, code for single devices) are refused with their place.
"""

from __future__ import annotations

import re

from jax.extend.mlir.dialects import sdy
from jax.interpreters.mlir import ir, make_ir_context

from stagewright.errors import ImportFailure
from stagewright.frontend.shardings import TARGET, hints_of, is_nested, nested_wrongly


def layouts_in(exported):
    """The layouts of the values of an exported function, and the axes of its meshes, outermost first."""
    layouts = []
    with make_ir_context():
        module = ir.Module.parse(exported.mlir_module())
        _each(module, lambda _value, dims, _location: layouts.append(dims))
        meshes = [sdy.MeshAttr(op.attributes["mesh"]) for op in _all(module) if op.name == "sdy.mesh"]
        return layouts, [sdy.MeshAxisAttr(axis).name for mesh in meshes for axis in mesh.axes]


def with_hints(exported, axes):
    """The function as StableHLO without Shardy: values that `axes` split are operands of the call that keeps hints."""
    with make_ir_context():
        module = ir.Module.parse(exported.mlir_module())

        def mark(value, dims, location):
            if is_nested(dims, axes[::-1]):
                raise ImportFailure(f"{_place(location)}: {nested_wrongly(axes)}")
            if isinstance(ir.RankedTensorType(value.type).element_type, ir.FloatType):
                for hint in hints_of(dims, axes):
                    value = _hint(value, hint)
        _each(module, mark)
        for op in _all(module):
            if op.name == "sdy.sharding_constraint":
                op.results[0].replace_all_uses_with(op.operands[0])
            if op.name.startswith("sdy."):
                op.erase()
        for op in _all(module):
            if op.name == "func.func":
                for attributes in ("arg_attrs", "res_attrs"):
                    if attributes in op.attributes:
                        op.attributes[attributes] = ir.ArrayAttr.get(
                            [ir.DictAttr.get({e.name: e.attr for e in own if e.name != "sdy.sharding"})
                             for own in map(ir.DictAttr, ir.ArrayAttr(op.attributes[attributes]))])
        return module.operation.get_asm(enable_debug_info=True)


def _all(module):
    found = []

    def visit(op):
        found.append(op.operation)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _each(module, visit):
    """Calls visit(value, {axis: dimension}, location) for every layout. Refuses what is no hint."""
    for op in _all(module):
        if op.name == "func.func":
            block = op.regions[0].blocks[0]
            results = list(block.operations)[-1].operation.operands
            for attributes, values in (("arg_attrs", block.arguments), ("res_attrs", results)):
                for value, own in zip(values, ir.ArrayAttr(op.attributes[attributes]) if attributes in op.attributes else ()):
                    if "sdy.sharding" in ir.DictAttr(own):
                        location = getattr(value, "location", op.location)
                        visit(value, _dims(ir.DictAttr(own)["sdy.sharding"], location), location)
        elif op.name == "sdy.sharding_constraint":
            visit(op.operands[0], _dims(op.attributes["sharding"], op.location), op.location)
        elif op.name.startswith("sdy.") and op.name != "sdy.mesh":
            raise ImportFailure(f"{_place(op.location)}: '{op.name}' is no hint that --tensor-parallel could follow; export the "
                                "function without shard_map and the like, or import it as a model of its own")


def _dims(attribute, location):
    """The dimension that each axis of a mesh splits."""
    sharding, dims = sdy.TensorShardingAttr(attribute), {}
    if len(sharding.unreduced_axes):
        raise ImportFailure(f"{_place(location)}: the layout {attribute} is a sum that is still open; sum it before it is constrained")
    for dim, own in enumerate(sharding.dimension_shardings):
        for axis in map(sdy.AxisRefAttr, sdy.DimensionShardingAttr(own).axes):
            if axis.sub_axis_info is not None:
                raise ImportFailure(f"{_place(location)}: the layout {attribute} splits by a part of the mesh axis '{axis.name}'; only "
                                    "whole axes can be followed, give the parts axes of their own")
            dims[axis.name] = dim
    return dims


def _place(location):
    """FILE:LINE of the innermost place in a location, else the name in it, such as that of an argument."""
    found = re.search(r'"([^"]+)":(\d+)', str(location))
    return f"{found[1]}:{found[2]}" if found else str(location).removeprefix('loc("').removesuffix('")')


def _hint(value, hint):
    """Replaces all uses of `value` by the result of the call that keeps a hint; returns that."""
    i32, i64 = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(64)
    owner = value.owner
    at = ir.InsertionPoint.at_block_begin(owner) if isinstance(owner, ir.Block) else ir.InsertionPoint.after(owner)
    with at, ir.Location.unknown() if isinstance(owner, ir.Block) else owner.location:
        kept = ir.Operation.create("stablehlo.custom_call", results=[value.type], operands=[value], attributes={
            "call_target_name": ir.StringAttr.get(TARGET), "api_version": ir.IntegerAttr.get(i32, 4),
            "mhlo.backend_config": ir.DictAttr.get({key: ir.IntegerAttr.get(i64, number) for key, number in hint.items()})})
    value.replace_all_uses_except(kept.results[0], kept)
    return kept.results[0]
