"""Shards that join and scatter values by collectives (--shard-collectives): bits and bytes are those of messages, on threads, in MPI processes and
on the emulator."""

import json
import re
import sys

import pytest
from safetensors.numpy import load_file

import golden
from emulator import NEEDED, emulated
from sharded import GPT, HEADS, LLAMA, MPI, TRANSLATOR, agrees_with_jax, compiled, results, sent
from test_device_processes import INPUTS
from test_faults import ended, errors
from test_processes import LAUNCH
from tiers import thorough
from workshop import BUILD, call, tool

CASES = [
    ("gpt.py:gpt", 2, GPT, (), 1), ("gpt.py:gpt", 4, GPT, (), 1), ("llama.py:llama", 2, LLAMA, (), 1), ("llama.py:llama", 4, LLAMA, (), 1),
    ("gpt.py:gpt", 2, GPT, ("--sequence-parallel=false",), 1),
    ("gpt.py:gpt_deep", 2, GPT, ("--stages=2",), 2), ("gpt.py:gpt_deep", 2, GPT, ("--stages=2", "--schedule=zb-h1"), 2),
    ("gpt.py:gpt_deep", 2, GPT, ("--stages=4", "--schedule=interleaved"), 2), ("gpt.py:gpt_dropout", 2, GPT, ("--data-parallel=2",), 2),
    ("gpt.py:gpt_deep", 2, GPT, ("--stages=2", "--recompute-layers"), 2),
    ("gpt.py:gpt", 3, HEADS, (), 1),   # parts that are not equal remain messages
    *thorough([("encoder_decoder.py:encoder_decoder", 2, TRANSLATOR, (), 1), ("convnet.py:convnet", 4, "*/c1=3,*/c2=2", (), 1),
               ("gpt.py:gpt_tied", 4, GPT, (), 1), ("llama.py:llama", 2, LLAMA, ("--stages=2",), 2), ("gpt.py:gpt_forward", 2, GPT, (), 1)]),
]


def gathers(artifact):
    manifest = json.loads(tool("pp-run", artifact, "--info=json"))
    return [it for it in manifest.get("collectives", []) if it.get("gathers")]


@pytest.mark.parametrize("model, ways, hints, flags, groups", CASES, ids=lambda it: str(it).split(":")[-1] if it else "")
def test_gathers_give_the_bits_of_messages(tmp_path, imported, model, ways, hints, flags, groups):
    folder = imported(model)
    plain = compiled(folder, tmp_path / "plain.swx", ways, hints, *flags, groups=groups)
    artifact = compiled(folder, tmp_path / "step.swx", ways, hints, "--shard-collectives", *flags, groups=groups)
    assert gathers(artifact) and not gathers(plain)
    if "gpt" in model and not flags and ways != 3:
        assert {it.get("exchanges", False) for it in gathers(artifact)} == {False, True}
    agrees_with_jax(artifact, folder)
    expected, found = results(plain, folder), results(artifact, folder)
    assert all((found[name] == expected[name]).all() for name in expected)
    assert sent(artifact, folder) == sent(plain, folder)
    text = tool("pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", "--check-memory")
    found = re.findall(r"live bytes (\d+), printed (\d+)", text)
    assert len(found) == ways * groups
    assert all(live == printed for live, printed in found)


GRID = "*/qkv=1:3;0,*/o=0;1,*/fc=1;0,*/proj=0;1"
GRIDS = [
    ("gpt.py:gpt", "2x2", GRID, ()), ("gpt.py:gpt_deep", "2x2", GRID, ("--stages=2", "--recompute-layers")),
    ("gpt.py:gpt", "2x2", GRID, ("--data-parallel=2",)),
    *thorough([
        ("gpt.py:gpt_deep", "2x2", GRID, ("--stages=2", "--schedule=zb-h1")), ("gpt.py:gpt", "2x2", GRID, ("--sequence-parallel=false",)),
        ("gpt.py:gpt_deep", "2x2", GRID, ("--stages=4", "--schedule=interleaved")), ("gpt.py:gpt", "4x2", GRID, ()),
        ("llama.py:llama", "2x2", "*/q=1;0,*/k=1;0,*/v=1;0,*/o=0;1,*/gate=1;0,*/up=1;0,*/down=0;1", ()),
    ]),
]


@pytest.mark.parametrize("model, grid, hints, flags", GRIDS, ids=lambda it: str(it).split(":")[-1] if it else "")
def test_gathers_of_rows_and_columns_give_the_bits_of_messages(tmp_path, imported, model, grid, hints, flags):
    """Each device of a grid is in two groups."""
    folder = imported(model)
    plain = compiled(folder, tmp_path / "plain.swx", grid, hints, *flags, cluster="local:8")
    artifact = compiled(folder, tmp_path / "step.swx", grid, hints, "--shard-collectives", *flags, cluster="local:8")
    rows, columns = map(int, grid.split("x"))
    groups = {tuple(bucket["rank"] for bucket in it["buckets"]) for it in gathers(artifact)}
    assert {tuple(range(columns)), tuple(range(0, rows * columns, columns))} <= groups and not gathers(plain)
    agrees_with_jax(artifact, folder)
    expected, found = results(plain, folder), results(artifact, folder)
    assert all((found[name] == expected[name]).all() for name in expected)
    assert sent(artifact, folder) == sent(plain, folder)


