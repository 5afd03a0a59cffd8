"""Ranks that run what is ready: the bits of the ordered run, within credits, as threads and processes."""

import json
import re
import shutil
import subprocess

import pytest
from safetensors.numpy import load_file
from test_processes import AS_ROOT, command
from test_schedules import CHUNKS, GPT, RANKS, SPLIT, TWINS, WHOLE, orders, run, scheduled, short
from tiers import thorough
from workshop import BUILD, call, tool

KINDS = ("1f1b", "zb-h1", "interleaved", "chimera")
MORE = tuple(kind for kind in (*WHOLE, *SPLIT, *CHUNKS, *TWINS, "auto") if kind not in KINDS)
LATE = "--pace=F:1ms,jitter:1,seed:1"  # what is ready, and so the order of actions, differs
HAS_MPI = shutil.which("mpirun") and (BUILD / "lib/libstagewright-mpi.so").exists()


def in_order(kind):
    """A schedule with the same sums that takes the microbatches of every stage in order."""
    return "breadth-first" if kind == "looped-bfs" else kind


def bits(results):
    return {key: value.tobytes() for key, value in results.items()}


def ready(workshop, name, text, *flags):
    """The artifact of a scheduled program whose ranks run what is ready."""
    def make():
        source, artifact = workshop.path("ready", name, "mlir"), workshop.path("ready", name, "swx")
        source.write_text(text)
        tool("pp-compile", source, "--execution=ready", "--quiet", *flags, "-o", artifact)
        return artifact
    return workshop.once(("ready", name, *flags), make)


