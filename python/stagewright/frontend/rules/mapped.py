"""shard_map over one device: its body is inlined, and its collectives only change shapes. Collectives over a dimension named by
vmap are reductions."""

from __future__ import annotations

import functools

import jax.numpy as jnp
from jax import lax

from stagewright.frontend.evaluate import rule
from stagewright.frontend.rows import to_array


@rule("shard_map", folded=False)
def inline(evaluator, eqn, values):
    mesh = eqn.params["mesh"]
    if mesh.size != 1:
        axes = ", ".join(f"{name}={extent}" for name, extent in mesh.shape.items())
        raise evaluator.failure(eqn, f"its mesh ({axes}) has {mesh.size} devices; write the step for one device, with "
                                     "a mesh of one: stages and replicas are chosen by the compiler")
    return evaluator.run(eqn.params["jaxpr"], (), values)


# The reduction of a collective within one device's value.
WITHIN = {"psum": jnp.sum, "psum_invariant": jnp.sum, "pmax": jnp.max, "pmin": jnp.min}


@rule("psum", "psum_invariant", "pmax", "pmin", "pvary", "pcast", "pbroadcast", "all_gather", "all_gather_invariant",
      "reduce_scatter", "all_to_all", folded=False)
def collective(evaluator, eqn, values):
    # A dimension named by vmap is given as a number.
    if axes := tuple(axis for axis in eqn.params.get("axes", ()) if isinstance(axis, int)):
        function = functools.partial(WITHIN[eqn.primitive.name], axis=axes)
        values = [evaluator.function(function, value) for value in values]
    return [lax.reshape(to_array(v), var.aval.shape) if v.shape != var.aval.shape else v
            for v, var in zip(values, eqn.outvars)]


@rule("ppermute", folded=False)
def permute(_evaluator, eqn, values):
    return values if eqn.params["perm"] else [lax.full_like(to_array(v), 0) for v in values]


@rule("axis_index", folded=False)
def index(_evaluator, eqn, _values):
    aval = eqn.outvars[0].aval
    return [aval.dtype.type(0)]
