"""Compiled steps for GPUs with a process for each rank, on the emulator. It transfers one message at a time, in the order
of the plan, so a plan that needs two in flight at once would hang."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from safetensors.numpy import load_file

import golden
from emulator import NEEDED, emulated
from overlap import beside_sums
from test_processes import alive, children
from test_schedules import GPT, MICROBATCHES, RANKS
from workshop import BUILD, HERE, call, tool

sys.path.insert(0, str(HERE.parents[1]))

from bench.harness.hosts import cluster  # noqa: E402

INPUTS = HERE.parent / "Inputs"

pytestmark = NEEDED


@pytest.fixture
def recorded(tmp_path):
    return emulated(log=f"{tmp_path}/%d.log")


def artifact(workshop, kind, *flags):
    path = workshop.path("device", kind, *flags, "swx")
    tool("pp-compile", workshop.module(GPT), "--target=cuda:sm_90a", f"--cluster=local:{RANKS}", f"--schedule={kind}",
         "--max-replicas=1", f"--microbatches={MICROBATCHES}", "--quiet", "-o", path, *flags)
    return path


@pytest.mark.parametrize("kind", ("1f1b", "zb-h2", "interleaved", "zb-v", "dualpipe"))
def test_a_schedule_runs_to_its_end(workshop, recorded, tmp_path, kind):
    step = artifact(workshop, kind)
    tool("pp-run", step, "--processes", f"--inputs={workshop.golden(GPT)[0]}", "--steps=3", "--deadline=30", env=recorded)
    logs = sorted(tmp_path.glob("*.log"))
    assert len(logs) == RANKS
    print(call(sys.executable, INPUTS / "check-messages.py", *logs))


@pytest.mark.parametrize("kind", ("dualpipe", "chimera"))
def test_twins_sum_their_gradients(workshop, recorded, tmp_path, kind):
    """Two groups of two ranks, each with its own communicator, in addition to the schedule's messages."""
    step = artifact(workshop, kind, "--bucket-bytes=100000")
    assert "parts of sums over ranks" in tool("pp-run", step, "--dry-run", "--processes")
    assert "parts of sums over ranks" in tool("pp-run", step, "--dry-run")  # chooses processes by default
    tool("pp-run", step, "--processes", f"--inputs={workshop.golden(GPT)[0]}", "--steps=3", "--deadline=30", env=recorded)
    logs = sorted(tmp_path.glob("*.log"))
    assert len(logs) == RANKS
    sums = len(json.loads(tool("pp-run", step, "--info=json"))["collectives"])
    assert sums > 2
    assert call(sys.executable, INPUTS / "check-messages.py", *logs).endswith(f" {sums} sums\n")


@pytest.mark.parametrize("kind", ("dualpipe", "chimera"))
@pytest.mark.parametrize("flags", ((), ("--no-graph",)), ids=("graph", "calls"))
def test_ranks_of_one_process_sum_as_processes_do(workshop, tmp_path, kind, flags):
    """In one process each rank has a GPU of its own; the parts of a sum are one group of NCCL's calls."""
    step, (inputs, expected) = artifact(workshop, kind, "--bucket-bytes=100000"), workshop.golden(GPT)
    assert "parts of sums over ranks" in tool("pp-run", step, "--dry-run", "--transport=threads")
    apart, together = workshop.path("sums.apart"), workshop.path("sums.together")
    tool("pp-run", step, "--processes", f"--inputs={inputs}", f"--outputs={apart}", env=emulated(devices=RANKS))
    for seed in range(2):
        tool("pp-run", step, "--transport=threads", f"--inputs={inputs}", f"--outputs={together}", "--steps=2", *flags,
             env=emulated(devices=RANKS, seed=seed, log=tmp_path / "log"))
        assert pathlib.Path(apart).read_bytes() == pathlib.Path(together).read_bytes()
        if not flags:  # The check needs a capture.
            sums = len(json.loads(tool("pp-run", step, "--info=json"))["collectives"])
            assert call(sys.executable, INPUTS / "check-messages.py", tmp_path / "log").endswith(f" {sums} sums\n")
    assert not golden.disagreements(expected, load_file(together))


