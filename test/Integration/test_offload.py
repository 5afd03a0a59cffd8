"""Offloading gives the same bits with less device memory: what forwards keep is in host memory until the backwards."""

import json

import pytest

from tiers import thorough
from workshop import HERE, tool

MICROBATCHES, CLUSTER = 8, HERE / "clusters/host.json"
CASES = [("gpt.py:gpt_slices", 2, "gpipe"), ("gpt.py:gpt_deep", 4, "1f1b"), ("llama.py:llama", 2, "window")]
CASES += thorough([("gpt.py:gpt_slices_dropout", 2, "gpipe"), ("gpt.py:gpt_tied", 4, "1f1b"), ("llama.py:llama", 3, "early-backward"),
                   ("moe.py:moe", 2, "gpipe"), ("convnet.py:convnet", 2, "gpipe"), ("encoder_decoder.py:encoder_decoder", 4, "window")])


def flags(workshop, model, stages, schedule, *more):
    return [workshop.module(model), f"--cluster={CLUSTER}", f"--stages={stages}", f"--schedule={schedule}", "--max-replicas=1",
            f"--microbatches={MICROBATCHES}", *more]


def compiled(workshop, model, stages, schedule, offload):
    def make():
        path = workshop.path("offload", model, stages, schedule, offload, "swx")
        tool("pp-compile", *flags(workshop, model, stages, schedule, f"--offload={offload}", "--quiet"), "-o", path)
        return path
    return workshop.once(("offload", model, stages, schedule, offload), make)


def memory_of(artifact):
    return [rank["memory"] for rank in json.loads(tool("pp-run", artifact, "--info=json"))["ranks"]]


def bits(results):
    return {name: value.tobytes() for name, value in results.items()}


@pytest.mark.parametrize("model,stages,schedule", CASES)
def test_the_bits_stay_and_arenas_shrink(workshop, model, stages, schedule):
    none, all = (compiled(workshop, model, stages, schedule, choice) for choice in ("none", "all"))
    found = [bits(workshop.run_artifact(model, artifact, "--check-memory", microbatches=MICROBATCHES)[0]) for artifact in (none, all)]
    assert found[1] == found[0]
    before, after = memory_of(none), memory_of(all)
    assert not any("host" in rank for rank in before) and any(rank.get("host", 0) > 0 for rank in after)
    for one, other in zip(before, after):
        assert other["arena"] < one["arena"] if "host" in other else other["arena"] == one["arena"]


@pytest.mark.parametrize("microbatches", (1, 3, 13))
def test_any_number_of_microbatches_runs(workshop, microbatches):
    model, stages, schedule = CASES[0]
    first, second = (bits(workshop.run_artifact(model, compiled(workshop, model, stages, schedule, choice), "--check-memory",
                                                microbatches=microbatches)[0]) for choice in ("none", "all"))
    assert first == second


@pytest.mark.parametrize("model,stages,schedule", CASES[:2])
def test_the_plan_says_what_ranks_take(workshop, model, stages, schedule):
    """Ranks use all planned host memory, at most the planned device memory, and with offloading at least 97 % of it."""
    plan = json.loads(tool("pp-plan", workshop.module(model), f"--cluster={CLUSTER}", f"--stages={stages}", f"--orders={schedule}",
                           "--max-replicas=1", f"--microbatches={MICROBATCHES}", "--offload=all", "--json"))
    text = workshop.path("offload", model, stages, schedule, "plan.json")
    text.write_text(json.dumps(plan))
    artifact = workshop.path("offload", model, stages, schedule, "planned.swx")
    tool("pp-compile", workshop.module(model), f"--cluster={CLUSTER}", f"--plan={text}", f"--schedule={schedule}",
         f"--microbatches={MICROBATCHES}", "--offload=all", "--quiet", "-o", artifact)
    ranks = memory_of(artifact)
    assert any("offload" in stage for stage in plan["stages"])
    for stage, rank in zip(plan["stages"], ranks):
        assert stage.get("host_bytes", 0) == rank.get("host", 0)
        assert rank["arena"] <= stage["memory_bytes"], (stage, rank)
        assert "offload" not in stage or 0.97 * stage["memory_bytes"] <= rank["arena"], (stage, rank)


def test_a_plan_offloads_where_memory_is_short(workshop):
    """Without an option, until the arenas fit, where copies are cheaper than recomputation."""
    model, stages, schedule = CASES[0]
    none = compiled(workshop, model, stages, schedule, "none")
    memory = int(0.9 * max(rank["arena"] for rank in memory_of(none)))
    short = workshop.path("offload.short.swx")
    report = tool("pp-compile", *flags(workshop, model, stages, schedule, f"--memory={memory}", "--explain-memory"), "-o", short)
    assert "the plan leaves it on the host until the backward" in report, report
    assert max(rank["arena"] for rank in memory_of(short)) <= memory
    first, second = (workshop.run_artifact(model, artifact, microbatches=MICROBATCHES)[0] for artifact in (none, short))
    assert bits(first) == bits(second)
    assert "offload = array" in tool("pp-compile", *flags(workshop, model, stages, schedule, f"--memory={memory}", "--emit=program"))
    assert "offload" not in tool("pp-compile", *flags(workshop, model, stages, schedule, f"--memory={memory}", "--emit=program",
                                                      "--offload=none"))
