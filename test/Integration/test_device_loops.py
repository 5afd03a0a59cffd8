"""Loops on GPUs: the scan of a recurrent network, and the rounds of a sort, are unrolled into kernels and library calls, equal
ones shared."""

import json

import pytest

from emulator import NEEDED, TARGET
from test_emulator import Run
from test_kernels import compiled
from workshop import tool

pytestmark = NEEDED

SIZES = {"STAGEWRIGHT_RECURRENT": "T=130,B=3,D=20"}
FEW = {"STAGEWRIGHT_RECURRENT": "T=12,B=4,D=16"}
NARROW = {"STAGEWRIGHT_RECURRENT": "T=130,B=2,D=2"}  # too little work to be unrolled: one kernel runs the loop with its products
LONG = {"STAGEWRIGHT_TABLES": "R=1,D=2100,T=1"}


def calls(artifact):
    rank, = json.loads(tool("pp-run", artifact, "--explain-time=h100", "--json"))["ranks"]
    return rank["calls"]


@pytest.mark.parametrize("model, sizes", [("recurrent.py:lstm", SIZES), ("recurrent.py:lstm", NARROW), ("recurrent.py:slices", FEW),
                                          ("tables.py:order", LONG)])
def test_results_equal_jax(workshop, model, sizes):
    artifact = compiled(workshop, model, sizes, 1, *TARGET)
    run = Run(workshop, model, artifact, sizes=sizes, seed=1)
    assert run.good(), (run.error, run.wrong)


def test_a_long_scan_is_products_of_the_library(workshop):
    """No kernel runs the loop on one thread. An iteration has two products forwards and three backwards, for each of two
    microbatches; all 130 iterations share the kernels of one."""
    made = calls(compiled(workshop, "recurrent.py:lstm", SIZES, 1, *TARGET))
    assert not [it for it in made if it["class"] == "loops"], made
    assert sum(it["count"] for it in made if it["class"] == "product") == 2 * 130 * 5
    assert len({it["name"] for it in made if it["class"] == "elements"}) < 60


def test_a_step_reads_its_row_of_the_input(workshop):
    """An iteration does not read the whole transposed input, which 12 iterations would transpose 12 times."""
    made = calls(compiled(workshop, "recurrent.py:slices", FEW, 1, *TARGET))
    whole = 4 * 12 * 16 * 4
    assert not [it for it in made if it["class"] == "elements" and it["count"] >= 12 and it["written_bytes"] >= whole], made


def test_a_long_row_is_sorted_in_parallel(workshop):
    """And the gradient of the look-up adds numbers in many blocks."""
    made = calls(compiled(workshop, "tables.py:order", LONG, 1, *TARGET))
    assert not [it for it in made if it["class"] == "loops"], made
    assert {it["blocks"] for it in made if it["class"] == "scatter"} == {64}
