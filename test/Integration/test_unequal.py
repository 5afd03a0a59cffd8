"""Two fast and two slow devices share samples: by speed and memory, run on equal cores with ranks slowed down."""

import itertools
import json
import random
import statistics
import subprocess

import pytest

import golden
from tiers import thorough
from workshop import BUILD, tool

GPT, LAYERS, RATIO = "gpt.py:gpt_slices", 5, 1.48
NAMES = ("fast0", "fast1", "slow0", "slow1")
STAGE = f"[0,{LAYERS})@" + "+".join(NAMES)
# Whether a plan fits depends on its shares alone; by default layers could also recompute more.
FLAGS = ("--schedule=1f1b", "--microbatches=8", "--recompute-level=0", "--quiet")


def cluster(workshop, memory=(1 << 34,) * 4, bandwidth=1e10):
    """A cluster file with these devices, their memory in bytes, and the bandwidth of their links."""
    slower = {name: RATIO if name.startswith("slow") else 1 for name in NAMES}
    devices = [{"name": name, "class": name[:4], "node": 0, "flops": 1e10 / slower[name], "bandwidth": 2e9 / slower[name],
                "memory": bytes} for name, bytes in zip(NAMES, memory, strict=True)]
    path = workshop.path("unequal.json")
    path.write_text(json.dumps({"name": "unequal", "devices": devices,
                                "fabric": {"inside": {"bandwidth": bandwidth, "latency": 2e-6}}}))
    return path


def compiled(workshop, plan, memory=(1 << 34,) * 4, model=GPT, sizes={}, name="unequal"):
    """(artifact, error): one of them is empty."""
    artifact = workshop.path(name, "swx")
    done = subprocess.run([BUILD / "bin/pp-compile", workshop.module(model, sizes), f"--cluster={cluster(workshop, memory)}",
                           f"--plan={plan}", *FLAGS, "-o", artifact], capture_output=True, text=True)
    return (None, done.stderr) if done.returncode else (artifact, "")


def compiled_for(workshop, path, plan, *flags):
    """As compiled(), for a cluster file and with other flags: (artifact, standard error)."""
    artifact = workshop.path("order", "swx")
    done = subprocess.run([BUILD / "bin/pp-compile", workshop.module(GPT, {}), f"--cluster={path}", f"--plan={plan}", *flags,
                           "--recompute-level=0", "-o", artifact], capture_output=True, text=True)
    return (None if done.returncode else artifact), done.stderr


def arenas(artifact):
    """The bytes of each device's arena."""
    return {rank["device"]: rank["memory"]["arena"] for rank in json.loads(tool("pp-run", artifact, "--info=json"))["ranks"]}


# Model, sizes, and stages on devices: so few that a brute force can try all shares of eight samples.
SMALL = {"STAGEWRIGHT_GPT": "V=32,D=16,H=2,L=1,T=8,B=8"}
SHARED = [
    ("mlp.py:mlp", {"STAGEWRIGHT_MLP": "L=2,B=8"}, (("[0,3)", NAMES),)),
    ("mlp.py:mlp", {"STAGEWRIGHT_MLP": "L=2,B=8"}, (("[0,1)", NAMES[:2]), ("[1,3)", NAMES[2:]))),
    *thorough([(GPT, SMALL, (("[0,2)", NAMES[1:]), ("[2,4)", NAMES[:1]))),
               ("llama.py:llama", {"STAGEWRIGHT_LLAMA": "V=32,D=16,H=2,G=1,F=24,L=1,T=8,B=8"}, (("[0,2)", NAMES[::2]), ("[2,4)", NAMES[3:])))]),
]


def shares_of(stages, samples):
    """All shares of the replicas of all stages."""
    return list(itertools.product(*([rows for rows in itertools.product(range(1, samples + 1), repeat=len(names)) if sum(rows) == samples]
                                    for _, names in stages)))


