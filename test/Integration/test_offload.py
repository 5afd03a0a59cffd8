"""Offloading gives the same bits with less device memory: what forwards keep is in host memory until the backwards. On GPUs,
which the emulator executes, two more streams copy it."""

import collections
import json
import os
import subprocess

import pytest
from safetensors.numpy import load_file

import golden
from emulator import NEEDED, TARGET, emulated
from tiers import thorough
from workshop import BUILD, HERE, tool

MICROBATCHES, CLUSTER = 8, HERE / "clusters/host.json"
CASES = [("gpt.py:gpt_slices", 2, "gpipe"), ("gpt.py:gpt_deep", 4, "1f1b"), ("llama.py:llama", 2, "window")]
CASES += thorough([("gpt.py:gpt_slices_dropout", 2, "gpipe"), ("gpt.py:gpt_tied", 4, "1f1b"), ("llama.py:llama", 3, "early-backward"),
                   ("moe.py:moe", 2, "gpipe"), ("convnet.py:convnet", 2, "gpipe"), ("encoder_decoder.py:encoder_decoder", 4, "window")])

# On GPUs.
DEVICE_CASES = [CASES[2], *thorough([CASES[1]])]


def flags(workshop, model, stages, schedule, *more):
    return [workshop.module(model), f"--cluster={CLUSTER}", f"--stages={stages}", f"--schedule={schedule}", "--max-replicas=1",
            f"--microbatches={MICROBATCHES}", *more]


def compiled(workshop, model, stages, schedule, offload, *more):
    def make():
        path = workshop.path("offload", model, stages, schedule, offload, *more, "swx")
        tool("pp-compile", *flags(workshop, model, stages, schedule, f"--offload={offload}", "--quiet", *more), "-o", path)
        return path
    return workshop.once(("offload", model, stages, schedule, offload, *more), make)


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
    """Without an option it offloads until the arenas fit, where copies are cheaper than recomputation."""
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


def device_run(workshop, model, artifact, *more, **variables):
    """(finished process, results that differ from JAX's, bits of all results) of a run on the emulator."""
    inputs, expected = workshop.golden(model, MICROBATCHES)
    out = workshop.path("offload.device.safetensors")
    out.unlink(missing_ok=True)
    done = subprocess.run([BUILD / "bin/pp-run", artifact, f"--inputs={inputs}", f"--microbatches={MICROBATCHES}",
                           f"--outputs={out}", *more], capture_output=True, text=True, env={**os.environ, **emulated(**variables)})
    found = load_file(out) if out.exists() else {}
    return done, golden.disagreements(expected, found), bits(found)


@NEEDED
@pytest.mark.parametrize("model,stages,schedule", DEVICE_CASES)
def test_kernels_equal_jax(workshop, model, stages, schedule):
    """With and without a graph, on one GPU and on several, in several orders of the streams."""
    plain, offloaded = (compiled(workshop, model, stages, schedule, choice, *TARGET) for choice in ("none", "all"))
    arenas = [(one["arena"], other["arena"]) for one, other in zip(memory_of(plain), memory_of(offloaded))
              if other.get("host", 0) > 0]
    assert arenas and all(after < before for before, after in arenas)
    _, wrong, expected = device_run(workshop, model, plain)
    assert not wrong
    for more, variables in ((("--check-memory", "--steps=2"), {"seed": 1}), (("--no-graph", "--steps=2"), {"seed": 2}),
                            (("--steps=2",), {"seed": 3, "devices": stages})):
        done, wrong, found = device_run(workshop, model, offloaded, *more, **variables)
        assert not wrong and found == expected, (more, variables, done.stderr, wrong)


@NEEDED
def test_a_copy_or_wait_that_is_left_out_is_found(workshop):
    """The first and last copy of stashes in each direction; the waits of copies to the host for what was computed."""
    model, stages, schedule = DEVICE_CASES[0]
    artifact, log = compiled(workshop, model, stages, schedule, "all", *TARGET), workshop.path("offload.log")
    assert not device_run(workshop, model, artifact, "--no-graph", log=log)[1]
    calls = collections.defaultdict(list)  # numbers of the calls, by kind and stream
    first, numbers, waiting = collections.defaultdict(list), collections.Counter(), set()
    for line in log.read_text().splitlines():
        word, stream = (*line.split(), "")[:2]
        if word in ("launch", "matmul"):
            waiting = set()  # streams that have waited since
        elif word == "wait" and stream not in waiting:
            first[stream].append(numbers[word])
            waiting.add(stream)
        calls[word, stream].append(numbers[word])
        numbers[word] += 1
    out, back = (max((key for key in calls if key[0] == word), key=lambda key: len(calls[key]))
                 for word in ("download", "upload"))
    assert len(calls[out]) == len(calls[back]) > 20 and len(first[out[1]]) >= MICROBATCHES
    faults = [f"{symbol}:{number}" for symbol, numbers in (
        ("cuMemcpyDtoHAsync_v2", calls[out]), ("cuMemcpyHtoDAsync_v2", calls[back]),
        ("cuStreamWaitEvent", first[out[1]][-MICROBATCHES:]))
        for number in (numbers[0], numbers[-1])]
    missed = [fault for fault in faults if not device_run(workshop, model, artifact, "--no-graph", seed=1, fault=fault)[1]]
    assert not missed
