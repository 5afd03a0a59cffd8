"""Conversions between layouts of a value on a group of devices: split along a dimension (S0, S1), whole on each (B), or the sum of
what they have (P). Values equal the global value; bytes equal those of OneFlow's table (Yuan et al., 2021, table 2)."""

import itertools

import numpy as np
import pytest

from conversions import EVEN, LAYOUTS, UNEVEN, Behind, Step, compiled, mpirun, parts, run, table, to_the_last
from sharded import MPI
from tiers import thorough

MADE = [(shape, ways, *pair) for shape in (EVEN, UNEVEN) for ways in (2, 3, 4) for pair in itertools.product(LAYOUTS, LAYOUTS)]


@pytest.mark.parametrize("shape, ways, source, target", MADE)
def test_a_conversion_sends_what_the_table_says(tmp_path, shape, ways, source, target):
    step = Step(source, target, *shape)
    assert step.run(tmp_path, ways, step.integers()) == step.expected(ways)


TO_SUMS = [(UNEVEN, 3, source, "P") for source in LAYOUTS]


@MPI
@pytest.mark.parametrize("shape, ways, source, target", [*TO_SUMS, *thorough(case for case in MADE if case not in TO_SUMS)])
def test_processes_send_what_the_table_says(tmp_path, shape, ways, source, target):
    step = Step(source, target, *shape)
    assert step.run(tmp_path, ways, step.integers(), *mpirun(ways)) == step.expected(ways)


# Stages end where values are whole or become so: never where the products are split alike, or all are added to sums.
MOVED = [case for case in MADE if case[3] == "B" or case[3] != "P" and case[2] != case[3]]


@pytest.mark.parametrize("shape, ways, source, target", [case for case in MOVED if case[1] < 4])
def test_a_conversion_goes_to_another_group(tmp_path, shape, ways, source, target):
    step = Step(source, target, *shape)
    assert step.run(tmp_path, ways, step.integers(), groups=2) == step.expected(ways, groups=2)


@pytest.mark.parametrize("ways", (2, 3, 4))
@pytest.mark.parametrize("shape", ((12, 24), (7, 11)))
def test_parts_become_a_sum_in_another_group(tmp_path, ways, shape):
    step = Behind(*shape)
    assert step.run(tmp_path, ways, step.integers(), groups=2) == step.expected(ways, groups=2)


@MPI
@pytest.mark.parametrize("shape, ways, source, target", thorough(MOVED))
def test_a_conversion_goes_to_other_processes(tmp_path, shape, ways, source, target):
    step = Step(source, target, *shape)
    assert step.run(tmp_path, ways, step.integers(), *mpirun(2 * ways), groups=2) == step.expected(ways, groups=2)


@pytest.mark.parametrize("ways", (2, 4))
@pytest.mark.parametrize("shape, dims", [((4, 4, 5, 7), (2, 3)), ((4, 4, 5, 7), (3, 2)), ((4, 8, 4, 8, 4), (2, 4)), ((4, 8, 4, 8, 4), (4, 2))])
def test_later_dimensions_are_exchanged(tmp_path, ways, shape, dims):
    """Values of four and five dimensions go from one split to another, between operations with parameters that are split so."""
    type_ = f"tensor<{'x'.join(map(str, shape))}xf32>"
    arguments = {"from": ("parameter", shape), "x": ("batch", shape), "to": ("parameter", shape)}
    text = ", ".join(f'%{name}: {type_} {{pipeline.role = "{role}", pipeline.name = "{name}"}}' for name, (role, _) in arguments.items())
    compiled(tmp_path, f"""
        func.func @step({text}) -> ({type_} {{pipeline.role = "output"}}) {{
            %empty = tensor.empty() : {type_}
            %v = linalg.add ins(%from, %x : {type_}, {type_}) outs(%empty : {type_}) -> {type_}
            %y = linalg.mul ins(%to, %v : {type_}, {type_}) outs(%empty : {type_}) -> {type_}
            return %y : {type_}
        }}""", ways, f"from={dims[0]},to={dims[1]}")
    rng = np.random.default_rng(0)
    values = {name: rng.integers(-5, 6, shape).astype(np.float32) for name in arguments}
    found, sent = run(tmp_path, arguments, values)
    assert (found["0"] == values["to"] * (values["from"] + values["x"])).all()
    size, (old, new) = 4 * int(np.prod(shape)), (parts(shape[dim], ways) for dim in dims)
    stays = size * sum(a * b for a, b in zip(old, new)) // (shape[dims[0]] * shape[dims[1]])
    assert sent == size - stays + size - size * new[-1] // shape[dims[1]]


@pytest.mark.parametrize("source", ("S0", "S1", "B"))
def test_a_single_sum_is_closed_before_parts_are_added(tmp_path, source):
    """A sum from %v would save nothing. The other product is scattered to rows or to what %v is split by: as many bytes as one
    conversion from P to S, and no others."""
    step = Step(source, "P", sums=1)
    shape = step.rows, step.columns
    assert step.run(tmp_path, 3, step.integers()) == table("P", "S0", 3, *shape) + to_the_last("S0", 3, *shape)


@pytest.mark.parametrize("hints", ("left=0", "right=1", "right=0"))
def test_every_device_needs_a_part(tmp_path, hints):
    step = Step({"left=0": "S0", "right=1": "S1", "right=0": "P"}[hints], "B", rows=3, columns=3, inner=3)
    said = compiled(tmp_path, step.text, 4, step.hints, fails=True)
    assert f"cannot be split over 4 shards by '{hints}': dimension {hints[-1]} must be at least 4, got 3" in said
