"""Whether results are right, without false alarms.

Most results differ from `jax.jit` only as two orders of a float32 sum do. The others are compared with the same program in
float64: our error may be MULTIPLE times the error of JAX's own float32 (or bfloat16) results, on the same inputs and on inputs
that differ in the last bit. If those results change strongly, the program's results depend on rounding and the verdict is
"unclear"; so it is if its float64 results change when every function has a small error (noise.py). The float64 program is
compiled without XLA's algebraic simplifier, which has a bug: it merges nested `dynamic_slice`s without clamping the inner start
(JAX 0.10.2)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from noise import disturbed

TIGHT = 1e-5          # of the largest element of a result
MULTIPLE = 12         # of JAX's own errors
SHORT_ERROR = 0.03    # relative, with bfloat16: XLA omits roundings that the program has, we do not
UNSTABLE = 0.02       # a larger relative change, from a change in the last bit, makes a program unclear
LAST_BIT = {False: 2.0**-22, True: 2.0**-7}  # relative changes of float32 and of bfloat16; half of it would change few numbers
PLAIN = {"xla_disable_hlo_passes": "algsimp"}
WIDE = ("F, H, I, B = jnp.float32, jnp.bfloat16,", "F, H, I, B = jnp.float64, jnp.float64,")


def _largest(array):
    return float(np.max(np.abs(array.astype(np.float64)), initial=0.0))


def differences(found, wanted):
    """A text for each result that is not within the tight tolerance."""
    problems = []
    for number, (ours, theirs) in enumerate(zip(found, wanted)):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            problems.append(f"result {number}: {ours.dtype}{ours.shape} is not {theirs.dtype}{theirs.shape}")
        elif theirs.dtype.kind in "iub":
            if (ours != theirs).any():
                problems.append(f"result {number}: {np.count_nonzero(ours != theirs)} of {ours.size} numbers differ")
        else:
            a, b = ours.astype(np.float64), theirs.astype(np.float64)
            error = _largest(a - b) if np.isfinite(a).all() else np.inf
            if not error <= TIGHT * _largest(b):
                problems.append(f"result {number} {theirs.dtype}{theirs.shape}: error {error:.3g} of {_largest(b):.3g}")
    if len(found) != len(wanted):
        problems.append(f"{len(found)} results are not {len(wanted)}")
    return problems


class Reference:
    """A program's results by JAX: in its own types, and in float64."""

    def __init__(self, text, evaluate):
        self.text, self.evaluate, self.functions = text, evaluate, {}

    def _program(self, wide):
        space = {}
        exec(compile(self.text.replace(*WIDE) if wide else self.text, "reference", "exec"), space)
        function, arguments = space["program"]()
        return function, jax.tree.structure(tuple(arguments))

    def _function(self, wide):
        if wide not in self.functions:
            function, tree = self._program(wide)
            self.functions[wide] = jax.jit(function, compiler_options=PLAIN if wide else None), tree
        return self.functions[wide]

    def disturbed(self, inputs, rng, size):
        """Float64 results with relative errors of up to `size` in inexact operations."""
        with jax.enable_x64(True):
            function, tree = self._program(True)
            return [np.asarray(r) for r in self.evaluate(disturbed(function, rng, size), tree, _widened(inputs))]

    def results(self, inputs, wide=False):
        """Results for inputs by position, which may have any floating type."""
        with jax.enable_x64(wide):
            function, tree = self._function(wide)
            if wide:
                inputs = _widened(inputs)
            return [np.asarray(r) for r in self.evaluate(function, tree, inputs)]


def _widened(inputs):
    return [jnp.asarray(np.asarray(a), jnp.float64) if jnp.issubdtype(a.dtype, jnp.floating) else a for a in inputs]


def nudged(inputs, rng, size):
    """The inputs with floats changed by a relative `size`."""
    changed = []
    for a in inputs:
        if jnp.issubdtype(a.dtype, jnp.floating):
            wide = np.asarray(a).astype(np.float64)
            changed.append((wide * (1 + size * rng.uniform(-1, 1, wide.shape))).astype(a.dtype))
        else:
            changed.append(a)
    return changed


def judge(found, wanted, inputs, reference, short):
    """(verdict, texts): "passed", "unclear" or "wrong"."""
    problems = differences(found, wanted)
    if not problems or len(found) != len(wanted) or any(" is not " in p for p in problems):
        return ("wrong" if problems else "passed"), problems
    rng = np.random.default_rng(1)
    exact = reference.results(inputs, wide=True)
    if not all(np.isfinite(e.astype(np.float64)).all() for e in exact):
        return "unclear", ["the reference is not finite"]
    errors = [[_error(w, e)] for w, e in zip(wanted, exact)]
    for _ in range(4):
        other = nudged(inputs, rng, LAST_BIT[short])
        wide = reference.results(other, wide=True)
        for number, (w, a, b) in enumerate(zip(reference.results(other), wide, exact)):
            errors[number] += [_error(w, a), _error(a, b)]
    problems, unclear = [], []
    whole = max(map(_largest, exact))
    for number, (ours, right, mistakes) in enumerate(zip(found, exact, errors)):
        error, size = _error(ours, right), _largest(right)
        if error <= TIGHT * size:
            continue
        if max(mistakes) > (0.5 if short else UNSTABLE) * size + 1e-7 * whole:
            unclear.append(f"result {number} changes by {max(mistakes):.3g} of {size:.3g} with the inputs' last bit")
            continue
        allowed = MULTIPLE * max(mistakes) + (SHORT_ERROR * size if short else TIGHT * size) + 1e-7 * whole
        if not error <= allowed:
            problems.append(f"result {number} {ours.dtype}{ours.shape}: error {error:.3g} of {size:.3g}; JAX's own is "
                            f"{max(mistakes):.3g}")
    if problems:
        for _ in range(8):
            changed = [_error(*pair) for pair in zip(reference.disturbed(inputs, rng, LAST_BIT[short]), exact)]
            if any(c > UNSTABLE * _largest(e) + 1e-7 * whole for c, e in zip(changed, exact)):
                return "unclear", ["the results change with the last bit of a function"]
    return ("wrong", problems) if problems else ("unclear", unclear) if unclear else ("passed", [])


def _error(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    return _largest(a - b) if np.isfinite(a).all() else np.inf
