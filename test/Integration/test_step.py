"""End to end on real models: every plan gives JAX's loss and gradients, in the printed memory.

A plan is (model, stages, schedule); tests of one plan share its artifact. Most run 8 different microbatches."""

import json
import re
import sys

import pytest
from safetensors.numpy import load_file

import golden
import stagewright
from tiers import thorough
from workshop import BUILD, HERE, call, tool

GPT, SCAN, BFLOAT16, LONG = "gpt.py:gpt", "gpt.py:gpt_scan", "gpt.py:gpt_bfloat16", "gpt.py:gpt_long"
SCHEDULES = ("gpipe", "1f1b")
TIED, BOTH = "gpt.py:gpt_tied", "encoder_decoder.py:encoder_decoder"
PLANS = [(GPT, 1, "1f1b"), (GPT, 2, "gpipe"), (GPT, 4, "1f1b"), (GPT, 3, "window"),
         ("llama.py:llama", 3, "1f1b"), ("mlp.py:mlp", 2, "gpipe"), ("convnet.py:convnet", 2, "1f1b"), (SCAN, 2, "1f1b"),
         ("moe.py:moe", 2, "1f1b"), ("gpt.py:gpt_forward", 2, "1f1b"), (TIED, 4, "1f1b"), (BOTH, 2, "1f1b"), (LONG, 2, "1f1b")]
MORE = [(GPT, stages, schedule) for stages in (1, 2, 3, 4) for schedule in SCHEDULES]
MORE += [(model, stages, schedule) for model in ("llama.py:llama", "mlp.py:mlp", "convnet.py:convnet", SCAN)
         for stages, schedule in ((1, "1f1b"), (2, "gpipe"), (2, "1f1b"), (3, "1f1b"))]
MORE += [(GPT, 3, "early-backward"), ("gpt.py:gpt_dropout", 2, "1f1b"), (TIED, 2, "1f1b"), (BOTH, 4, "1f1b")]
BY_PLAN = pytest.mark.parametrize("plan", [*PLANS, *(thorough([(plan,)])[0] for plan in MORE if plan not in PLANS)], ids=lambda p: f"{p[0].split(':')[1]}-{p[1]}-{p[2]}")

# Resident memory that a step may use besides its arenas: stacks of the ranks' threads, the copy of the inputs.
RESIDENT_CONSTANT = 8 << 20


@BY_PLAN
def test_equals_jax_and_allocates_nothing(workshop, plan):
    """The second step allocates nothing, not even in libraries; memory grows at most by the arenas and a constant."""
    report = workshop.path("interposer.json")
    report.unlink(missing_ok=True)
    found, _ = workshop.run(*plan, "--steps=2", env={"LD_PRELOAD": str(BUILD / "lib/stagewright-interposer.so"),
                                                     "STAGEWRIGHT_INTERPOSER": str(report)})
    wrong = golden.disagreements(workshop.golden(plan[0])[1], found)
    assert not wrong, "\n".join(wrong)
    seen = json.loads(report.read_text())
    assert seen["allocations"][1] == 0
    printed = sum(rank["memory"]["arena"] for rank in workshop.manifest(*plan)["ranks"])
    assert seen["resident_after"] - seen["resident_before"] <= printed + RESIDENT_CONSTANT


def test_bfloat16_errs_as_little_as_jax(workshop):
    found, _ = workshop.run(BFLOAT16, 2, "1f1b")
    ours, theirs = golden.short_float_errors(workshop.golden(BFLOAT16)[1], found, workshop.golden(GPT)[1])
    assert ours <= 1.5 * theirs


@BY_PLAN
def test_arena_and_live_bytes_are_those_printed(workshop, plan):
    """Arenas are at most 5 % above their lower bound, the live bytes; 8 % in a convolution net with rings of several slots,
    which the large workspace of its first stage cannot share."""
    manifest = workshop.manifest(*plan)
    _, text = workshop.run(*plan, "--check-memory")
    seen = re.findall(r"rank (\d+): live bytes (\d+), printed (\d+), arena (\d+)", text)
    assert len(seen) == len(manifest["ranks"])
    for rank, live, printed, arena in seen:
        memory, buffers = manifest["ranks"][int(rank)]["memory"], len(manifest["ranks"][int(rank)]["buffers"])
        assert (int(arena), int(printed)) == (memory["arena"], memory["live_peak"])
        assert abs(int(live) - int(printed)) <= 64 * buffers
        rings = any(buffer["kind"] == "stash" and (buffer["depth"] > 1 or buffer["depth_all"])
                    for buffer in manifest["ranks"][int(rank)]["buffers"])
        assert memory["arena"] <= (1.08 if rings and "convnet" in plan[0] else 1.05) * memory["bound"]