def check_run(workshop, artifact, printed, trace, text, processes=False):
    """Live bytes are at most the credits; each kind and stage goes through its microbatches in order.

    Processes have memory of their own for what they send."""
    manifest = json.loads(tool("pp-run", artifact, "--info=json"))
    seen = re.findall(r"rank (\d+): live bytes (\d+), printed (\d+), arena (\d+)", printed)
    assert len(seen) == RANKS
    for rank, live, peak, arena in seen:
        memory, buffers = manifest["ranks"][int(rank)]["memory"], manifest["ranks"][int(rank)]["buffers"]
        sent = sum(ring["depth"] * -(-ring["bytes"] // 64) * 64 for ring in manifest["channels"] if ring["from"] == int(rank))
        assert memory["shared"] == 0 and int(arena) == memory["arena"] + processes * sent
        assert int(live) <= int(peak) + 64 * len(buffers)
    events = [e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X" and e["pid"] == 0 and e["cat"] != "update"]
    for rank, order in enumerate(orders(text)):
        lanes, done = {}, []
        for event in sorted((e for e in events if e["tid"] == rank), key=lambda e: e["ts"]):
            stage, kind, microbatch = re.fullmatch(r"(\d+)([FBIWR])(\d+)", event["name"]).groups()
            lanes.setdefault((stage, kind), []).append(int(microbatch))
            done.append(event["name"])
            if "ready" in event["args"] and kind != "R":
                assert event["name"] in event["args"]["ready"]
        assert all(lane == sorted(lane) for lane in lanes.values())
        apart = {name[0] for name in order if "I" in name}
        wanted = [part for name in order for part in ((name.replace("B", "I"), name.replace("B", "W"))
                                                      if "B" in name and name[0] in apart else (name,))]
        assert sorted(done) == sorted(wanted)


@pytest.mark.parametrize("kind", [*KINDS, *thorough(MORE)])
def test_results_are_those_of_the_order(workshop, kind):
    text = scheduled(workshop, kind)
    artifact, trace = ready(workshop, short(kind), text), workshop.path("ready", kind, "json")
    results, printed = workshop.run_artifact(GPT, artifact, "--check-memory", "--steps=2", f"{LATE},hop:1ms", f"--trace={trace}")
    assert bits(results) == bits(run(workshop, in_order(kind), scheduled(workshop, in_order(kind))).results)
    check_run(workshop, artifact, printed, trace, text)


@pytest.mark.parametrize("kind", ["1f1b", *thorough((*KINDS[1:], *MORE))])
@pytest.mark.skipif(not HAS_MPI, reason="there is no MPI")
def test_processes_give_the_same_bits(workshop, kind):
    text = scheduled(workshop, kind)
    artifact = ready(workshop, short(kind), text)
    out, trace = workshop.path("ready", kind, "safetensors"), workshop.path("ready", kind, "mpi.json")
    printed = call(*command(workshop, artifact, "--steps=2", "--check-memory", LATE, f"--outputs={out}", f"--trace={trace}"), env=AS_ROOT)
    assert bits(load_file(out)) == bits(run(workshop, in_order(kind), scheduled(workshop, in_order(kind))).results)
    check_run(workshop, artifact, printed, trace, text, processes=True)


@pytest.mark.parametrize("stages", (2, 3))
def test_fewer_ranks(workshop, stages):
    results, _ = workshop.run_artifact(GPT, workshop.artifact(GPT, stages, "1f1b", "--execution=ready"), "--check-memory")
    assert bits(results) == bits(workshop.run(GPT, stages, "1f1b")[0])


def test_all_credits_are_used_where_a_later_rank_is_slow(workshop):
    """The last rank takes far longer than all others, so these run forwards until they have no credit left."""
    artifact = ready(workshop, "1f1b", scheduled(workshop, "1f1b"))
    printed = workshop.run_artifact(GPT, artifact, "--check-memory", "--dilate=3:50")[1]
    ranks = json.loads(tool("pp-run", artifact, "--info=json"))["ranks"]
    seen = re.findall(r"rank (\d+): live bytes (\d+), printed (\d+)", printed)
    for rank, live, peak in seen:
        memory = ranks[int(rank)]["memory"]
        assert int(peak) - memory["workspace"] <= int(live) <= int(peak) + 64 * len(ranks[int(rank)]["buffers"])


def check_credits(workshop, folder, model, kind, *flags):
    """With 2 % more memory than the arenas take no credit is taken back; with 2 % less some are, and the arenas fit. An order needs
    less than with spare credits, so the plan fits in any case."""
    def compiled(*more):
        done = subprocess.run([BUILD / "bin/pp-compile", workshop.module(model), f"--cluster=local:{RANKS}", f"--schedule={kind}", "--microbatches=8",
                               "--execution=ready", "--spare-credits=2", "-o", folder / "step.swx", *flags, *more], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return "memory allows credits" in done.stderr, max(rank["memory"]["arena"] for rank in
                                                           json.loads(tool("pp-run", folder / "step.swx", "--info=json"))["ranks"])

    capped, arena = compiled()
    assert not capped
    assert compiled(f"--memory={int(1.02 * arena)}B") == (False, arena)
    memory = int(0.98 * arena)
    capped, less = compiled(f"--memory={memory}B")
    assert capped and less <= memory


@pytest.mark.parametrize("kind, flags", [
    ("1f1b", ("--max-replicas=1", "--recompute-level=0")), ("1f1b", ("--max-replicas=1", "--recompute-level=1")), ("zb-h1", ("--max-replicas=1", "--recompute-level=2")),
    ("1f1b", ("--stages=2", "--max-replicas=2", "--recompute-level=0")), *thorough([("zb-h1", ("--max-replicas=1", "--recompute-level=0")), ("1f1b", ("--max-replicas=1", "--recompute-level=2"))]),
])
def test_credits_go_by_the_arenas(workshop, tmp_path, kind, flags):
    check_credits(workshop, tmp_path, GPT, kind, *(() if "--stages=2" in flags else ("--stages=4",)), *flags)


@pytest.mark.parametrize("plan", ("[0,2)x1 [2,10)x2:1+1", "[0,6)x2:1+1 [6,10)x1", *thorough(("[0,2)x1 [2,10)x2", "[0,6)x1 [6,10)x1"))))
def test_credits_go_by_where_gradients_are_summed(workshop, tmp_path, plan):
    """The first and the last stage have the embedding. If one of them is on two devices, all three sum its gradient in place; else the
    first gets the other part."""
    check_credits(workshop, tmp_path, "gpt.py:gpt_deep_tied", "1f1b", f"--plan={plan}", "--recompute-level=0")


SHARDS = {"stages": ("1f1b", "--tensor-parallel=2", "--stages=2"), "halves": ("zb-h1", "--tensor-parallel=2", "--stages=2"),
          "copies": ("levels", "--tensor-parallel=2", "--data-parallel=2"), "one": ("levels", "--tensor-parallel=4")}


def shards(workshop, name):
    """(ordered artifact, ready-first artifact, scheduled text) of a GPT whose layers are split over two or four ranks."""
    kind, *flags = SHARDS[name]
    hints = "*/fc=1,*/proj=0" + (",*/qkv=1:3,*/o=0" if "=2" in flags[0] else "")

    def compiled(execution, *more):
        path = workshop.path("ready", name, execution, *more, "out")
        tool("pp-compile", workshop.module(GPT), f"--cluster=local:{RANKS}", f"--schedule={kind}", *flags, f"--shard={hints}",
             "--microbatches=8", f"--execution={execution}", "--quiet", *more, "-o", path)
        return path
    return workshop.once(("ready", "shards", name), lambda: (compiled("ordered"), compiled("ready", "--spare-credits=1"),
                                                             compiled("ordered", "--emit=schedule").read_text()))


@pytest.mark.parametrize("name", ("stages", *thorough(("halves", "copies", "one"))))
@pytest.mark.parametrize("processes", (False, pytest.param(True, marks=pytest.mark.skipif(not HAS_MPI, reason="there is no MPI"))))
def test_shards_choose_levels_for_themselves(workshop, name, processes):
    """A level is an action of its own, so the shards of a layer need not run the same one at a time."""
    ordered, artifact, text = shards(workshop, name)
    out, trace = workshop.path("ready", name, "safetensors"), workshop.path("ready", name, "json")

    def results(artifact, *flags):
        if not processes:
            return workshop.run_artifact(GPT, artifact, *flags)
        printed = call(*command(workshop, artifact, *flags, f"--outputs={out}"), env=AS_ROOT)
        return load_file(out), printed
    found, printed = results(artifact, "--check-memory", "--steps=2", LATE, f"--trace={trace}")
    assert bits(found) == bits(results(ordered)[0])
    check_run(workshop, artifact, printed, trace, text, processes)


def test_replicas_and_recomputed_forwards(workshop):
    """Replicas by slices and by whole microbatches; an R runs with the backward that needs it."""
    for name, flags in (("slices", ("--stages=2", "--max-replicas=2")), ("again", ("--recompute-level=1", "--max-replicas=1"))):
        text = scheduled(workshop, "1f1b", GPT, *flags)
        artifact = ready(workshop, name, text)
        results, _ = workshop.run_artifact(GPT, artifact, "--check-memory")
        assert bits(results) == bits(run(workshop, name, text).results)
