"""How a model's file splits its values over devices: the shardings of example arguments, and `with_sharding_constraint`.

A `NamedSharding` gives axes of a mesh for each dimension of an array. Tensor parallelism uses one axis: the one that splits
parameters, else the one that splits constrained values but not the batch, or, if there are several, the one that the option
`shard_axis` names. The number of devices in the mesh does not matter: a model can be imported on one device and compiled for
eight.
"""

from __future__ import annotations

import jax
from jax.extend import core as jex
from jax.interpreters import mlir

from stagewright.errors import ImportFailure

TARGET = "stagewright_split"

# A value that its constraint splits along `dim`: the identity, kept as a call of TARGET up to linalg.
split_hint = jex.Primitive(TARGET)
split_hint.def_impl(lambda value, *, dim: value)
split_hint.def_abstract_eval(lambda aval, *, dim: aval)


mlir.register_lowering(split_hint, jax.ffi.ffi_lowering(TARGET))


def split_dims(shardings, signature, jaxpr, asked=None):
    """Sets `split_dim` of the parameters in `signature` that one axis splits. Returns the axis, None without one.

    `shardings` are those of the arguments, None for arguments without one; `jaxpr` is the traced step.
    """
    arguments = [(argument, axes_of(sharding)) for argument, sharding in zip(signature.arguments, shardings)]
    parameters = [(argument, axes) for argument, axes in arguments if argument.role == "parameter"]
    batch = {axis for argument, axes in arguments if argument.role == "batch" for axis in axes}
    names = sorted({axis for _, axes in parameters for axis in axes})
    values = constrained_axes(jaxpr)
    if asked is not None and asked not in {*names, *values}:
        found = ", ".join(sorted({*names, *values})) or "none"
        raise ImportFailure(f"option 'shard_axis': no parameter and no constrained value is split over a mesh axis '{asked}'; those "
                            f"that split some are {found}")
    what = "parameters" if names else "constrained values"
    names = names or sorted(values - batch)
    if asked is None and len(names) > 1:
        signature.remarks.append(f"{what} are split over the mesh axes {', '.join(names)}; option 'shard_axis' selects "
                                 "the one that --tensor-parallel follows; without it, it follows none")
        return None
    axis = asked or (names[0] if names else None)
    for argument, axes in parameters:
        argument.split_dim = axes.get(axis)
    return axis


def constrained_axes(jaxpr):
    """The mesh axes in the constraints of a jaxpr and those inside it."""
    axes = set()
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "sharding_constraint":
            axes |= axes_of(eqn.params["sharding"]).keys()
        if eqn.primitive.name == "call_exported":
            from stagewright.frontend import shardy
            axes |= shardy.axes_in(eqn.params["exported"])
        for inner in jax.tree.leaves(tuple(eqn.params.values()), is_leaf=_is_jaxpr):
            if _is_jaxpr(inner):
                axes |= constrained_axes(getattr(inner, "jaxpr", inner))
    return axes


def _is_jaxpr(value):
    return isinstance(value, (jex.Jaxpr, jex.ClosedJaxpr))


def axes_of(sharding):
    """The dimension that each mesh axis splits."""
    if not isinstance(sharding, jax.sharding.NamedSharding):
        return {}
    entries = [entry if isinstance(entry, tuple) else (entry,) for entry in sharding.spec]
    return {axis: dim for dim, axes in enumerate(entries) for axis in axes if isinstance(axis, str)}