def test_nothing_as_large_as_the_scores_of_long_attention_is_kept(workshop):
    """At 1024 positions, the 1024 x 1024 scores of a head are not kept from a forward to its backward."""
    manifest = workshop.manifest(LONG, 2, "1f1b")
    kept = [buffer["shape"] for rank in manifest["ranks"] for buffer in rank["buffers"] if buffer["kind"] == "stash"]
    assert kept and all(shape.count(1024) < 2 for shape in kept), kept


def test_scores_of_long_attention_are_never_whole(workshop):
    """They are computed and used by blocks of queries: the workspace is smaller than the scores of one head."""
    for rank in workshop.manifest(LONG, 2, "1f1b")["ranks"]:
        assert rank["memory"]["workspace"] < 1024 * 1024 * 4


def bits(results):
    return [r.tobytes() for r in results]


@pytest.mark.parametrize("stages", [2, *thorough((1, 3, 4))])
def test_same_bits_over_runs_loads_and_both_schedules(workshop, stages):
    """20 runs of three microbatches. Each load has new arenas and threads; earlier steps stay loaded, so that addresses differ."""
    inputs, _ = workshop.golden(GPT)
    batches = {str(it["position"]) for it in workshop.manifest(GPT, stages, SCHEDULES[0])["arguments"] if it["role"] == "batch"}
    given = {int(position): array[:3] if position in batches else array for position, array in load_file(inputs).items()}
    first, loaded = None, []
    for schedule in SCHEDULES:
        for _ in range(2):
            loaded.append(stagewright.load(workshop.artifact(GPT, stages, schedule), microbatches=3))
            loaded[-1].set(given)
            for _ in range(5):
                now = bits(loaded[-1].run())
                first = first or now
                assert now == first


def test_a_plan_for_unequal_devices_and_links_equals_jax(workshop):
    """Two fast and two slow devices, one slow link: four stages avoid that link, and the fast devices get more layers."""
    artifact = workshop.path("unequal.swx")
    tool("pp-compile", workshop.module(GPT), f"--cluster={HERE / 'clusters/unequal.json'}", "--planner=spp",
         "--stages=4", "--microbatches=8", "--quiet", "-o", artifact)
    found = workshop.run_artifact(GPT, artifact)[0]
    wrong = golden.disagreements(workshop.golden(GPT)[1], found)
    assert not wrong, "\n".join(wrong)
    stages = json.loads(tool("pp-run", artifact, "--info=json"))["plan"]["stages"]
    devices = [stage["devices"][0] for stage in stages]
    assert sorted(devices) == ["fast0", "fast1", "slow0", "slow1"]
    neighbours = {frozenset(pair) for pair in zip(devices, devices[1:])}
    assert frozenset(("fast0", "slow0")) not in neighbours
    share = {device: len(stage["layers"]) for device, stage in zip(devices, stages)}
    assert share["fast0"] + share["fast1"] > share["slow0"] + share["slow1"]


def test_fewer_and_more_microbatches_than_compiled(workshop):
    for microbatches in (1, 3, 11):
        found, _ = workshop.run("mlp.py:mlp", 3, "1f1b", microbatches=microbatches)
        wrong = golden.disagreements(workshop.golden("mlp.py:mlp", microbatches)[1], found)
        assert not wrong, "\n".join(wrong)


def layers_by_stage(manifest):
    return [(stage["stage"], len(stage["layers"])) for stage in manifest["plan"]["stages"]]


@pytest.mark.parametrize("stages", (2, 3))
def test_scan_gives_the_stages_and_bytes_of_the_unrolled_model(workshop, stages):
    scan, plain = workshop.manifest(SCAN, stages, "1f1b"), workshop.manifest(GPT, stages, "1f1b")
    assert layers_by_stage(scan) == layers_by_stage(plain)
    for a, b in zip(scan["ranks"], plain["ranks"], strict=True):
        assert a["stages"] == b["stages"] and len(a["nodes"]) == len(b["nodes"])
        for kind in ("live_peak", "arena"):
            assert abs(a["memory"][kind] - b["memory"][kind]) <= 0.05 * b["memory"][kind]


def test_a_graph_of_26000_operations_compiles_within_a_minute(workshop):
    model, artifact = workshop.path("gpt72.mlir"), workshop.path("gpt72.swx")
    call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models" / GPT, "-o", model,
         env={"PYTHONPATH": str(HERE.parents[1] / "python"), "STAGEWRIGHT_GPT": "512,64,4,72,32,2"})
    assert sum(" = " in line for line in model.read_text().splitlines()) > 20_000
    tool("pp-compile", model, "--cluster=local:4", "--microbatches=8", "--quiet", "-o", artifact, timeout=60)
    assert artifact.stat().st_size > 0


def test_no_compiler_and_no_python_behind_pp_run():
    listed = call("ldd", BUILD / "bin/pp-run")
    assert "libstagewright-rt" in listed
    assert not re.search(r"mlir|llvm|python", re.sub(r"=>.*", "", listed), re.IGNORECASE), listed
