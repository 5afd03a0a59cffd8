"""How a model's file splits its values over devices: the shardings of example arguments, and `with_sharding_constraint`.

A `NamedSharding` gives axes of a mesh for each dimension of an array. Tensor parallelism follows one axis, or two over a grid of
shards: those that split parameters, else those that split constrained values but not the batch. The option `shard_axis` names
others, and must if there are more than two. The number of devices in the mesh does not matter: a model can be imported on one
device and compiled for eight.
"""

from __future__ import annotations

import jax
from jax.extend import core as jex
from jax.interpreters import mlir

from stagewright.errors import ImportFailure

TARGET = "stagewright_split"

# A value that its constraint splits along `dim` (over `axis` of the two axes of a grid): the identity, kept as a call of TARGET up
# to linalg.
split_hint = jex.Primitive(TARGET)
split_hint.def_impl(lambda value, **_: value)
split_hint.def_abstract_eval(lambda aval, **_: aval)


mlir.register_lowering(split_hint, jax.ffi.ffi_lowering(TARGET))


def split_dims(shardings, signature, jaxpr, asked=None):
    """Sets `split_dim` of the parameters in `signature` that the axes of shards split: a number for one axis, a tuple with an entry
    for each of two, -1 without a split; with two axes also that of batches. Returns the axes: none, one, or two.

    `shardings` are those of the arguments, None for arguments without one; `jaxpr` is the traced step; `asked` the option.
    """
    arguments = [(argument, axes_of(sharding)) for argument, sharding in zip(signature.arguments, shardings)]
    constrained, meshes = constraints(jaxpr)
    order = [axis for sharding in shardings if is_named(sharding) for axis in sharding.mesh.axis_names] + meshes

    def names_in(layouts):
        return sorted({axis for dims in layouts for axis in dims}, key=order.index)
    parameters, batches = (names_in(dims for argument, dims in arguments if argument.role == role) for role in ("parameter", "batch"))
    values = names_in(constrained)
    if asked is not None:
        axes = _asked_axes(asked, {*parameters, *values}, set(batches))
    else:
        axes = tuple(parameters or (axis for axis in values if axis not in batches))
        axes = _default_axes(axes, "parameters" if parameters else "constrained values",
                             [*constrained, *(dims for _, dims in arguments)], signature.remarks)
    for argument, dims in arguments:
        if len(axes) == 1 and argument.role == "parameter":
            argument.split_dim = dims.get(axes[0])
        elif len(axes) == 2 and argument.role in ("parameter", "batch") and not dims.keys().isdisjoint(axes):
            if is_nested(dims, axes[::-1]):
                raise ImportFailure(f"argument '{argument.name}': {nested_wrongly(axes)}")
            argument.split_dim = tuple(dims.get(axis, -1) for axis in axes)
    return axes


def _default_axes(axes, what, layouts, remarks):
    """Of the `axes` of a mesh that split `what`: the only one, or two in the order in which `layouts` nest them, else
    none."""
    if len(axes) < 2:
        return axes
    nested = [order for order in (axes, axes[::-1]) if any(is_nested(dims, order) for dims in layouts)]
    axes = nested[0] if nested else axes
    if len(axes) == 2 and len(nested) < 2:
        remarks.append(f"{what} are split over the mesh axes {', '.join(axes)}: --tensor-parallel=ROWSxCOLUMNS follows both, in this "
                       "order; option 'shard_axis' selects the one that --tensor-parallel=N follows; without it, it follows none")
        return axes
    remarks.append(f"{what} are split over the mesh axes {', '.join(axes)}; option 'shard_axis' selects the one or two that "
                   "--tensor-parallel follows; without it, it follows none")
    return ()


def _asked_axes(asked, split, batches):
    """The axes that the option names: a text such as "x,y", or a list."""
    axes = tuple(axis.strip() for axis in asked.split(",")) if isinstance(asked, str) else tuple(asked)
    if len(axes) not in (1, 2) or len(set(axes)) != len(axes):
        raise ImportFailure(f"option 'shard_axis' names {len(axes)} axes, '{','.join(axes)}'; give one, or two different ones for a grid of "
                            "shards")
    known = split if len(axes) == 1 else split | batches
    what = "no parameter and no constrained value" if len(axes) == 1 else "no parameter, batch or constrained value"
    for axis in axes:
        if axis not in known:
            raise ImportFailure(f"option 'shard_axis': {what} is split over a mesh axis '{axis}'; those that split some are "
                                f"{', '.join(sorted(known)) or 'none'}")
    return axes


def is_nested(dims, axes):
    """Whether two `axes` split the same dimension in this order, the first one outside."""
    names = list(dims)
    return (len(axes) == 2 and all(axis in dims for axis in axes) and dims[axes[0]] == dims[axes[1]] and
            names.index(axes[0]) < names.index(axes[1]))


def nested_wrongly(axes):
    """What is wrong with a layout that splits a dimension by two axes of a grid in the other order."""
    first, second = axes
    return (f"a dimension is split over the mesh axes '{second}', then '{first}', but over the grid of shards first over '{first}'; give "
            f"option 'shard_axis' as '{second},{first}', name one axis, or write P(('{first}', '{second}'))")


def constraints(jaxpr):
    """The layouts in the constraints of a jaxpr and those inside it, as of axes_of, and the axes of their meshes, outermost first."""
    layouts, meshes = [], []
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "sharding_constraint" and is_named(eqn.params["sharding"]):
            layouts.append(axes_of(eqn.params["sharding"]))
            meshes += eqn.params["sharding"].mesh.axis_names
        if eqn.primitive.name == "call_exported":
            from stagewright.frontend import shardy
            found, axes = shardy.layouts_in(eqn.params["exported"])
            layouts, meshes = layouts + found, meshes + axes
        for inner in jax.tree.leaves(tuple(eqn.params.values()), is_leaf=_is_jaxpr):
            if _is_jaxpr(inner):
                found, axes = constraints(getattr(inner, "jaxpr", inner))
                layouts, meshes = layouts + found, meshes + axes
    return layouts, meshes


def hints_of(dims, axes):
    """The parameters of `split_hint` for the `axes` of shards that split a value: its dimension, and with two axes which one."""
    return [dict(dim=dims[axis]) | (dict(axis=number) if len(axes) > 1 else {}) for number, axis in enumerate(axes) if axis in dims]


def _is_jaxpr(value):
    return isinstance(value, (jex.Jaxpr, jex.ClosedJaxpr))


def is_named(sharding):
    return isinstance(sharding, jax.sharding.NamedSharding)


def axes_of(sharding):
    """The dimension that each mesh axis splits; axes of one dimension are in their order, outermost first."""
    if not is_named(sharding):
        return {}
    entries = [entry if isinstance(entry, tuple) else (entry,) for entry in sharding.spec]
    return {axis: dim for dim, axes in enumerate(entries) for axis in axes if isinstance(axis, str)}
