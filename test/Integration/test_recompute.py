"""Recomputation gives the same bits in less memory: in stages that run their forwards again before the backwards (an r in the
plan), and in layers that recompute what they do not keep, at each level."""

import json

import pytest

from tiers import thorough
from workshop import tool

MICROBATCHES = 8
# Number of devices, and stages of a GPT of three blocks, which has five layers; {} is where recomputing stages get an r.
PLANS = {"1": (1, "[0,5){}"), "2": (2, "[0,3){} [3,5){}"), "first of 2": (2, "[0,3){} [3,5)"), "4": (4, "[0,1){} [1,2){} [2,3){} [3,5){}"),
         "slices": (3, "[0,3)x2{} [3,5){}")}
TURNS = {"in turn": (4, "[0,3)x2{} [3,5)x2{}"), "unequal": (3, "[0,3)x2{} [3,5){}")}
CASES = [("gpt.py:gpt_slices", "2", "1f1b"), ("gpt.py:gpt_slices", "first of 2", "gpipe"), ("gpt.py:gpt_slices", "slices", "1f1b"),
         ("gpt.py:gpt_single", "in turn", "1f1b")]
CASES += thorough([("gpt.py:gpt_slices", "1", "1f1b"), ("gpt.py:gpt_slices", "4", "1f1b"), ("gpt.py:gpt_slices", "4", "gpipe"),
                   ("gpt.py:gpt_slices", "2", "zb-h1"), ("gpt.py:gpt_slices_dropout", "2", "1f1b"), ("gpt.py:gpt_single", "unequal", "1f1b"),
                   ("gpt.py:gpt_single", "in turn", "gpipe"), ("gpt.py:gpt_single", "in turn", "zb-h1")])


def compiled(workshop, model, plan, schedule, again):
    devices, stages = {**PLANS, **TURNS}[plan]

    def make():
        path = workshop.path("recompute", model, plan, schedule, again, "swx")
        tool("pp-compile", workshop.module(model), f"--cluster=local:{devices}", f"--plan={stages.replace('{}', 'r' if again else '')}",
             f"--schedule={schedule}", f"--microbatches={MICROBATCHES}", "--quiet", "-o", path)
        return path
    return workshop.once(("recompute", model, plan, schedule, again), make)


@pytest.mark.parametrize("model,plan,schedule", CASES)
def test_the_bits_stay_and_stashes_shrink(workshop, model, plan, schedule):
    found, bytes = {}, {}
    for again in (False, True):
        artifact = compiled(workshop, model, plan, schedule, again)
        results, _ = workshop.run_artifact(model, artifact, "--check-memory", microbatches=MICROBATCHES)
        found[again] = {name: value.tobytes() for name, value in results.items()}
        bytes[again] = [rank["memory"]["stash"] for rank in json.loads(tool("pp-run", artifact, "--info=json"))["ranks"]]
    assert found[True] == found[False]
    # If several microbatches are in flight, keeping only inputs takes less than keeping all that a backward reads.
    assert sum(bytes[True]) < sum(bytes[False]) or plan == "1", bytes


@pytest.mark.parametrize("microbatches", (1, 3, 13))
def test_any_number_of_microbatches_runs(workshop, microbatches):
    results = [workshop.run_artifact("gpt.py:gpt_slices", compiled(workshop, "gpt.py:gpt_slices", "2", "1f1b", again),
                                     microbatches=microbatches)[0] for again in (False, True)]
    assert {k: v.tobytes() for k, v in results[0].items()} == {k: v.tobytes() for k, v in results[1].items()}


def test_a_plan_recomputes_where_memory_is_short(workshop):
    """Without an option, if memory is 5 % more than a plan that recomputes everywhere takes."""
    flags = [workshop.module("gpt.py:gpt_slices"), "--cluster=local:2", "--stages=2", f"--microbatches={MICROBATCHES}", "--schedule=gpipe"]
    whole = tool("pp-compile", *flags, "--emit=program")
    assert "{recompute" not in whole and "recompute," not in whole
    artifact = workshop.path("short.swx")
    least = max(rank["memory"]["arena"] for rank in json.loads(tool("pp-run", compiled(workshop, "gpt.py:gpt_slices", "2", "gpipe", True),
                                                                    "--info=json"))["ranks"])
    tool("pp-compile", *flags, f"--memory={int(1.05 * least)}", "-o", artifact)
    program = tool("pp-compile", *flags, f"--memory={int(1.05 * least)}", "--emit=program")
    assert "recompute" in program


# Levels: at 0 layers keep everything, then less and less. LEVELED: models, numbers of stages.
LEVELS = (0, 1, 2, 9)
LEVELED = [("gpt.py:gpt_slices_dropout", 3), ("llama.py:llama", 2)]
LEVELED += thorough([(model, stages) for model in ("gpt.py:gpt", "gpt.py:gpt_bfloat16", "gpt.py:gpt_scan", "gpt.py:gpt_slices",
                                                   "gpt.py:gpt_tied", "moe.py:moe", "convnet.py:convnet", "llama.py:llama",
                                                   "encoder_decoder.py:encoder_decoder")
                     for stages in (1, 2, 3, 4) if (model, stages) not in LEVELED])


@pytest.mark.parametrize("model,stages", LEVELED)
def test_every_level_has_the_bits_of_keeping_all(workshop, model, stages):
    found, stashes, kept = [], [], MICROBATCHES // 2
    for level in LEVELS:
        artifact = workshop.path("level", model, stages, level, "swx")
        tool("pp-compile", workshop.module(model), f"--cluster=local:{stages}", f"--stages={stages}", "--schedule=1f1b",
             f"--microbatches={kept}", f"--recompute-level={level}", "--quiet", "-o", artifact)
        results, _ = workshop.run_artifact(model, artifact, "--check-memory", microbatches=kept)
        found.append({name: value.tobytes() for name, value in results.items()})
        stashes.append(sum(rank["memory"]["stash"] for rank in json.loads(tool("pp-run", artifact, "--info=json"))["ranks"]))
    assert found[1:] == [found[0]] * (len(LEVELS) - 1)
    assert stashes == sorted(stashes, reverse=True) and (stashes[-1] < stashes[0] or stages == 1), stashes


def test_layers_go_up_in_level_where_memory_is_short(workshop):
    """Without an option, until the arenas fit in memory."""
    model, flags = "gpt.py:gpt_deep", ["--cluster=local:2", "--stages=2", "--microbatches=8", "--schedule=1f1b", "--max-replicas=1"]
    whole = workshop.path("levels.whole.swx")
    tool("pp-compile", workshop.module(model), *flags, "--quiet", "-o", whole)
    memory = int(0.9 * max(rank["memory"]["arena"] for rank in json.loads(tool("pp-run", whole, "--info=json"))["ranks"]))
    short = workshop.path("levels.short.swx")
    report = tool("pp-compile", workshop.module(model), *flags, f"--memory={memory}", "--explain-memory", "-o", short)
    assert "  the plan keeps " in report and " % of the forward's operations" in report, report
    assert "levels = array" in tool("pp-compile", workshop.module(model), *flags, f"--memory={memory}", "--emit=program"), report
    assert max(rank["memory"]["arena"] for rank in json.loads(tool("pp-run", short, "--info=json"))["ranks"]) <= memory
    first, second = (workshop.run_artifact(model, artifact, microbatches=8)[0] for artifact in (whole, short))
    assert {k: v.tobytes() for k, v in first.items()} == {k: v.tobytes() for k, v in second.items()}
