"""Inlines calls and drops hints to XLA.

Rematerialisation (`jax.checkpoint`) is such a hint: the compiler itself chooses between storing and recomputing, by bytes and
flops, so the barrier must not hide equal values from it.
"""

from __future__ import annotations

import jax.numpy as jnp

from stagewright.frontend.evaluate import rule
from stagewright.frontend.rows import Lazy, to_array
from stagewright.frontend.shardings import axes_of, hints_of, is_nested, nested_wrongly, split_hint


@rule("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "remat2", "checkpoint",
      "custom_lin")
def inline(evaluator, eqn, values):
    body = eqn.params.get("jaxpr") or eqn.params.get("call_jaxpr") or eqn.params.get("fun_jaxpr")
    if hasattr(body, "consts"):
        return evaluator.run(body.jaxpr, body.consts, values)
    return evaluator.run(body, (), values)


@rule("optimization_barrier", "copy", "copy_p", "name", "device_put", "stop_gradient", "reshard",
      folded=False)
def identity(_evaluator, _eqn, values):
    return values


@rule("sharding_constraint", folded=False)
def constrained(evaluator, eqn, values):
    """Keeps the constraint as hints if the axes of the shards split the value."""
    dims, axes, value = axes_of(eqn.params["sharding"]), evaluator.options.shard_axes, values[0]
    if is_nested(dims, axes[::-1]):
        raise evaluator.failure(eqn, nested_wrongly(axes))
    hints = hints_of(dims, axes)
    if not jnp.issubdtype(eqn.invars[0].aval.dtype, jnp.floating):
        return values

    def hinted(array, rows=0):
        for hint in hints:
            array = split_hint.bind(array, **hint | dict(dim=hint["dim"] - rows))
        return array
    if not isinstance(value, Lazy):
        return [hinted(to_array(value))] if hints else values
    hints = [hint for hint in hints if hint["dim"] > 0]  # the rows of a stack: the planner decides where each is
    if not hints:
        return values
    return [Lazy(value.shape, value.dtype, lambda i: hinted(to_array(value.row(i)), rows=1), lambda: hinted(value.whole()),
                 value.origin)]


@rule("debug_print", "debug_callback", "debug_nans", folded=False)
def unheard(evaluator, eqn, _values):
    evaluator.remark(f"'{eqn.primitive.name}' is left out; a compiled step calls no Python")
    return []


@rule("cond")
def select_branch(evaluator, eqn, values):
    """A branch known at import is inlined; otherwise all branches are computed, as they are pure, and the result is
    selected."""
    from jax import lax
    from stagewright.frontend.evaluate import is_known

    index, operands, branches = values[0], values[1:], eqn.params["branches"]
    if is_known(index):
        branch = branches[min(max(int(index), 0), len(branches) - 1)]
        return evaluator.run(branch.jaxpr, branch.consts, operands)
    results = [evaluator.run(b.jaxpr, b.consts, operands) for b in branches]
    index = lax.clamp(0, to_array(index).astype("int32"), len(branches) - 1)
    chosen = [to_array(r) for r in results[0]]
    for number, branch in enumerate(results[1:], 1):
        chosen = [lax.select(lax.broadcast(lax.eq(index, number), r.shape), to_array(r), c)
                  for r, c in zip(map(to_array, branch), chosen)]
    return chosen
