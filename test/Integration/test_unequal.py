"""Two fast and two slow devices share samples: by speed and memory, run on equal cores with ranks slowed down."""

import itertools
import json
import random
import statistics
import subprocess

import golden
from workshop import BUILD, tool

GPT, SAMPLES, LAYERS, RATIO = "gpt.py:gpt_slices", 7, 5, 1.48
NAMES = ("fast0", "fast1", "slow0", "slow1")
DEALS = [rows for rows in itertools.product(range(1, SAMPLES), repeat=4) if sum(rows) == SAMPLES]
STAGE = f"[0,{LAYERS})@" + "+".join(NAMES)
# Feasibility is that of the shares alone; by default layers may also recompute more.
FLAGS = ("--schedule=1f1b", "--microbatches=8", "--recompute-level=0", "--quiet")


def cluster(workshop, memory=(1 << 34,) * 4):
    """A file with these devices; their memory in bytes."""
    slower = {name: RATIO if name.startswith("slow") else 1 for name in NAMES}
    devices = [{"name": name, "class": name[:4], "node": 0, "flops": 1e10 / slower[name], "bandwidth": 2e9 / slower[name],
                "memory": bytes} for name, bytes in zip(NAMES, memory, strict=True)]
    path = workshop.path("unequal.json")
    path.write_text(json.dumps({"name": "unequal", "devices": devices,
                                "fabric": {"inside": {"bandwidth": 1e10, "latency": 2e-6}}}))
    return path


def compiled(workshop, plan, memory=(1 << 34,) * 4):
    """(artifact, error): one of them is empty."""
    artifact = workshop.path("unequal", "swx")
    done = subprocess.run([BUILD / "bin/pp-compile", workshop.module(GPT), f"--cluster={cluster(workshop, memory)}",
                           f"--plan={plan}", *FLAGS, "-o", artifact], capture_output=True, text=True)
    return (None, done.stderr) if done.returncode else (artifact, "")


def arenas(artifact):
    return [rank["memory"]["arena"] for rank in json.loads(tool("pp-run", artifact, "--info=json"))["ranks"]]


def test_shares_fit_if_and_only_if_a_deal_with_real_arenas_does(workshop):
    """A rank's arena depends on its own samples. Seven samples on four devices, memory at random. Planned bytes are at most 3 %
    above arenas and never below: a plan that is found fits, and one is found if some deal fits with 3 % left."""
    sizes = {}  # By rank and samples.
    for rows in ((1, 1, 1, 4), (1, 1, 4, 1), (1, 4, 1, 1), (4, 1, 1, 1), (2, 2, 2, 1), (1, 2, 2, 2), (3, 2, 1, 1), (1, 3, 1, 2),
                 (1, 1, 3, 2), (2, 1, 1, 3)):
        artifact, error = compiled(workshop, f"{STAGE}:{'+'.join(map(str, rows))}")
        assert artifact, error
        for rank, (count, size) in enumerate(zip(rows, arenas(artifact), strict=True)):
            assert sizes.setdefault((rank, count), size) == size
    assert len(sizes) == 16
    draw, fitting, refused, moved = random.Random(5), 0, 0, 0
    low, high = sizes[1, 1], sizes[0, 4]
    for _ in range(16):
        memory = [draw.randint(int(low * 0.98), high) for _ in NAMES]
        fits, closely = ([rows for rows in DEALS if all(sizes[rank, count] * more <= memory[rank]
                                                        for rank, count in enumerate(rows))] for more in (1.03, 1))
        artifact, error = compiled(workshop, STAGE, memory)
        assert closely or not artifact
        if not artifact:
            assert not fits, f"{memory}: {fits}, but {error}"
            refused += 1
            assert "needs" in error and "on device" in error and "has" in error
            continue
        fitting += 1
        assert all(size <= most for size, most in zip(arenas(artifact), memory, strict=True))
        moved += max(sizes[rank, count] > memory[rank] for rank, count in enumerate((2, 2, 2, 1)))
    assert fitting and refused and moved


def test_equal_shares_that_do_not_fit_are_refused_with_bytes_and_others_run(workshop):
    artifact, error = compiled(workshop, f"{STAGE}:2+2+2+1")
    two = arenas(artifact)
    # The third device has room for one sample only.
    memory = [1 << 34, 1 << 34, two[2] - 64, 1 << 34]
    artifact, error = compiled(workshop, f"{STAGE}:2+2+2+1", memory)
    assert not artifact and "on device slow0, has" in error
    artifact, error = compiled(workshop, STAGE, memory)
    assert artifact, error
    assert arenas(artifact)[2] <= memory[2]
    results, _ = workshop.run_artifact(GPT, artifact, "--check-memory", "--dilate=2:1.48,3:1.48")
    wrong = golden.disagreements(workshop.golden(GPT)[1], results)
    assert not wrong, "\n".join(wrong)


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
    for _ in range(6):  # Until both runs were left alone by other processes.
        equal = forwards(workshop, artifact, (20,) * 4)
        slower = forwards(workshop, artifact, (20, 20, 20 * RATIO, 20 * RATIO))
        assert len(equal) == len(slower) == 4
        ratios = [slower[rank] / equal[rank] for rank in (2, 3)]
        if all(1.48 * 0.8 < ratio < 1.48 * 1.25 for ratio in ratios):
            return
    raise AssertionError(f"ranks that are slower by 1.48 took {ratios} times as long")
