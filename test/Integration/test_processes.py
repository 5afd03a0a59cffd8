"""Every kind of schedule with a process for each rank: bits and order equal those of threads; also processes that die."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest
from safetensors.numpy import load_file
from test_schedules import CHUNKS, GPT, RANKS, SPLIT, TWINS, WHOLE, Found, run, scheduled
from workshop import BUILD, call

pytestmark = pytest.mark.skipif(not shutil.which("mpirun") or not (BUILD / "lib/libstagewright-mpi.so").exists(),
                                reason="there is no MPI")
LAUNCH = ("mpirun", "--quiet", "--oversubscribe", "-n")
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def command(workshop, artifact, *flags, ranks=RANKS, model=GPT):
    return [str(part) for part in (*LAUNCH, ranks, BUILD / "bin/pp-run", artifact,
                                   f"--inputs={workshop.golden(model)[0]}", *flags)]


def check_as_threads(workshop, name, artifact, threads, ranks=RANKS):
    """Compares the bits of the results and the order of every rank, and checks memory."""
    out, trace = workshop.path("processes", name, "safetensors"), workshop.path("processes", name, "json")
    printed = call(*command(workshop, artifact, "--steps=2", "--check-memory", f"--outputs={out}", f"--trace={trace}",
                            ranks=ranks), env=AS_ROOT)
    found = load_file(out)
    assert {k: v.tobytes() for k, v in found.items()} == {k: v.tobytes() for k, v in threads.results.items()}
    here = Found.__new__(Found)
    here.events = json.loads(trace.read_text())["traceEvents"]
    for rank in range(ranks):
        assert here.order(rank) == threads.order(rank)
    assert len(re.findall(r"rank \d+: live bytes", printed)) == ranks
    assert printed.count("loss") == 1


@pytest.mark.parametrize("kind", WHOLE + SPLIT + CHUNKS + TWINS + ("auto",))
def test_a_schedule_gives_the_bits_of_threads(workshop, kind):
    threads = run(workshop, kind, scheduled(workshop, kind))
    check_as_threads(workshop, kind, threads.artifact, threads)


def test_two_ranks(workshop):
    artifact = workshop.artifact(GPT, 2, "1f1b")
    trace = workshop.path("two", "json")
    threads = Found.__new__(Found)
    threads.results, _ = workshop.run(GPT, 2, "1f1b", f"--trace={trace}")
    threads.events = json.loads(trace.read_text())["traceEvents"]
    check_as_threads(workshop, "two", artifact, threads, ranks=2)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(number) for number in file.read().split()]


def alive(pid):
    """Whether the process exists and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("sign", (signal.SIGKILL, signal.SIGSTOP), ids=("killed", "stopped"))
def test_a_rank_that_dies_or_hangs_ends_all(workshop, sign):
    """No process remains, and the exit status is not zero."""
    artifact = run(workshop, "1f1b", scheduled(workshop, "1f1b")).artifact
    started = subprocess.Popen(command(workshop, artifact, "--steps=1000000", "--deadline=2"),
                               env={**os.environ, **AS_ROOT}, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 60
    while len(children(started.pid)) < RANKS:
        assert time.monotonic() < limit
        time.sleep(0.05)
    ranks = children(started.pid)
    try:
        time.sleep(3)  # let steps run
        os.kill(ranks[2], sign)
        _, text = started.communicate(timeout=60)
        assert started.returncode != 0
        if sign == signal.SIGSTOP:
            assert text.count("error:") == 1 and re.search(r"the process of rank \d \(\d+\) did not answer", text), text
        else:
            assert text.count("error:") == 1 and re.search(r"the process of rank \d \(\d+\) has died; rank \d: ", text), text
        limit = time.monotonic() + 5  # mpirun does not wait for processes that it kills
        while any(map(alive, ranks)) and time.monotonic() < limit:
            time.sleep(0.05)
        assert not [pid for pid in ranks if alive(pid)]
    finally:
        started.kill()
        for pid in filter(alive, ranks):
            os.kill(pid, signal.SIGKILL)