def test_shards_in_different_orders_send_messages(tmp_path, imported):
    """A schedule of a pipeline, in which one shard is ahead of the other."""
    folder = imported("gpt.py:gpt")
    artifact = compiled(folder, tmp_path / "step.swx", 2, GPT, "--shard-collectives", "--schedule=interleaved-zb")
    assert not gathers(artifact)
    agrees_with_jax(artifact, folder)


@MPI
@pytest.mark.parametrize("model, ways, hints, flags", [
    ("gpt.py:gpt", "2x2", "*/o=1;1,*/fc=1;whole", ("--stages=2",)),
    ("gpt.py:gpt", 2, "*/qkv=0,*/o=0,*/fc=0,*/proj=1,ids=0,tgt=0", ("--stages=2", "--bucket-bytes=16KiB")),
    ("llama.py:llama", "2x2", "*/k=1;0,*/o=0;1", ("--bucket-bytes=16KiB",))], ids=("gpt-grid", "gpt", "llama-grid"))
def test_sums_of_copies_and_gathers_have_one_order(tmp_path, imported, model, ways, hints, flags):
    """Sums of several buckets begin between gathers, and each rank has others: some begin later than their gradients allow."""
    folder = imported(model)
    artifact = compiled(folder, tmp_path / "step.swx", ways, hints, "--shard-collectives", "--data-parallel=2", *flags, cluster="local:16")
    assert gathers(artifact)
    agrees_with_jax(artifact, folder)


@pytest.mark.parametrize("model, ways, hints, flags, ranks", (
    ("gpt.py:gpt", 2, GPT, (), 2), ("gpt.py:gpt", 4, GPT, (), 4), ("llama.py:llama", 2, LLAMA, (), 2),
    ("gpt.py:gpt_deep", 2, GPT, ("--stages=2",), 4), ("gpt.py:gpt", 2, GPT, ("--data-parallel=2",), 4),
    ("gpt.py:gpt", "2x2", GRID, (), 4), ("gpt.py:gpt_deep", "2x2", GRID, ("--stages=2",), 8)))
def test_gathers_in_processes(tmp_path, imported, model, ways, hints, flags, ranks):
    folder, file = imported(model), tmp_path / "mpi.safetensors"
    artifact = compiled(folder, tmp_path / "step.swx", ways, hints, "--shard-collectives", *flags, cluster=f"local:{ranks}")
    launch = "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks
    call(*launch, BUILD / "bin/pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", f"--outputs={file}", "--steps=3")
    assert not golden.disagreements(load_file(folder / "jax.golden.safetensors"), load_file(file))
    assert sent(artifact, folder, *launch) == sent(artifact, folder)


@NEEDED
@pytest.mark.parametrize("model, ways, hints, flags", (
    ("gpt.py:gpt", 2, GPT, ()), ("gpt.py:gpt", 2, GPT, ("--stages=2",)), ("gpt.py:gpt", "2x2", GRID, ()),
    *thorough([("llama.py:llama", 2, LLAMA, ()), ("gpt.py:gpt", 2, GPT, ("--data-parallel=2",)), ("llama.py:llama", 4, LLAMA, ())])))
def test_gathers_on_devices(tmp_path, imported, model, ways, hints, flags):
    """Ranks run in processes, and in one process with a device for each rank, in another order of streams."""
    folder = imported(model)
    artifact = compiled(folder, tmp_path / "step.swx", ways, hints, "--shard-collectives", *flags, "--target=cuda:sm_90a", cluster="h100")
    assert {it.get("exchanges", False) for it in gathers(artifact)} == {False, True}
    agrees_with_jax(artifact, folder, emulated())
    agrees_with_jax(artifact, folder, emulated(devices=4, seed=1))
    plain = compiled(folder, tmp_path / "plain.swx", ways, hints, *flags, "--target=cuda:sm_90a", cluster="h100")
    expected, found = results(plain, folder, emulated()), results(artifact, folder, emulated())
    assert all((found[name] == expected[name]).all() for name in expected)
    assert sent(artifact, folder, env=emulated()) == sent(plain, folder, env=emulated(devices=4))


def test_gathers_count_as_the_bytes_of_messages(tmp_path, imported):
    folder = imported("gpt.py:gpt")
    counted = []
    for flags in ((), ("--shard-collectives",)):
        artifact = compiled(folder, tmp_path / "step.swx", 4, GPT, *flags, "--target=cuda:sm_90a", cluster="h100:4")
        ranks = json.loads(tool("pp-run", artifact, "--explain-time=h100", "--json"))["ranks"]
        messages = [[call for call in rank["calls"] if call["class"] == "message"] for rank in ranks]
        counted.append([sum(call["count"] * (call["read_bytes"] + call["written_bytes"]) for call in calls) for calls in messages])
        assert flags == () or all(any(call["name"].endswith(kind) for call in messages[0]) for kind in (".gather", ".exchange"))
    assert counted[0] == counted[1] and min(counted[0]) > 0


