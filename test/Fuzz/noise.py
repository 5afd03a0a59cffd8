"""Runs a JAX program with a small random relative error in the results of its inexact operations (INEXACT), except inside loops
and branches. Where the last bit of one of these decides a result, two compilers may differ. Values that are only moved, compared or chosen stay unchanged, so that the maximum of an array is
still one of its elements."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.extend import core

INEXACT = frozenset("""acos acosh asin asinh atan atan2 atanh cbrt conv_general_dilated cos cosh cumlogsumexp cumsum digamma div dot_general erf erf_inv
erfc exp exp2 expm1 lgamma log log1p logistic pow reduce_sum reduce_window_sum rsqrt sin sinh sqrt tan tanh""".split())


def _run(jaxpr, constants, arguments, disturb):
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *arguments]))

    def read(atom):
        return atom.val if isinstance(atom, core.Literal) else values[atom]

    for eqn in jaxpr.eqns:
        inputs = [read(atom) for atom in eqn.invars]
        inner = eqn.params.get("jaxpr") if eqn.primitive.name in ("pjit", "jit") else eqn.params.get("call_jaxpr")
        if isinstance(inner, core.ClosedJaxpr):
            results = _run(inner.jaxpr, inner.consts, inputs, disturb)
        else:
            results = eqn.primitive.bind(*inputs, **eqn.primitive.get_bind_params(eqn.params))
            results = list(results) if eqn.primitive.multiple_results else [results]
            if eqn.primitive.name in INEXACT:
                results = [disturb(result) for result in results]
        values.update(zip(eqn.outvars, results))
    return [read(atom) for atom in jaxpr.outvars]


def disturbed(function, rng, size):
    """`function` with a flat list of results and relative errors of up to `size` in its inexact operations."""
    def disturb(value):
        if not jnp.issubdtype(value.dtype, jnp.floating):
            return value
        return value * jnp.asarray(1 + size * rng.uniform(-1, 1, value.shape), value.dtype)

    def run(*arguments):
        closed = jax.make_jaxpr(function)(*arguments)
        return _run(closed.jaxpr, closed.consts, jax.tree.leaves(arguments), disturb)

    return run
