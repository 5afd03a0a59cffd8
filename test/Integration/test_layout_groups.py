"""Conversions between layouts of a value that is made on one group of devices and needed on another. The groups may overlap."""

import itertools
import json

import numpy as np
import pytest

from conversions import LAYOUTS, UNEVEN, Behind, Step, chain, compiled, mpirun, to_the_last
from sharded import MPI
from tiers import thorough
from workshop import HERE, tool

VECTORS = HERE.parents[2] / "shared/data/oneflow/boxing_golden.json"


@pytest.mark.parametrize("ways", (2, 3, 4))
def test_a_sum_goes_to_another_group(tmp_path, ways):
    """From a sum on the devices of one stage to the whole value on those of the next: (2 p - 1) T, by a scatter, a send and a join.
    Two shards sum in one step instead, 2 T, and each sends all, 2 T."""
    text, size = chain()
    compiled(tmp_path, text, ways, "*/up=1,*/down=0", "--stages=2", groups=2)
    sent = {(own, other): 0 for own in (0, 1) for other in (0, 1)}
    for channel in json.loads(tool("pp-run", tmp_path / "step.swx", "--info=json"))["channels"]:
        sent[channel["from"] // ways, channel["to"] // ways] += channel["bytes"]
    assert sent[0, 1] == (size if ways > 2 else 2 * size) and sent[1, 0] == 0
    assert sum(sent.values()) - to_the_last("P", ways, 12, 24) == ((2 * ways - 1) * size if ways > 2 else 4 * size)


# By name: devices that make a value, and those that need it.
GROUPS = {"equal": ((0, 1, 2), (0, 1, 2)), "apart": ((0, 1), (2, 3)), "fewer": ((0, 1, 2), (3, 4)), "more": ((0, 1), (2, 3, 4, 5)), "overlapping": ((0, 1, 3), (2, 3)), "shifted": ((0, 1), (1, 2)),
          "inside": ((0, 2, 1, 3), (1, 3)), "around": ((0, 1, 3), (0, 1, 2, 3)), "turned": ((0, 1, 2), (2, 0, 1))}


@pytest.mark.parametrize("source, target", [*itertools.product(LAYOUTS, LAYOUTS)])
@pytest.mark.parametrize("groups", GROUPS)
def test_a_conversion_goes_to_any_devices(tmp_path, groups, source, target):
    step = Step(source, target, *UNEVEN)
    assert step.run_between(tmp_path, *GROUPS[groups], step.integers()) == step.expected_between(*GROUPS[groups])


def test_a_scalar_of_an_addend_is_read_in_another_group(tmp_path):
    """Each group computes the scalars that it reads, so that the other group needs the value, too, not only its addends."""
    step = Step("B", "P")
    type_ = f"tensor<{step.rows}x{step.columns}xf32>"
    step.text = step.text.replace("return %z", f"""%at = arith.constant 0 : index
            %first = tensor.extract %v[%at, %at] : {type_} loc("jit(step)/h0/op")
            %more = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
                ins(%z : {type_}) outs(%empty : {type_}) {{
            ^bb0(%a: f32, %o: f32):
              %c = arith.addf %a, %first : f32
              linalg.yield %c : f32
            }} -> {type_} loc("jit(step)/h1/op")
            return %more""")
    step.result = lambda values: Step.result(step, values) + (values["left"] @ values["right"])[0, 0]
    step.run_between(tmp_path, (0, 1), (2, 3), step.integers())


@MPI
@pytest.mark.parametrize("source, target", [("S0", "S1"), ("S1", "P"), *thorough([("P", "S0"), ("S1", "B"), ("B", "S1"), ("S0", "P"), ("B", "P"), ("P", "P")])])
@pytest.mark.parametrize("groups", GROUPS)
def test_a_conversion_goes_to_processes_on_any_devices(tmp_path, groups, source, target):
    step, (first, then) = Step(source, target, *UNEVEN), GROUPS[groups]
    assert step.run_between(tmp_path, first, then, step.integers(), processes=True) == step.expected_between(first, then)


def test_groups_that_overlap_are_refused_without_their_devices(tmp_path):
    said = compiled(tmp_path, chain()[0], 2, "*/up=1,*/down=0", "--stages=2", "--cluster=local:3", fails=True)
    assert "2 shards of 2 stages at a time need 4 devices, and there are 3" in said


def whole(chain, locals_, name):
    """The global value that ranks hold as `locals_`, with the layout that entry `name` of a vector's chain states."""
    entry = next(it for it in chain if it["value"] == name)
    parts = [np.array(locals_[str(rank)], np.float32) for rank in entry["ranks"]]
    return {"B": lambda: parts[0], "P": lambda: sum(parts)}.get(entry["sbp"], lambda: np.concatenate(parts, int(entry["sbp"][2:-1])))()


@pytest.mark.skipif(not VECTORS.exists(), reason="OneFlow's vectors are not here")
@pytest.mark.parametrize("launched", ("threads", pytest.param("processes", marks=MPI)))
def test_vectors_of_oneflow(tmp_path, launched):
    """The results of its own tests, where the last conversion stays on its devices, goes to as many others, or to others some of which
    may be the same. Where the last layout is P, OneFlow gives each device some columns and zeros, as it has them here: what is compared
    is the sum, in which they are added to other parts."""
    covered = {"same": 0, "as many": 0, "any": 0}
    for vector in json.loads(VECTORS.read_text()):
        (*earlier, before, last), value = vector["chain"], whole(vector["chain"], vector["local_inputs_by_rank"], "x")
        for name, parts in vector["expected_local_by_rank"].items():
            assert (whole(vector["chain"], parts, name) == value).all()
        first, then = before["ranks"], last["ranks"]
        kind = "same" if first == then else "any" if set(first) & set(then) or len(first) != len(then) else "as many"
        covered[kind] += 1
        launch = mpirun(len({*first, *then})) if launched == "processes" else ()
        columns, zeros = value.shape[1], np.zeros_like(value)
        identity = np.eye(columns, dtype=np.float32)
        values = {"left": value, "right": identity, "to": zeros}
        if kind == "any":
            step = Step(*(it["sbp"].replace("(", "").replace(")", "") for it in (before, last)), *value.shape, inner=columns)
            values |= {name: identity if name.endswith("right") else zeros for name in step.arguments if name not in values}
            assert step.run_between(tmp_path, first, then, values, launched == "processes") == step.expected_between(first, then)
            continue
        groups = 1 if kind == "same" else 2
        # A value that only moves to other devices gets its layout before.
        given = earlier[0] if groups == 2 and before["sbp"] == last["sbp"] else before
        source, target = (it["sbp"].replace("(", "").replace(")", "") for it in (given, last))
        step = Behind(*value.shape) if (groups, target) == (2, "P") else Step(source, target, *value.shape, inner=columns)
        values |= {name: identity if name.endswith("right") else zeros for name in step.arguments if name not in values}
        assert step.run(tmp_path, len(then), values, *launch, groups=groups) == step.expected(len(then), groups)
    assert covered == {"same": 6, "as many": 6, "any": 18}