@pytest.mark.parametrize("flags, logs", ((("--processes",), 2), (("--transport=threads",), 1)), ids=("processes", "threads"))
def test_sums_run_beside_the_backward(workshop, tmp_path, flags, logs):
    """Two replicas of the whole model. The first bucket is full when a quarter of the last backward is done, and neither rank's
    sum waits for the rest of it, nor the rest for the sum. The last bucket has nothing to overlap with."""
    step = workshop.path("device-replicas.swx")
    tool("pp-compile", workshop.module(GPT), "--target=cuda:sm_90a", "--cluster=local:2", "--plan=[0,10)x2", "--bucket-bytes=100000",
         f"--microbatches={MICROBATCHES}", "--quiet", "-o", step)
    tool("pp-run", step, *flags, f"--inputs={workshop.golden(GPT)[0]}", env=emulated(devices=2, records=1, log=f"{tmp_path}/%d.log"))
    found = [calls for path in tmp_path.glob("*.log") for calls in beside_sums(path.read_text()).values()]
    assert len(list(tmp_path.glob("*.log"))) == logs and len(found) == 2
    for calls in found:
        assert calls[0] > 50 and calls[-1] < 5, found


def test_ranks_of_one_process_that_sum_need_a_gpu_each(workshop):
    step, inputs = artifact(workshop, "dualpipe", "--bucket-bytes=100000"), workshop.golden(GPT)[0]
    for flags in (("--dry-run", "--devices=0,1,2,0"), (f"--inputs={inputs}", "--devices=0,1,2,0"), (f"--inputs={inputs}",)):
        with pytest.raises(AssertionError, match="share device 0 within one process, .* with --processes, or compile with --bucket-bytes=0"):
            tool("pp-run", step, "--transport=threads", *flags, env=emulated(devices=1 if len(flags) == 1 else RANKS))


@pytest.mark.parametrize("symbol, device", [("ncclCommInitAll", -1), *(("ncclAllReduce", device) for device in range(RANKS))])
def test_errors_of_sums_within_a_process_are_reported(workshop, symbol, device):
    """Also if other ranks have begun the sum already, and wait for this one."""
    step = artifact(workshop, "dualpipe", "--bucket-bytes=100000")
    with pytest.raises(AssertionError, match=rf"pp-run: error: {symbol}: asked to fail \(5\)"):
        tool("pp-run", step, "--transport=threads", f"--inputs={workshop.golden(GPT)[0]}", timeout=60,
             env=emulated(devices=RANKS, fail=f"{symbol}=5", fail_device=device))


def on_two_hosts(workshop, *flags):
    """(path of an artifact for two hosts with two devices each, its manifest)."""
    path = workshop.path("device-hosts")
    pathlib.Path(f"{path}.json").write_text(json.dumps(cluster("hosts", (2, 2), 125e6)))
    tool("pp-compile", workshop.module(GPT), "--target=cuda:sm_90a", f"--cluster={path}.json", f"--microbatches={MICROBATCHES}",
         "--quiet", "-o", f"{path}.swx", *flags)
    return f"{path}.swx", json.loads(tool("pp-run", f"{path}.swx", "--info=json"))


def test_calls_of_the_host_by_nccl_are_counted(workshop):
    """Only messages between the hosts count, forward and backward, at both ends."""
    path, manifest = on_two_hosts(workshop, f"--stages={RANKS}", "--schedule=1f1b", "--max-replicas=1")
    hosts = [rank["host"] for rank in manifest["ranks"]]
    between = sum(hosts[channel["from"]] != hosts[channel["to"]] for channel in manifest["channels"])
    assert hosts == [0, 0, 1, 1] and between > 0
    assert f"host calls   {2 * between * MICROBATCHES} by NCCL" in tool("pp-run", path, "--dry-run", "--processes")


