"""Steps over shards, compiled, run and compared with JAX; the messages between their ranks."""

import json
import shutil

import pytest
from safetensors.numpy import load_file

import golden
from workshop import BUILD, call, tool

GPT = "*/qkv=1:3,*/o=0,*/fc=1,*/proj=0"
HEADS = "*/qkv=1:3:8,*/o=0:1:8,*/fc=1,*/proj=0,params/head=1,params/wte=0"   # splits 4 heads, 128 units, 64 words also over 3
LLAMA = "*/q=1,*/k=1,*/v=1,*/o=0,*/gate=1,*/up=1,*/down=0"
TRANSLATOR = "*/q=1,*/k=1,*/v=1,*/o=0,*/up=1,*/down=0"
MICROBATCHES = 4
SMALL = {"STAGEWRIGHT_GPT": "V=64,D=32,H=4,L=2,T=16,B=2", "STAGEWRIGHT_GRAPHS": "N=60,E=400,C=4,F=8,H=128,K=3,L=2,B=12"}
MPI = pytest.mark.skipif(not shutil.which("mpirun") or not (BUILD / "lib/libstagewright-mpi.so").exists(), reason="there is no MPI")


def compiled(folder, artifact, ways, hints, *flags, cluster="local", groups=1):
    tool("pp-compile", folder / "step.mlir", f"--cluster=local:{ways * groups}" if cluster == "local" else f"--cluster={cluster}",
         f"--tensor-parallel={ways}", f"--shard={hints}", f"--microbatches={MICROBATCHES}", "-o", artifact, "--quiet", *flags)
    return artifact


def results(artifact, folder, env=None):
    out = artifact.with_suffix(".safetensors")
    tool("pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", f"--outputs={out}", env=env)
    return load_file(out)


def agrees_with_jax(artifact, folder, env=None):
    wrong = golden.disagreements(load_file(folder / "jax.golden.safetensors"), results(artifact, folder, env))
    assert not wrong, "\n".join(wrong)


def hosts(file, counts, between):
    """A cluster file: hosts with these counts of equal devices, 10 GB/s inside hosts, `between` bytes a second between them."""
    names = [(f"d{host}.{number}", host) for host, count in enumerate(counts) for number in range(count)]
    file.write_text(json.dumps({
        "name": "hosts", "devices": [{"name": name, "class": "c", "node": host, "flops": 1e9, "bandwidth": 1e10, "memory": 1 << 30}
                                     for name, host in names],
        "fabric": {"inside": {"bandwidth": 1e10, "latency": 1e-7}, "between": {"bandwidth": between, "latency": 1e-6}, "nic": between}}))
    return file


def messages(artifact):
    """Number of messages per microbatch by size in bytes, without gradients, which are sent once a step."""
    sizes = {}
    for channel in json.loads(tool("pp-run", artifact, "--info=json"))["channels"]:
        if not channel["name"].startswith("gradient."):
            sizes[channel["bytes"]] = sizes.get(channel["bytes"], 0) + channel.get("messages", MICROBATCHES)
    assert all(count % MICROBATCHES == 0 for count in sizes.values())
    return {size: count // MICROBATCHES for size, count in sizes.items()}


def crossing(artifact, ways, rows):
    """By sending and receiving group of `ways` shards: the bytes that cross for a microbatch, all from a shard to the corresponding
    one. Left out are gradients of parameters, and a byte for each of `rows` targets that tells whether it counts."""
    found, targets = {}, 0
    for channel in json.loads(tool("pp-run", artifact, "--info=json"))["channels"]:
        ends = channel["from"] // ways, channel["to"] // ways
        if ends[0] == ends[1] or channel["name"].startswith("gradient."):
            continue
        assert channel["from"] % ways == channel["to"] % ways
        if channel["bytes"] <= rows:
            targets += channel["bytes"]
            continue
        found[ends] = found.get(ends, 0) + channel["bytes"] * channel.get("messages", MICROBATCHES) // MICROBATCHES
    assert targets == rows
    return found


def sent(artifact, folder, *launch, env=None):
    """Bytes that each rank reports as sent in one step, in messages of single microbatches."""
    told = json.loads(call(*launch, BUILD / "bin/pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", "--json", env=env))
    return [rank["microbatches"] for rank in told["sent_bytes"]]
