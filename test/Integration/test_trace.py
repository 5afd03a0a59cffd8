"""A run compared with its simulation: the same rows in their traces, and the predicted step time."""

import json
import re
import sys

import pytest
from workshop import HERE, call, tool

MODEL, MICROBATCHES = "mlp.py:mlp", 8


@pytest.fixture(scope="module", params=["1f1b", "zb-h1"])
def ran(workshop, request):
    """(schedule, trace of a run, profile of a run) on two ranks."""
    plan = workshop.path("trace", request.param, "mlir")
    flags = ["--cluster=local:2", "--stages=2", f"--schedule={request.param}", f"--microbatches={MICROBATCHES}"]
    module = workshop.module(MODEL)
    plan.write_text(tool("pp-compile", module, *flags, "--emit=schedule"))
    artifact = workshop.path("trace", request.param, "swx")
    tool("pp-compile", module, *flags, "-o", artifact)
    trace, profile = workshop.path("trace", "run.json"), workshop.path("profile.json")
    workshop.run_artifact(MODEL, artifact, f"--trace={trace}", f"--profile={profile}", "--steps=20")
    return plan, trace, profile


def test_a_run_and_its_simulation_are_drawn_alike(workshop, ran):
    plan, trace, _ = ran
    simulated = workshop.path("trace", "simulated.json")
    tool("pp-sim", plan, f"--trace={simulated}")
    text = call(sys.executable, HERE.parent / "Inputs" / "check-trace.py", trace, simulated)
    assert text.splitlines()[-1] == "same rows"


def test_measured_actions_predict_the_measured_step(ran):
    """Accuracy needs an idle machine (`./dev bench predict`); this checks only that the parts add up."""
    plan, _, profile = ran
    measured = json.loads(tool("pp-sim", plan, f"--profile={profile}", "--json"))
    step = measured["measured"]
    parts = step["before_s"] + measured["makespan_s"] + step["after_s"]
    assert step["predicted_s"] == pytest.approx(parts)
    assert step["error"] == pytest.approx(step["predicted_s"] / step["step_s"] - 1)
    actions = json.loads(profile.read_text())["actions"]
    busiest = max(sum(seconds for name, seconds in actions.items() if name.startswith(rank)) for rank in "01")
    assert MICROBATCHES * busiest <= measured["makespan_s"] * (1 + 1e-6)


def test_idle_ranks_are_told_beside_the_plan(workshop, ran):
    """Planned idle shares are those of the schedule with its compile-time costs, as pp-compile prints them."""
    plan, _, profile = ran
    artifact, inputs = plan.with_suffix(".swx"), workshop.golden(MODEL, MICROBATCHES)[0]
    run = json.loads(tool("pp-run", artifact, f"--inputs={inputs}", f"--profile={profile}", "--steps=20", "--json"))
    assert len(run["idle"]) == 2 and all(0 < idle < 1 for idle in run["idle"])
    printed = tool("pp-compile", plan, "-o", workshop.path("again.swx"))  # "makespan 27 us, ... busiest rank 24 us"
    makespan, work = (float(value) * {"s": 1e9, "ms": 1e6, "us": 1e3, "ns": 1}[unit] for value, unit in re.findall(
        r"(?:makespan|busiest rank) ([\d.]+) (\w+)", printed))
    assert min(run["planned_idle"]) == pytest.approx(1 - work / makespan, abs=0.002)
    text = tool("pp-run", artifact, f"--inputs={inputs}", f"--profile={profile}")
    assert f", planned {100 * sum(run['planned_idle']) / 2:.1f} %" in text