@pytest.mark.parametrize("model, sizes, stages", SHARED, ids=("mlp-4", "mlp-2-2", "gpt-3-1", "llama-2-1"))
def test_shares_fit_if_and_only_if_a_brute_force_over_arenas_finds_some(workshop, model, sizes, stages):
    texts = [f"{layers}@{'+'.join(names)}" for layers, names in stages]
    devices = [name for _, names in stages for name in names]

    def plan(shares):
        return " ".join(text + (":" + "+".join(map(str, rows)) if len(rows) > 1 else "") for text, rows in zip(texts, shares, strict=True))

    found = {shares: compiled(workshop, plan(shares), model=model, sizes=sizes, name=plan(shares)) for shares in shares_of(stages, 8)}
    known = {shares: arenas(artifact) for shares, (artifact, _) in found.items()}
    draw, fitting, refused = random.Random(len(known)), 0, 0
    for number in range(6):
        # Memory is exactly what some shares need, 64 bytes less on one device, or what different shares need on each device.
        most = {name: known[draw.choice(list(known))][name] for name in devices}
        if number % 3 < 2:
            most = dict(known[draw.choice(list(known))])
            most[draw.choice(devices)] -= 64 * (number % 3)
        memory = tuple(most.get(name, 1 << 34) for name in NAMES)
        fits = [own for own in known.values() if all(own[name] <= most[name] for name in devices)]
        artifact, error = compiled(workshop, " ".join(texts), memory, model, sizes)
        assert bool(artifact) == bool(fits), (most, error, fits)
        fitting, refused = fitting + bool(fits), refused + (not fits)
        if artifact:
            assert all(arena <= most[name] for name, arena in arenas(artifact).items())
        else:
            assert "needs" in error and "on device" in error and "has" in error
    assert fitting and refused


def test_equal_shares_that_do_not_fit_are_refused_with_bytes_and_others_run(workshop):
    artifact, error = compiled(workshop, f"{STAGE}:2+2+2+1")
    two = arenas(artifact)
    # The third device has room for one sample only.
    memory = [1 << 34, 1 << 34, two["slow0"] - 64, 1 << 34]
    artifact, error = compiled(workshop, f"{STAGE}:2+2+2+1", memory)
    assert not artifact and "on device slow0, has" in error
    artifact, error = compiled(workshop, STAGE, memory)
    assert artifact, error
    assert arenas(artifact)["slow0"] <= memory[2]
    results, _ = workshop.run_artifact(GPT, artifact, "--check-memory", "--dilate=2:1.48,3:1.48")
    wrong = golden.disagreements(workshop.golden(GPT)[1], results)
    assert not wrong, "\n".join(wrong)


def test_a_plan_that_fits_by_its_arenas_keeps_its_order(workshop):
    plan, slow = f"[0,2)@fast0+fast1:1+6 [2,{LAYERS})@slow0", 1e7
    path = cluster(workshop, bandwidth=slow)
    artifact, error = compiled_for(workshop, path, plan, "--schedule=1f1b")
    assert artifact, error
    memory = arenas(artifact)
    artifact, error = compiled_for(workshop, path, plan)
    assert artifact, error
    assert any(arenas(artifact)[name] > bytes for name, bytes in memory.items()), "an order that keeps more is faster"
    path = cluster(workshop, [memory.get(name, 1 << 34) for name in NAMES], slow)
    artifact, error = compiled_for(workshop, path, plan)
    assert artifact, error
    assert all(arenas(artifact)[name] <= bytes for name, bytes in memory.items())
    # It was planned several times; each remark is printed once.
    assert error.count("no number of microbatches is given, taking 8") == 1


def forwards(workshop, artifact, factors):
    """By rank: the median microseconds of a forward when ranks are slowed down by `factors`."""
    trace = workshop.path("unequal", "trace.json")
    flags = [f"--dilate={rank}:{factor:g}" for rank, factor in enumerate(factors)]
    results, _ = workshop.run_artifact(GPT, artifact, *flags, "--steps=10", "--trace=steps=2:10", f"--trace={trace}")
    wrong = golden.disagreements(workshop.golden(GPT)[1], results)
    assert not wrong, "\n".join(wrong)
    events = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "forward"]
    return [statistics.median(event["dur"] for event in events if event["tid"] == tid)
            for tid in sorted({event["tid"] for event in events})]


def test_dilated_ranks_take_longer_by_their_factor(workshop):
    artifact, error = compiled(workshop, STAGE)
    assert artifact, error
    for _ in range(6):  # until other processes disturb neither run
        equal = forwards(workshop, artifact, (20,) * 4)
        slower = forwards(workshop, artifact, (20, 20, 20 * RATIO, 20 * RATIO))
        assert len(equal) == len(slower) == 4
        ratios = [slower[rank] / equal[rank] for rank in (2, 3)]
        if all(1.48 * 0.8 < ratio < 1.48 * 1.25 for ratio in ratios):
            return
    raise AssertionError(f"ranks that are slower by 1.48 took {ratios} times as long")
