"""The fuzzer itself (test/Fuzz): programs, their minimiser, its judge."""

import os
import pathlib
import sys

import jax
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Fuzz"))
from generate import generate  # noqa: E402
from judge import Reference, judge  # noqa: E402
from minimise import minimise, size  # noqa: E402
from operations import OPERATIONS  # noqa: E402
from pipeline import Outcome  # noqa: E402
from source import live, written  # noqa: E402
import survive  # noqa: E402

UNSTABLE = """
import jax, jax.numpy as jnp
F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_
def program():
    def function(p, x, large):
        return ((x + large) - large).sum() * p
    return function, (F(1.0), jnp.ones(3, F), F(0.0))
"""


def test_a_seed_makes_the_same_program():
    texts = [written(generate(7, number)).text for number in range(20)]
    assert texts == [written(generate(7, number)).text for number in range(20)]
    assert len(set(texts)) == 20


def test_programs_are_steps_of_jax():
    for number in range(5):
        space = {}
        exec(written(generate(3, number)).text, space)
        function, arguments = space["program"]()
        jax.eval_shape(function, *arguments)


def test_every_operation_occurs():
    used = {s.operation for number in range(250) for s in generate(5, number).statements}
    assert set(OPERATIONS) - used <= {"plain"}


def test_what_no_result_needs_goes():
    program = generate(3, 2)
    shorter = live(program)
    needed = set(shorter.terms + shorter.outputs) | {o for s in shorter.statements for o in s.operands}
    assert all(s.target in needed for s in shorter.statements)


@pytest.mark.parametrize("operation", ["layer", "at_static"])
def test_a_failure_is_shrunk(operation):
    """Only the failing statement and what it reads remain."""
    program = next(p for p in (generate(11, n) for n in range(100))
                   if len(p.statements) > 8 and any(s.operation == operation for s in live(p).statements))

    def fails(p):
        return any(s.operation == operation for s in p.statements)
    smaller = minimise(program, fails, attempts=400)
    assert fails(smaller) and size(smaller) < size(live(program))
    assert len(smaller.statements) <= 2 and smaller.stages == 1 and not smaller.outputs
    assert minimise(program, lambda p: False) is None


DECIDED_BY_ROUNDING = UNSTABLE.replace("((x + large) - large).sum() * p",
                                       "jnp.where(jnp.sinh(jnp.tanh(x)) < x, p, large).sum()")


def judged(found, large=0.0, x=1.0, text=UNSTABLE):
    inputs = [np.float32(1), np.full(3, x, np.float32), np.float32(large)]
    reference = Reference(text, lambda function, tree, inputs: [function(*inputs)])
    wanted = reference.results(inputs)
    return judge([np.asarray(found(wanted[0]), np.float32)], wanted, inputs, reference, False)[0]


def test_rounding_is_no_mistake():
    assert judged(lambda right: right) == "passed"
    assert judged(lambda right: right * (1 + 1e-6)) == "passed"
    assert judged(lambda right: right * (1 + 1e-3)) == "wrong"
    assert judged(lambda right: np.nan) == "wrong"


def test_who_compares_numbers_that_differ_by_rounding_proves_nothing():
    """At x = 4.4e-4, sinh and tanh differ by less than float32 resolves, though the inputs' last bit changes nothing."""
    assert judged(lambda right: right - 1, x=4.4474e-4, text=DECIDED_BY_ROUNDING) == "unclear"
    assert judged(lambda right: right - 1, x=0.5, text=DECIDED_BY_ROUNDING) == "wrong"


def test_cancellation_is_measured():
    """A sum with a large number loses digits; JAX's own errors show how many."""
    assert judged(lambda right: right * (1 + 1e-3), large=3e4, x=1.2345) == "passed"
    assert judged(lambda right: right * 1.2, large=3e4, x=1.2345) == "wrong"
    assert judged(lambda right: right * 1.2, large=2e7, x=1.2345) == "unclear"


def test_a_program_in_which_the_process_dies_ends_itself_alone():
    def run(keys, at):
        for key in list(keys):
            at(key, f"1-{key}")
            if key == 2:
                os._exit(1)
            instead = 10 if key == 3 else None
            yield key, f"1-{key}", key, Outcome("invalid" if key == 3 else "passed", "compare", ""), instead
            if instead:
                yield from run([instead], at)

    found = [(name, outcome.kind) for name, _, outcome in survive.outcomes([1, 2, 3], run)]
    assert found == [("1-1", "passed"), ("1-2", "known"), ("1-3", "invalid"), ("1-10", "passed")]


def test_a_process_that_dies_before_its_first_program_is_an_error():
    def run(keys, at):
        os._exit(1)
        yield
    with pytest.raises(survive.Died):
        list(survive.outcomes([1], run))
