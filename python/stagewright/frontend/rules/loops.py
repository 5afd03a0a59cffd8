"""Loops with a known number of iterations are unrolled; long ones with small bodies are kept (rules/kept.py).

Each iteration of a scan over stacked layers has its own scope, `<scope>/layer<i>`, in the forward and in the backward, so the
planner sees layers. A scan is over stacked layers if one of its stacked inputs is a parameter (or its body reads a row of one
by number), or was written row by row by a scan over layers. In the backward of such a scan, iterations have the same numbers.
Two other such scans in the same scope are numbered consecutively: layer0..layer3, layer4..layer7. The iterations of all other
scans are called `step<i>`.
"""

from __future__ import annotations

import itertools

import jax
import jax.extend.core as jex
import numpy as np
from jax import lax

from stagewright.annotations import is_annotation
from stagewright.errors import ImportFailure
from stagewright.frontend.evaluate import is_known, rule
from stagewright.frontend.rows import Lazy, rows_of
from stagewright.frontend.rules.kept import is_worth_keeping, keep_scan, keep_while, refused_types


class Loop:
    """One forward scan: the names of its iterations."""

    def __init__(self, kind, first):
        self.kind, self.first = kind, first

    def scope(self, i):
        return f"{self.kind}{self.first + i}"


def _reads_rows(eqn, consts):
    """Whether the body of a scan reads single rows of a parameter that has one row per iteration."""
    stacked = {var for var, value in zip(eqn.params["jaxpr"].jaxpr.invars, consts)
               if isinstance(value, Lazy) and value.origin == "parameter" and value.shape[0] == eqn.params["length"]}
    return any(e.primitive.name in ("dynamic_slice", "gather") and not hasattr(e.invars[0], "val") and
               e.invars[0] in stacked for e in eqn.params["jaxpr"].jaxpr.eqns)


def _identify(evaluator, eqn, consts, xs):
    """The loop that a scan belongs to: that of its rows if it is a backward, else a new one."""
    origins = [x.origin for x in xs if isinstance(x, Lazy) and x.origin is not None]
    loops = [o for o in origins if isinstance(o, Loop)]
    is_backward = any(type(s).__name__ == "Transform" and s.name == "transpose" for s in evaluator.stack.stack)
    layered = [loop for loop in loops if loop.kind == "layer"]
    if is_backward and (layered or loops):
        return (layered or loops)[0]
    kind = "layer" if layered or "parameter" in origins or _reads_rows(eqn, consts) else "step"
    place = (kind, tuple(s.name for s in evaluator.stack.stack if type(s).__name__ == "Scope" and not is_annotation(s.name)))
    first = evaluator.loops.get(place, 0)
    evaluator.loops[place] = first + eqn.params["length"]
    return Loop(kind, first)


@rule("scan")
def unroll_scan(evaluator, eqn, values):
    p = eqn.params
    body, length = p["jaxpr"], p["length"]
    consts, carry, xs = (values[:p["num_consts"]], values[p["num_consts"]:p["num_consts"] + p["num_carry"]],
                         values[p["num_consts"] + p["num_carry"]:])
    loop = _identify(evaluator, eqn, consts, xs)
    if loop.kind == "step" and is_worth_keeping(body.jaxpr, length, not any(
            isinstance(x, Lazy) and isinstance(x.origin, Loop) for x in xs)):
        return keep_scan(evaluator, eqn, consts, carry, xs)
    if length > evaluator.options.unroll_limit:
        raise evaluator.failure(eqn, f"it has {length} iterations, and at most {evaluator.options.unroll_limit} are "
                                     "unrolled; raise the option unroll_limit")
    xs = [rows_of(x) for x in xs]
    written = [{} for _ in body.jaxpr.outvars[p["num_carry"]:]]
    outer = evaluator.stack
    for i in (range(length - 1, -1, -1) if p["reverse"] else range(length)):
        evaluator.stack = outer.extend(loop.scope(i))
        with evaluator.scope():
            rows = [x.row(i) for x in xs]
        results = evaluator.run(body.jaxpr, body.consts, [*consts, *carry, *rows])
        carry = results[:p["num_carry"]]
        for rows, row in zip(written, results[p["num_carry"]:]):
            rows[i] = row
    evaluator.stack = outer
    stacks = []
    for rows, var in zip(written, eqn.outvars[p["num_carry"]:]):
        stacks.append(Lazy(var.aval.shape, var.aval.dtype, rows.__getitem__, origin=loop) if length else
                      np.zeros(var.aval.shape, var.aval.dtype))
    return [*carry, *stacks]


@rule("while")
def unroll_while(evaluator, eqn, values):
    """Unrolled if the condition can be computed at import in every iteration."""
    p = eqn.params
    cond, body = p["cond_jaxpr"], p["body_jaxpr"]
    cond_consts, body_consts = values[:p["cond_nconsts"]], values[p["cond_nconsts"]:][:p["body_nconsts"]]
    carry = values[p["cond_nconsts"] + p["body_nconsts"]:]
    if cond.out_avals[0].shape:
        return evaluator.function(lambda *all: _batched_while(p, all), *values)
    outer = evaluator.stack
    for i in itertools.count():
        evaluator.stack = outer
        going, = evaluator.run(cond.jaxpr, cond.consts, [*cond_consts, *carry])
        if not is_known(going):
            return _dynamic(evaluator, eqn, cond_consts, body_consts, carry)
        if not going:
            return carry
        if i >= evaluator.options.unroll_limit:
            raise evaluator.failure(eqn, f"it has more than {i} iterations; raise the option unroll_limit")
        evaluator.stack = outer.extend(f"step{i}")
        carry = evaluator.run(body.jaxpr, body.consts, [*body_consts, *carry])


def _batched_while(params, values):
    """A loop in a vmap whose elements end at different times: it runs until all have ended, and those that have ended keep their
    values."""
    going, body = (jex.jaxpr_as_fun(params[name]) for name in ("cond_jaxpr", "body_jaxpr"))
    cond_consts, body_consts = values[:params["cond_nconsts"]], values[params["cond_nconsts"]:][:params["body_nconsts"]]

    def step(carry):
        goes, = going(*cond_consts, *carry)
        return [lax.select(lax.broadcast_in_dim(goes, new.shape, tuple(range(goes.ndim))), new, old)
                for new, old in zip(body(*body_consts, *carry), carry)]
    return lax.while_loop(lambda carry: going(*cond_consts, *carry)[0].any(), step,
                          list(values[params["cond_nconsts"] + params["body_nconsts"]:]))


def _dynamic(evaluator, eqn, cond_consts, body_consts, carry):
    """A loop whose end depends on an argument; no gradient passes through it. It stays a loop."""
    transforms = [s.name for s in evaluator.stack.stack if type(s).__name__ == "Transform"]
    if "jvp" in transforms or "transpose" in transforms:
        raise evaluator.failure(eqn, "its number of iterations depends on an argument, and a gradient is taken; use a loop "
                                     "with a static trip count (lax.scan, lax.fori_loop), or run it outside of the "
                                     "loss")
    if (dtype := refused_types(carry)) is not None:
        raise evaluator.failure(eqn, f"its number of iterations depends on an argument, and it carries a value of type "
                                     f"{dtype}; carry signed integers, or random numbers drawn before it")
    return keep_while(evaluator, eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"], cond_consts, body_consts, carry)
