"""Stages whose replicas take whole microbatches in turn, because a microbatch has one sample: JAX's numbers.

If all stages have the same number of replicas, they form independent pipelines, each in the schedule's own order."""

import json
import re

import pytest

import golden
from tiers import thorough
from workshop import tool

GPT = "gpt.py:gpt_single"
# Number of devices, and stages with their replicas. A GPT of three blocks has five layers.
PLANS = {"2x2": (4, "[0,3)x2 [3,5)x2"), "4x1": (4, "[0,5)x4"), "2+1": (3, "[0,3)x2 [3,5)x1"), "1+2": (3, "[0,2)x1 [2,5)x2")}
SCHEDULES = ("1f1b", "gpipe", "zb-h1")
CASES = [("2x2", schedule) for schedule in SCHEDULES] + [("4x1", "1f1b"), ("2+1", "1f1b")]
CASES += thorough([("4x1", "gpipe"), ("4x1", "zb-h1"), ("2+1", "zb-h1"), ("1+2", "1f1b"), ("1+2", "gpipe")])


def compiled(workshop, plan, schedule, *flags, model=GPT):
    devices, stages = PLANS[plan]

    def make():
        path = workshop.path("turns", model, plan, schedule, *flags, "swx")
        tool("pp-compile", workshop.module(model), f"--cluster=local:{devices}", f"--plan={stages}",
             f"--schedule={schedule}", "--microbatches=8", "--quiet", "-o", path, *flags)
        return path
    return workshop.once(("turns", model, plan, schedule, *flags), make)


@pytest.mark.parametrize("plan,schedule", CASES)
def test_replicas_in_turn_give_the_numbers_of_jax(workshop, plan, schedule):
    results, printed = workshop.run_artifact(GPT, compiled(workshop, plan, schedule), "--check-memory", microbatches=8)
    wrong = golden.disagreements(workshop.golden(GPT, 8)[1], results)
    assert not wrong, "\n".join(wrong)
    assert printed.count("live bytes") == PLANS[plan][0]


@pytest.mark.parametrize("microbatches", (1, 3, 13))
@pytest.mark.parametrize("plan,schedule", [("2x2", "1f1b"), ("2x2", "gpipe"), *thorough([("4x1", "1f1b"), ("4x1", "gpipe")])])
def test_any_number_of_microbatches_runs(workshop, plan, schedule, microbatches):
    """One pipeline may have one microbatch more than another, or the only one."""
    results, _ = workshop.run_artifact(GPT, compiled(workshop, plan, schedule), "--check-memory", microbatches=microbatches)
    wrong = golden.disagreements(workshop.golden(GPT, microbatches)[1], results)
    assert not wrong, "\n".join(wrong)


def test_unequal_replicas_run_for_one_number(workshop):
    with pytest.raises(AssertionError, match="the number of microbatches is 5, but the artifact runs 8 only"):
        workshop.run_artifact(GPT, compiled(workshop, "2+1", "1f1b"), microbatches=5)


def test_pipelines_side_by_side_keep_what_each_keeps_alone(workshop):
    """The first of two stages has two microbatches in flight on each replica, as in a pipeline of its own."""
    printed = tool("pp-compile", workshop.module(GPT), "--cluster=local:4", "--plan=[0,3)x2 [3,5)x2", "--microbatches=8",
                   "--schedule=1f1b", "--emit=schedule")
    orders = [line.split("order ")[1] for line in printed.splitlines() if "pipeline.order " in line]
    assert len(orders) == 4, printed
    for rank, microbatches in ((0, (0, 2, 4)), (2, (1, 3, 5))):
        first = [f"0F{microbatches[0]}", f"0F{microbatches[1]}", f"0B{microbatches[0]}", f"0F{microbatches[2]}"]
        assert ", ".join(first) in orders[rank], (rank, orders)


@pytest.mark.parametrize("model", ("gpt.py:gpt_single", "gpt.py:gpt_slices"))
def test_several_stages_on_a_device_are_planned_for_pipelines_side_by_side(workshop, model):
    """Four devices form two pipelines of two, with two stages on each device: JAX's numbers."""
    flags = [workshop.module(model), "--cluster=local:4", "--max-replicas=2", "--schedule=interleaved", "--microbatches=8"]
    stages = re.findall(r"pipeline\.stage \d on \[([^\]]*)\]", tool("pp-compile", *flags, "--emit=program"))
    assert stages == ["@d0, @d1", "@d2, @d3"] * 2
    artifact = workshop.path("turns", model, "interleaved.swx")
    tool("pp-compile", *flags, "--quiet", "-o", artifact)
    results, _ = workshop.run_artifact(model, artifact, "--check-memory", microbatches=8)
    wrong = golden.disagreements(workshop.golden(model, 8)[1], results)
    assert not wrong, "\n".join(wrong)


RESULTS = [("gpt.py:gpt_forward_single", "2x2", "forward-only", 8), ("gpt.py:gpt_forward_single", "1+2", "forward-only", 8),
          ("gpt.py:gpt_single_results", "2x2", "1f1b", 8), ("gpt.py:gpt_single_logits", "2x2", "1f1b", 3),
          ("gpt.py:gpt_single_results", "1+2", "1f1b", 8),
          *thorough([("gpt.py:gpt_forward_single", "4x1", "forward-only", 8), ("gpt.py:gpt_single_logits", "4x1", "1f1b", 1),
                     ("gpt.py:gpt_single_logits", "4x1", "1f1b", 13),
                     ("gpt.py:gpt_single_results", "2+1", "zb-h1", 8), ("gpt.py:gpt_single_logits", "2x2", "zb-h1", 8)])]


@pytest.mark.parametrize("model,plan,schedule,microbatches", RESULTS)
def test_results_of_replicas_are_joined(workshop, model, plan, schedule, microbatches):
    """Each replica has the logits of its own microbatches; one has the last number of right predictions."""
    artifact = compiled(workshop, plan, schedule, model=model)
    needs = json.loads(tool("pp-run", artifact, "--info=json"))["stagewright"]
    assert (needs >= 5) == (plan != "2+1")   # Older runtimes refuse it.
    results, _ = workshop.run_artifact(model, artifact, "--check-memory", microbatches=microbatches)
    wrong = golden.disagreements(workshop.golden(model, microbatches)[1], results)
    assert not wrong, "\n".join(wrong)


def test_inference_that_cannot_be_sliced_is_planned_for_several_devices(workshop):
    printed = tool("pp-compile", workshop.module("gpt.py:gpt_forward_single"), "--cluster=local:4", "--microbatches=16", "--emit=program")
    assert re.search(r"pipeline\.stage 0 on \[@d0, @d1", printed), printed
