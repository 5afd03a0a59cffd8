"""Ranks on several hosts, simulated by network namespaces of this machine with links shaped by tc (bench/harness/hosts.py)."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from safetensors.numpy import load_file
from test_schedules import GPT
from workshop import BUILD, call, tool

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from bench.harness.hosts import AS_ROOT, Hosts, cluster, why_not  # noqa: E402

pytestmark = pytest.mark.skipif(bool(why_not()) or not (BUILD / "lib/libstagewright-mpi.so").exists(), reason=why_not() or "no MPI")
RUN = BUILD / "bin/pp-run"


def compiled(workshop, model, slots, rate, *flags):
    """A 1F1B artifact for a cluster of hosts; `slots` has the number of cores of each."""
    def make():
        path = workshop.path(model, *slots, rate)
        pathlib.Path(f"{path}.json").write_text(json.dumps(cluster("hosts", slots, rate)))
        tool("pp-compile", workshop.module(model), f"--cluster={path}.json", f"--stages={sum(slots)}", "--schedule=1f1b",
             "--microbatches=8", "--quiet", "-o", f"{path}.swx", *flags)
        return f"{path}.swx"
    return workshop.once(("hosts", model, slots, rate), make)


def started(hosts, slots, *arguments):
    return subprocess.run(hosts.command(slots, RUN, *arguments), capture_output=True, text=True, timeout=300,
                          env={**os.environ, **AS_ROOT})


def test_two_hosts_compute_what_threads_do(workshop):
    """Also, ranks must be on the hosts of their devices: two on each; three and one are refused."""
    artifact, inputs = compiled(workshop, GPT, (2, 2), 125e6), f"--inputs={workshop.golden(GPT)[0]}"
    threads, found = workshop.path("hosts.threads"), workshop.path("hosts.found")
    tool("pp-run", artifact, inputs, f"--outputs={threads}")
    manifest = json.loads(tool("pp-run", artifact, "--info=json"))
    assert [rank["host"] for rank in manifest["ranks"]] == [0, 0, 1, 1]
    with Hosts(workshop.directory, 2) as hosts:
        done = started(hosts, (2, 2), artifact, inputs, "--steps=2", f"--outputs={found}")
        assert done.returncode == 0, done.stderr
        assert ({key: value.tobytes() for key, value in load_file(found).items()} ==
                {key: value.tobytes() for key, value in load_file(threads).items()})
        wrong = started(hosts, (3, 1), artifact, inputs)
        assert wrong.returncode != 0
        assert ("the plan's ranks lie on 2 hosts (2 + 2), but the processes were started on 2 hosts (3 + 1)" in
                wrong.stderr), wrong.stderr
        assert wrong.stderr.count("error:") == 1


def test_a_plan_that_knows_the_slow_link_is_faster(workshop, monkeypatch):
    """A plan without the link's rate has other stages than one for 100 Mb/s, which is faster and predicts its time."""
    monkeypatch.setenv("STAGEWRIGHT_CONVNET", "S=64,C=16,B=4")
    slots, rate, model = (1, 1), 12.5e6, "convnet.py:convnet"
    module = workshop.path("convnet.hosts.mlir")
    call(sys.executable, "-m", "stagewright", "import", "jax", pathlib.Path(__file__).parent / "models" / model, "-o", module,
         env={"PYTHONPATH": str(pathlib.Path(__file__).resolve().parents[2] / "python")})
    monkeypatch.setattr(workshop, "module", lambda name: module)
    seconds, plans = {}, {}
    with Hosts(workshop.directory, 2, rate) as hosts:
        for known in (rate, None):
            artifact = compiled(workshop, model, slots, known)
            plans[known] = json.loads(tool("pp-run", artifact, "--info=json"))["plan"]
            done = started(hosts, slots, artifact, f"--inputs={module.with_suffix('.inputs.safetensors')}", "--any-hosts",
                           "--repeat-microbatch", "--json", "--steps=7")
            assert done.returncode == 0, done.stderr
            seconds[known] = min(json.loads(done.stdout)["seconds"][1:])  # the fastest: other tests may be running
    assert plans[rate]["stages"] != plans[None]["stages"]
    assert seconds[rate] < 0.75 * seconds[None], seconds
    # The link takes most of the time, so a busy machine measures nearly the same.
    assert seconds[rate] == pytest.approx(plans[rate]["time"], rel=0.5)


