"""How a model's file splits its parameters over devices, from the shardings of the example arguments.

A `NamedSharding` gives axes of a mesh for each dimension of an array. Tensor parallelism uses one axis: the one that splits
parameters, or, if there are several, the one that the option `shard_axis` names. The number of devices in the mesh does not
matter: a model can be imported on one device and compiled for eight.
"""

from __future__ import annotations

import jax

from stagewright.errors import ImportFailure


def split_dims(shardings, signature, asked=None):
    """Sets `split_dim` of the parameters in `signature` that the axis `asked`, or the only one, splits.

    `shardings` are those of the arguments, None for arguments without one.
    """
    parameters = [(argument, axes_of(sharding)) for argument, sharding in zip(signature.arguments, shardings)
                  if argument.role == "parameter"]
    names = sorted({axis for _, axes in parameters for axis in axes})
    if asked is not None and asked not in names:
        raise ImportFailure(f"option 'shard_axis': no parameter is split over a mesh axis '{asked}'; those that split "
                            f"parameters are {', '.join(names) or 'none'}")
    if asked is None and len(names) > 1:
        signature.remarks.append(f"parameters are split over the mesh axes {', '.join(names)}; option 'shard_axis' says which "
                                 "of them --tensor-parallel follows, without it none")
    elif names:
        for argument, axes in parameters:
            argument.split_dim = axes.get(asked or names[0])


def axes_of(sharding):
    """The dimension that each mesh axis splits."""
    if not isinstance(sharding, jax.sharding.NamedSharding):
        return {}
    entries = [entry if isinstance(entry, tuple) else (entry,) for entry in sharding.spec]
    return {axis: dim for dim, axes in enumerate(entries) for axis in axes if isinstance(axis, str)}
