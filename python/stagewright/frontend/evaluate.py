"""Re-evaluates a JAX program: unrolls its loops and writes out operations that linalg does not have.

Every equation of the jaxpr is bound again with its own scope and source position, except those that a rule rewrites
(`stagewright.frontend.rules`): loops are unrolled, calls inlined, scatters and selections expressed in operations that linalg
has. Small values that depend on no argument (loop counters, static indices) are computed here, so the index into a stack of
layers is known when a slice is read.

The result is an ordinary JAX function: it can be lowered, and it can be run, which is how the rules are tested.
"""

from __future__ import annotations

import jax
import numpy as np
from jax import lax
from jax.extend import core as jex
from jax.extend import source_info_util

from stagewright.errors import ImportFailure
from stagewright.frontend.empty import without_empty
from stagewright.frontend.rows import is_plain, to_array

# Scalars, and integer arrays of at most this many elements, that need no argument (loop counters, index vectors) are computed
# at import. Others (masks) stay operations, so that no dense constant replaces a computation of the source.
FOLD_LIMIT = 4096

# Functions that LLVM cannot lower in short types: computed in float32, whose result is also exact in the short type.
WIDENED = ("round", "floor", "ceil", "rem")
SHORT = (jax.numpy.bfloat16, np.float16)

RULES = {}
# Never computed at import, even if all operands are known: their rules decide.
UNFOLDED = {"scan", "while", "cond", "jit"}


def rule(*names, folded=True):
    """Registers a function (evaluator, equation, values) -> list of results, or None to bind the equation unchanged."""

    def register(function):
        for name in names:
            RULES[name] = function
        if not folded:
            UNFOLDED.update(names)
        return function

    return register


class Options:
    """Options of the evaluator. `unroll_limit`: the maximum number of iterations of an unrolled loop. `shard_axes`: the mesh axes
    whose constraints are kept as hints, none, one or two."""

    def __init__(self, unroll_limit=4096, shard_axes=()):
        self.unroll_limit, self.shard_axes = unroll_limit, shard_axes


class Evaluator:
    """One evaluation of one program. `stack` is the scope of the current equation."""

    def __init__(self, options=None):
        self.options = options or Options()
        self.stack = source_info_util.new_name_stack()
        self.prefix = source_info_util.current_name_stack()
        self.traceback = None
        self.loops = {}  # numbering of layers per scope, see rules/loops.py
        self.remarks = {}  # in order, without duplicates
        self.jaxpr = None  # the one being evaluated

    def run(self, jaxpr, consts, args):
        """Evaluates an open jaxpr on values; returns the values of its results."""
        env = {}

        def read(atom):
            if isinstance(atom, jex.Literal):
                return np.asarray(atom.val, atom.aval.dtype) if is_plain(atom.aval.dtype) else atom.val
            return env[atom]

        env.update(zip(jaxpr.constvars, (_known(c) for c in consts)))
        env.update(zip(jaxpr.invars, args))
        outer, self.jaxpr = self.jaxpr, jaxpr
        for eqn in jaxpr.eqns:
            env.update(zip(eqn.outvars, self.equation(eqn, [read(a) for a in eqn.invars])))
        self.jaxpr = outer
        return [read(atom) for atom in jaxpr.outvars]

    def equation(self, eqn, values):
        outer, outer_traceback = self.stack, self.traceback
        self.stack = outer + eqn.source_info.name_stack
        self.traceback = eqn.source_info.traceback
        if outer_traceback is not None and not source_info_util.summarize(eqn.source_info):
            self.traceback = outer_traceback  # for an equation in a library function, report its caller
        try:
            with self.scope():
                if eqn.primitive.name != "jit" and any(map(_is_complex, eqn.outvars)):
                    raise self.complex_failure(eqn)
                results, values = without_empty(self, eqn, values)
                if results is not None:
                    return results
                if _foldable(eqn, values):
                    return self.fold(eqn, values)
                handler = RULES.get(eqn.primitive.name)
                results = handler(self, eqn, values) if handler else None
                return self.bind(eqn, values) if results is None else results
        except (ImportFailure, RecursionError):
            raise
        except NotImplementedError as error:
            raise self.failure(eqn, str(error)) from error
        finally:
            self.stack, self.traceback = outer, outer_traceback

    def scope(self, stack=None, traceback=None):
        return source_info_util.user_context(traceback or self.traceback,
                                             name_stack=self.prefix + (stack or self.stack))

    def bind(self, eqn, values):
        if eqn.primitive.name in WIDENED and eqn.outvars[0].aval.dtype in SHORT:
            values = [lax.convert_element_type(to_array(v), np.float32) for v in values]
            return [lax.convert_element_type(eqn.primitive.bind(*values, **eqn.params), eqn.outvars[0].aval.dtype)]
        results = eqn.primitive.bind(*map(to_array, values), **eqn.primitive.get_bind_params(eqn.params))
        return results if eqn.primitive.multiple_results else [results]

    def fold(self, eqn, values):
        with jax.ensure_compile_time_eval():
            return [_known(r) for r in self.bind(eqn, values)]

    def function(self, function, *values):
        """Evaluates a Python function of arrays the same way, equation by equation."""
        values = [to_array(v) for v in values]
        closed, tree = jax.make_jaxpr(function, return_shape=True)(*values)
        results = self.run(closed.jaxpr, closed.consts, values)
        return jax.tree.unflatten(jax.tree.structure(tree), results)

    def place(self):
        where = source_info_util.summarize(source_info_util.new_source_info().replace(traceback=self.traceback))
        return where or "unknown place"

    def remark(self, text):
        """Records a remark for the user about the current equation."""
        self.remarks[f"{self.place()}: {text}"] = None

    def failure(self, eqn, reason):
        scope = "/".join(filter(None, ("jit(step)", str(self.stack))))
        return ImportFailure(f"{self.place()}: operation '{eqn.primitive.name}' in scope '{scope}' cannot be "
                             f"converted: {reason}")

    def complex_failure(self, eqn):
        """The error for a complex number: it names the transform that follows a cast to complex, else the equation itself."""
        from stagewright.frontend.rules.refused import BEFORE, REASONS

        makers = [e for e in self.jaxpr.eqns[self.jaxpr.eqns.index(eqn):] if e.primitive.name in REASONS]
        if makers and (makers[0] is eqn or eqn.primitive.name == "convert_element_type"):
            return self.failure(makers[0], REASONS[makers[0].primitive.name])
        return self.failure(eqn, "complex numbers are not supported; compute with real and imaginary parts as two "
                                 f"arrays, or {BEFORE}")


def is_known(value) -> bool:
    return isinstance(value, (np.ndarray, np.generic))


def _is_complex(var) -> bool:
    return jax.dtypes.issubdtype(var.aval.dtype, np.complexfloating)


def _known(value):
    """A concrete array as numpy; random keys and everything else as they are."""
    if isinstance(value, jax.Array) and not isinstance(value, jax.core.Tracer) and is_plain(value.dtype):
        return np.asarray(value)
    return value


def _foldable(eqn, values) -> bool:
    if eqn.primitive.name in UNFOLDED or eqn.effects:
        return False
    if not all(is_known(v) for v in values):
        return False
    return all(is_plain(v.aval.dtype) and v.aval.size <= FOLD_LIMIT and
               (v.aval.ndim == 0 or np.issubdtype(v.aval.dtype, np.integer)) for v in eqn.outvars)
