"""Loops that are not unrolled: one body in the program instead of one for each iteration.

A `while` whose end depends on an argument cannot be unrolled; a scan of many iterations with a small body is cheaper as a loop.
The body carries only arrays: a scan writes its rows in place, one after the other.
"""

from __future__ import annotations

import jax
import numpy as np
from jax import lax
from jax.extend import source_info_util

from stagewright.frontend.rows import to_array

# A scan is kept if unrolling gives more equations than this and its body is at most SMALL_BODY: 600 iterations of 5 equations
# took 22 s to compile unrolled. A heavier body is a layer, or as much work as one.
MOST_UNROLLED = 2048
SMALL_BODY = 128


def size(jaxpr):
    """The number of equations, including those of called functions."""
    inner = [getattr(p, "jaxpr", p) for eqn in jaxpr.eqns for p in eqn.params.values()]
    return len(jaxpr.eqns) + sum(size(p) for p in inner if hasattr(p, "eqns"))


def is_worth_keeping(jaxpr, length, carried):
    equations = size(jaxpr)
    plain = all(_is_plain(v.aval.dtype) for v in (*jaxpr.invars, *jaxpr.outvars))
    return length > 1 and equations <= SMALL_BODY and equations * length > MOST_UNROLLED and plain and carried


def _is_plain(dtype):
    return not jax.dtypes.issubdtype(dtype, jax.dtypes.extended) and not jax.dtypes.issubdtype(dtype, np.unsignedinteger)


def refused_types(carry):
    """The first carried type that a kept loop does not support."""
    return next((v.dtype for v in carry if not _is_plain(v.dtype)), None)


def inside_loop(evaluator, function):
    """A function traced as the body of a loop: its scopes start empty, because JAX prepends the loop's scope."""
    def run(*values):
        stack, prefix = evaluator.stack, evaluator.prefix
        evaluator.stack = evaluator.prefix = source_info_util.new_name_stack()
        try:
            return function(*values)
        finally:
            evaluator.stack, evaluator.prefix = stack, prefix
    return run


def keep_while(evaluator, cond, body, cond_consts, body_consts, carry):
    cond_consts, body_consts, carry = (list(map(to_array, values)) for values in (cond_consts, body_consts, carry))

    def going(values):
        return to_array(evaluator.run(cond.jaxpr, cond.consts, [*cond_consts, *values])[0])

    def step(values):
        return tuple(map(to_array, evaluator.run(body.jaxpr, body.consts, [*body_consts, *values])))
    return list(lax.while_loop(inside_loop(evaluator, going), inside_loop(evaluator, step), tuple(carry)))


def keep_scan(evaluator, eqn, consts, carry, xs):
    p = eqn.params
    body, length, count = p["jaxpr"], p["length"], p["num_carry"]
    consts, carry, xs = (list(map(to_array, values)) for values in (consts, carry, xs))
    stacks = [lax.full(var.aval.shape, 0, var.aval.dtype) for var in eqn.outvars[count:]]

    def step(state):
        i, carry, stacks = state
        at = lax.sub(np.int32(length - 1), i) if p["reverse"] else i
        rows = [lax.squeeze(lax.dynamic_slice(x, _place(at, x.ndim), (1, *x.shape[1:]), allow_negative_indices=False), (0,))
                for x in xs]
        results = list(map(to_array, evaluator.run(body.jaxpr, body.consts, [*consts, *carry, *rows])))
        written = [lax.dynamic_update_slice(stack, lax.expand_dims(row, (0,)), _place(at, stack.ndim),
                                            allow_negative_indices=False)
                   for stack, row in zip(stacks, results[count:])]
        return lax.add(i, np.int32(1)), results[:count], written
    _, carry, stacks = lax.while_loop(lambda state: lax.lt(state[0], np.int32(length)), inside_loop(evaluator, step),
                                      (np.int32(0), carry, stacks))
    return [*carry, *stacks]


def _place(row, rank):
    return [row, *[np.int32(0)] * (rank - 1)]