def test_paced_sends_keep_to_the_rates_of_the_flow_schedule(workshop):
    """The links are fast: only the rates, of NICs with 4 MB/s, make the step slow. Results keep their bits."""
    slots, nic = (1, 1, 1), 4e6
    module = workshop.module("mlp.py:mlp", {"STAGEWRIGHT_MLP": "I=256,D=256,O=256,L=6,B=256"})
    machines, artifact = workshop.path("paced", "json"), workshop.path("paced", "swx")
    machines.write_text(json.dumps(cluster("hosts", slots, nic)))
    tool("pp-compile", module, f"--cluster={machines}", "--stages=3", "--schedule=1f1b", "--microbatches=8", "--policy=oes", "--quiet",
         "-o", artifact)
    inputs = f"--inputs={module.with_suffix('.inputs.safetensors')}"
    manifest = json.loads(tool("pp-run", artifact, "--info=json"))
    rates = {(flow["from"], flow["to"]): flow["rate"] for flow in manifest["flows"]}
    assert set(rates) == {(0, 1), (1, 0), (1, 2), (2, 1)}
    for host in range(3):
        for end in range(2):
            assert sum(rate for pair, rate in rates.items() if pair[end] == host) <= nic * (1 + 1e-9)
    sent = {pair: 8 * sum(channel["bytes"] for channel in manifest["channels"]
                          if (channel["from"], channel["to"]) == pair and not channel.get("once")) for pair in rates}
    burst = 4 * (16 << 10)
    least = max((sent[pair] - burst) / rate for pair, rate in rates.items())
    seconds, results = {}, {}
    with Hosts(workshop.directory, 3) as hosts:
        for paced in (False, True):
            out = workshop.path("paced", paced)
            done = started(hosts, slots, artifact, inputs, "--repeat-microbatch", "--steps=3", "--json", f"--outputs={out}", *["--pace=sends"] * paced)
            assert done.returncode == 0, done.stderr
            seconds[paced] = min(json.loads(done.stdout)["seconds"][1:])
            results[paced] = {key: value.tobytes() for key, value in load_file(out).items()}
    assert results[True] == results[False]
    assert seconds[False] < 0.5 * least <= 0.5 * seconds[True], (seconds, least)
    # Each connection has its rate although all send at once: a step takes no longer than the bound and the waits of messages.
    assert seconds[True] < 2 * 1.1 * sum(sent.values()) / nic


def test_paced_sends_need_rates_and_processes(workshop):
    inputs = f"--inputs={workshop.golden(GPT)[0]}"
    artifact = compiled(workshop, GPT, (1, 1, 1), 2e6, "--policy=oes")
    with pytest.raises(AssertionError, match="pace has 'sends', but messages between threads have no rates; start a process for each"):
        tool("pp-run", artifact, inputs, "--pace=sends")
    with Hosts(workshop.directory, 2) as hosts:
        wrong = started(hosts, (2, 2), compiled(workshop, GPT, (2, 2), 125e6), inputs, "--pace=sends")
    assert wrong.returncode != 0
    assert ("pace has 'sends', but the artifact has no rates of its messages; compile it with pp-compile --policy=oes" in
            wrong.stderr), wrong.stderr


def test_a_host_that_dies_ends_the_others(workshop):
    artifact, inputs = compiled(workshop, GPT, (2, 2), 125e6), f"--inputs={workshop.golden(GPT)[0]}"
    with Hosts(workshop.directory, 2) as hosts:
        run = subprocess.Popen(hosts.command((2, 2), RUN, artifact, inputs, "--steps=1000000"), stderr=subprocess.PIPE,
                               text=True, env={**os.environ, **AS_ROOT})
        try:
            limit = time.monotonic() + 60
            while len(ranks_on(hosts, 1)) < 2:
                assert run.poll() is None and time.monotonic() < limit
                time.sleep(0.05)
            time.sleep(2)  # let steps run
            for pid in ranks_on(hosts, 1):
                os.kill(pid, signal.SIGKILL)
            run.communicate(timeout=60)
            assert run.returncode != 0
            limit = time.monotonic() + 10
            while hosts.processes() and time.monotonic() < limit:
                time.sleep(0.05)
            assert not hosts.processes()
        finally:
            run.kill()


def ranks_on(hosts, host):
    def name(pid):
        try:
            return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
        except FileNotFoundError:
            return ""
    return [pid for pid in hosts.processes(host) if name(pid) == "pp-run"]