@pytest.mark.parametrize("places, hosts", ((("core0+core2", "core1+core3"), [0, 1, 0, 1]), (("core0+core1", "core2+core3"), [0, 0, 1, 1])),
                         ids=("sums between hosts", "sums within hosts"))
def test_so_are_those_for_sums(workshop, places, hosts):
    """With two replicas on two hosts, both parts of each sum and the message of the loss cross hosts; with two on one host, all
    other messages do."""
    path, manifest = on_two_hosts(workshop, "--plan=[0,5)@{} [5,10)@{}".format(*places), "--bucket-bytes=100000")
    assert [rank["host"] for rank in manifest["ranks"]] == hosts
    assert len(manifest["channels"]) == 4 + 1 and len(manifest["collectives"]) == 4
    calls = 2 * (4 + 1) if hosts[0] != hosts[1] else 2 * 4 * MICROBATCHES
    assert f"host calls   {calls} by NCCL" in tool("pp-run", path, "--dry-run", "--processes")


def test_ranks_of_a_launcher_equal_jax(workshop, recorded):
    """Four processes started as by torchrun, the last rank first: the results equal JAX's, and --processes' to the bit."""
    step, (inputs, expected) = artifact(workshop, "1f1b"), workshop.golden(GPT)
    found, children = workshop.path("rendezvous.found"), workshop.path("rendezvous.children")
    tool("pp-run", step, "--processes", f"--inputs={inputs}", f"--outputs={children}", env=recorded)
    print(call(sys.executable, INPUTS / "launch-ranks.py", f"--ranks={RANKS}", "--order=3,1,2,0", "--pause=0.3", BUILD / "bin/pp-run",
               step, f"--inputs={inputs}", f"--outputs={found}", env=recorded))
    assert pathlib.Path(found).read_bytes() == pathlib.Path(children).read_bytes()
    assert not golden.disagreements(expected, load_file(found))


@pytest.mark.parametrize("how", ("KILL", "STOP"))
def test_a_rank_of_four_ends_all(workshop, recorded, how):
    done = subprocess.run([sys.executable, INPUTS / "kill-rank.py", f"--signal={how}", f"--ranks={RANKS}", "--runs=3", "--within=4",
                           BUILD / "bin/pp-run", artifact(workshop, "zb-h2"), "--processes",
                           f"--inputs={workshop.golden(GPT)[0]}", "--steps=1000000"],
                          capture_output=True, text=True,
                          env={**os.environ, **recorded, "STAGEWRIGHT_EMULATOR_RECORDS": "1"})  # short steps: a short deadline
    assert done.returncode == 0, done.stdout + done.stderr


def test_who_failed_first_speaks_for_all(workshop):
    """The parent is stopped until all ranks have ended, so it learns of the cause and its consequences at once."""
    failing = emulated(devices=RANKS, fail="ncclSend=5", fail_device=RANKS - 1)
    started = subprocess.Popen([BUILD / "bin/pp-run", artifact(workshop, "1f1b"), "--processes", f"--inputs={workshop.golden(GPT)[0]}"],
                               env={**os.environ, **failing}, stderr=subprocess.PIPE, text=True)
    limit = time.monotonic() + 60
    while len(children(started.pid)) < RANKS:
        assert started.poll() is None and time.monotonic() < limit
    # The parent then closes its ends of the children's sockets. Stopped before, it would keep them open, and no rank could see
    # that another has ended.
    time.sleep(0.05)
    started.send_signal(signal.SIGSTOP)
    while any(map(alive, children(started.pid))):
        assert time.monotonic() < limit
        time.sleep(0.05)
    started.send_signal(signal.SIGCONT)
    _, said = started.communicate(timeout=60)
    assert [line for line in said.splitlines() if "error" in line] == [f"pp-run: error: rank {RANKS - 1}: ncclSend: asked to fail (5)"]
