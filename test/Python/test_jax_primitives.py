"""JAX's own cases of its primitives: each is computed correctly, or refused with its reason. One case of each primitive is evaluated
after the rewriting of frontend/rules; the thorough tier also compiles twelve of each."""

import collections
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from native import compile_module
from stagewright import ImportFailure, import_jax
from stagewright.frontend.examples import stored
from stagewright.frontend.jax_step import Step
from tiers import thorough

harnesses = pytest.importorskip("jax._src.internal_test_util.test_harnesses", reason="this JAX has no cases")

UNSUPPORTED = re.compile("float64|int64|complex")
# Groups of cases that are refused; all others must be correct. `BELOW`: in the conversion to linalg.
REFUSED = re.compile("(bessel_i[01]e|igammac?|nextafter|regularized_incomplete_beta|qr|svd|eigh?|lu|fft|tridiagonal_solve|random_gamma"
                     "|conj|real|imag)_|cholesky_.*_(200|1000)_.*")
BELOW = re.compile("scatter_(mul|min|max)_.*shape_uint|custom_linear_solve")
# JAX leaves the order of equal elements open; the upper triangle of its factor; boolean sums of windows.
OPEN = re.compile("sort_.*isstable_False|cholesky_|select_and_scatter_add_.*shape_bool|approx_top_k_.*float16|.*associative_scan")
CASES = 12


def groups():
    """{primitive: cases of types that a step may have}."""
    found = collections.defaultdict(list)
    for case in harnesses.all_harnesses:
        if not UNSUPPORTED.search(f"{case.fullname} {np.dtype(case.dtype)}") and not OPEN.match(case.fullname):
            found[case.group_name].append(case)
    return {name: [cases[i] for i in np.unique(np.linspace(0, len(cases) - 1, CASES, dtype=int))] for name, cases in found.items()}


GROUPS = groups()


def expected(case):
    """Arguments, and JAX's results; None if JAX has no such case on a CPU."""
    arguments = [jnp.asarray(it) for it in case.dyn_args_maker(np.random.RandomState(0))]
    try:
        return arguments, [stored(it) for it in jax.tree.leaves(jax.jit(case.dyn_fun)(*arguments))]
    except NotImplementedError:
        return None


def constants(arguments):
    return {i: "constant" for i in range(len(arguments))}


def compare(name, found, wanted):
    assert len(found) == len(wanted), name
    for ours, theirs in zip(map(stored, found), wanted):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), name
        if np.issubdtype(theirs.dtype, np.integer) or theirs.dtype == np.bool_:
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
        else:
            ours, theirs, tolerance = ours.astype(np.float64), theirs.astype(np.float64), 1e-5 if theirs.dtype == np.float32 else 2e-2
            largest = np.abs(theirs, where=np.isfinite(theirs), out=np.zeros_like(theirs)).max(initial=1)
            np.testing.assert_allclose(ours, theirs, tolerance, tolerance * largest, err_msg=name)


def is_refused(case, refused, run):
    """Whether `run` refuses the case, which it must if its name matches `refused`, and must not else."""
    try:
        run()
    except ImportFailure as failure:
        assert refused.match(case.fullname), f"{case.fullname}: {failure}"
        return True
    assert not refused.match(case.fullname), case.fullname
    return False


# Random numbers are drawn by a function that JAX cannot run.
@pytest.mark.parametrize("primitive", [it for it in GROUPS if not it.startswith("random_")])
def test_a_case_is_rewritten_to_what_jax_computes(primitive):
    case = GROUPS[primitive][len(GROUPS[primitive]) // 2]
    if not (values := expected(case)):
        pytest.skip("not on a CPU")
    found = []

    def run():
        step = Step(case.dyn_fun, tuple(values[0]), {"roles": constants(values[0])})
        found.extend(jax.jit(step.flat)(*(jnp.asarray(stored(it)) for it in jax.tree.leaves(values[0]))))
    if not is_refused(case, REFUSED, run):
        compare(case.fullname, found, values[1])


@pytest.mark.parametrize("primitive", thorough(GROUPS))
def test_cases_are_compiled_to_what_jax_computes(primitive, tmp_path):
    refused = re.compile(f"{REFUSED.pattern}|{BELOW.pattern}")
    for number, case in enumerate(GROUPS[primitive]):
        values = expected(case)
        if not values or any(0 in it.shape for it in (*values[0], *values[1])):
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        if not is_refused(case, refused, lambda: import_jax(case.dyn_fun, tuple(values[0]), str(folder / "m.mlir"), roles=constants(values[0]))):
            found = compile_module(folder / "m.mlir", folder)([stored(it) for it in jax.tree.leaves(values[0])])
            compare(case.fullname, found, values[1])