def test_a_trace_shows_gathers(tmp_path, imported):
    folder, trace = imported("gpt.py:gpt"), tmp_path / "trace.json"
    artifact = compiled(folder, tmp_path / "step.swx", 2, GPT, "--shard-collectives")
    tool("pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", f"--trace={trace}")
    events = json.loads(trace.read_text())["traceEvents"]
    bars = [event for event in events if event.get("ph") == "X"]
    sums = [event for event in bars if event["cat"] == "sum"]
    names = {it["name"] for it in gathers(artifact)}
    found = [event["name"] for event in sums]
    assert {name: found.count(name) for name in names} == dict.fromkeys(names, 2 * 4)   # on two ranks, for each microbatch
    # Waiting is a gap: no action's bar begins before a gather that it awaits has ended.
    devices, = {event["pid"] for event in events if event["name"] == "process_name" and event["args"]["name"] == "devices"}
    actions = [event for event in bars if event["pid"] == devices]
    assert actions
    for gather in sums:
        end = gather["ts"] + gather["dur"]
        for action in actions:
            assert action["tid"] != gather["tid"] or not action["ts"] + 0.01 < end < action["ts"] + action["dur"] - 0.01


@pytest.mark.parametrize("launch", [(), pytest.param(LAUNCH, marks=MPI)], ids=("threads", "processes"))
@pytest.mark.parametrize("ways", (2, 4))
def test_a_shard_that_hangs_is_named(tmp_path, imported, ways, launch):
    """Shard 1 hangs at the fifth action of the second step, in which the others await its part of a gather or an exchange. Any of
    these may report it."""
    folder = imported("gpt.py:gpt")
    artifact = compiled(folder, tmp_path / "step.swx", ways, GPT, "--shard-collectives")
    arguments = artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", "--steps=4", "--deadline=2"
    status, said, _ = ended(*([*launch, ways] if launch else ()), BUILD / "bin/pp-run", *arguments, inject="1:1:4:hang")
    assert status == 3, said
    error, = errors(said)
    wait = re.search(r"rank (\d): action \d+[FB](\d) waits for microbatch (\d) of (?:gather|exchange) '[^']+' from ranks? ([\d, and]*\d)", error)
    assert wait and wait[2] == wait[3], error
    assert sorted(map(int, re.findall(r"\d", wait[4]))) == [rank for rank in range(ways) if rank != int(wait[1])], error
    assert wait[1] != "1", error
    assert ("did not answer" if launch else "rank 1: has not moved for 2 s: action") in error


@pytest.mark.parametrize("launch", [(), pytest.param(LAUNCH, marks=MPI)], ids=("threads", "processes"))
def test_a_shard_that_fails_is_named(tmp_path, imported, launch):
    folder = imported("gpt.py:gpt")
    artifact = compiled(folder, tmp_path / "step.swx", 2, GPT, "--shard-collectives")
    arguments = artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", "--steps=4", "--deadline=20"
    status, said, seconds = ended(*([*launch, 2] if launch else ()), BUILD / "bin/pp-run", *arguments, inject="1:1:4:raise")
    error, = errors(said)
    assert status == 3 and "rank 1: an error was injected" in error and seconds < 15, said


@NEEDED
@pytest.mark.parametrize("how", ("KILL", "STOP"))
def test_a_shard_that_dies_on_devices_is_named(tmp_path, imported, how):
    folder = imported("gpt.py:gpt")
    artifact = compiled(folder, tmp_path / "step.swx", 2, GPT, "--shard-collectives", "--target=cuda:sm_90a", cluster="h100")
    print(call(sys.executable, INPUTS / "kill-rank.py", f"--signal={how}", "--runs=2", "--within=4", BUILD / "bin/pp-run", artifact, "--processes",
               f"--inputs={folder / 'jax.inputs.safetensors'}", "--steps=1000000", env=emulated(records=1)))


@pytest.mark.parametrize("flags", ((), ("--shard-collectives",)), ids=("messages", "collectives"))
def test_an_expected_step_has_all_bytes_over_a_slow_link(tmp_path, imported, flags):
    """Two shards on two hosts, whose link takes much longer than they compute. It carries all layers' values one after the other."""
    folder, cluster, rate = imported("gpt.py:gpt"), tmp_path / "cluster.json", 1e6
    device = {"class": "core", "flops": 1e11, "bandwidth": 1e11, "memory": 1 << 30}
    cluster.write_text(json.dumps({"name": "slow", "devices": [{"name": f"d{node}", "node": node, **device} for node in (0, 1)],
                                   "fabric": {"inside": {"bandwidth": 1e11, "latency": 1e-7}, "between": {"bandwidth": rate, "latency": 1e-6}, "nic": rate}}))
    artifact = compiled(folder, tmp_path / "step.swx", 2, GPT, *flags, cluster=cluster)
    expected = json.loads(tool("pp-run", artifact, "--info=json"))["plan"]["time"]
    assert 1 <= expected / (max(sent(artifact, folder)) / rate) < 1.1
