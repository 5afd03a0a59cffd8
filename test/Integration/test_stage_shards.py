"""Stages of a pipeline with different numbers of shards."""

import re
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file

from conversions import chain, mpirun, run, to_the_last
from sharded import GPT, HEADS, LLAMA, MICROBATCHES, MPI, agrees_with_jax
from workshop import BUILD, call, tool

UNEQUAL = [(2, 1), (1, 2), (4, 2), (2, 4), (3, 2), (2, 3), (1, 4), (3, 1)]


def compiled(folder, text, counts, hints, *flags, fails=False):
    """Compiles a step whose stages have `counts` shards. Returns what the compiler wrote to stderr."""
    (folder / "step.mlir").write_text(text)
    done = subprocess.run([BUILD / "bin/pp-compile", folder / "step.mlir", f"--cluster=local:{sum(counts)}",
                           f"--tensor-parallel={','.join(map(str, counts))}", f"--shard={hints}", "--microbatches=1",
                           "-o", folder / "step.swx", "--quiet", *flags], capture_output=True, text=True)
    assert bool(done.returncode) == fails, done.stderr
    return done.stderr


def product(folder, counts, *launch):
    """Two perceptrons, a stage each, on integers. The first's result is a sum of parts, unless its stage has one shard: a shard sends
    its part, once scattered, once, or all of it to each shard of the next stage, which needs the whole."""
    text, size = chain()
    compiled(folder, text, counts, "*/up=1,*/down=0")
    rng = np.random.default_rng(0)
    shapes = {"x": (12, 24), "h/0/up": (24, 48), "h/0/down": (48, 24), "h/1/up": (24, 48), "h/1/down": (48, 24)}
    arguments = {name: ("batch" if name == "x" else "parameter", shape) for name, shape in shapes.items()}
    values = {name: rng.integers(-2, 3, shape).astype(np.float32) for name, shape in shapes.items()}
    found, sent = run(folder, arguments, values, *launch)
    assert (found["0"] == values["x"] @ values["h/0/up"] @ values["h/0/down"] @ values["h/1/up"] @ values["h/1/down"]).all()
    assert sent == (sum(counts) - 1) * size + (to_the_last("P", counts[1], 12, 24) if counts[1] > 1 else 0)


@pytest.mark.parametrize("counts", UNEQUAL)
def test_a_product_goes_to_a_stage_with_another_number_of_shards(tmp_path, counts):
    product(tmp_path, counts)


@MPI
@pytest.mark.parametrize("counts", UNEQUAL)
def test_processes_send_as_much(tmp_path, counts):
    product(tmp_path, counts, *mpirun(sum(counts)))


MODELS = [
    ("gpt.py:gpt_deep", (2, 1), GPT, ()), ("gpt.py:gpt_deep", (1, 2), GPT, ("--schedule=gpipe",)), ("gpt.py:gpt_deep", (4, 2), GPT, ()),
    ("gpt.py:gpt_deep", (2, 4), GPT, ("--schedule=zb-h1",)), ("gpt.py:gpt_deep", (2, 1, 2), GPT, ()),
    ("gpt.py:gpt_deep", (4, 2), "*=auto", ()), ("gpt.py:gpt_deep", (2, 3), "*=0", ()),
    ("gpt.py:gpt_deep", (4, 2), GPT, ("--sequence-parallel=false",)), ("gpt.py:gpt", (3, 2), HEADS, ()),
    ("gpt.py:gpt_dropout", (2, 1), GPT, ()), ("gpt.py:gpt_deep_tied", (2, 1), "*=auto", ()), ("llama.py:llama", (1, 2), LLAMA, ()),
    ("gpt.py:gpt_forward", (2, 1), GPT, ()), ("convnet.py:convnet", (2, 1), "*/c1=3,*/c2=2", ()),
    ("moe.py:moe", (1, 2), "params/h/*/up=0,params/h/*/down=0", ()),
]


def artifact_of(folder, artifact, counts, hints, *flags):
    tool("pp-compile", folder / "step.mlir", f"--cluster=local:{sum(counts)}", f"--tensor-parallel={','.join(map(str, counts))}",
         f"--shard={hints}", f"--microbatches={MICROBATCHES}", "-o", artifact, "--quiet", *flags)
    return artifact


@pytest.mark.parametrize("model, counts, hints, flags", MODELS, ids=lambda it: str(it).split(":")[-1] if it else "")
def test_stages_with_different_numbers_of_shards_agree_with_jax(tmp_path, imported, model, counts, hints, flags):
    folder = imported(model)
    agrees_with_jax(artifact_of(folder, tmp_path / "step.swx", counts, hints, *flags), folder)


PLACES = [   # Devices of the stages, and schedules; None: the default.
    ("0-1;2-3;0-1", (None, "gpipe", "zb-h1", "looped-bfs", "looped-zb")),   # the pipeline returns to a group
    ("0-1;0-1", (None, "1f1b", "zb-h1", "interleaved", "looped-zb", "zb-v")),
    ("0-1;2-3;2-3;0-1", ("zb-v", "1f1b")), ("0-1;2-3;0-1;2-3", ("interleaved",)),
    ("0;1", (None, "zb-h1")), ("0;1;0", (None, "zb-h2")),
    ("0-1;1-2;2-3", (None, "levels")), ("0,1,3;2,3", (None, "1f1b")), ("0-2;1;0,2", (None, "zb-h1")),
]


@pytest.mark.parametrize("devices, schedule", [(devices, own) for devices, schedules in PLACES for own in schedules])
def test_stages_that_share_devices_agree_with_jax(tmp_path, imported, devices, schedule):
    folder = imported("gpt.py:gpt_deep")
    counts = [sum(int((own.split("-") * 2)[1]) - int(own.split("-")[0]) + 1 for own in group.split(",")) for group in devices.split(";")]
    flags = () if schedule is None else (f"--schedule={schedule}",)
    artifact = artifact_of(folder, tmp_path / "step.swx", counts, HEADS, f"--stage-devices={devices}", *flags)
    agrees_with_jax(artifact, folder)


@pytest.mark.parametrize("devices, counts, most", (("0-1;2-3;0-1", "2,2,2", 0.85), ("0;1", "1,1", 0.75), ("0-1;1-2;2-3", "2,2,2", 0.95)))
def test_microbatches_overlap(tmp_path, imported, devices, counts, most):
    """Eight microbatches are expected to take less than eight times as long as one: stages without a common device work at the same
    time."""
    def step(microbatches):
        said = tool("pp-compile", imported("gpt.py:gpt_deep") / "step.mlir", "--cluster=local:4", f"--tensor-parallel={counts}",
                    f"--stage-devices={devices}", f"--shard={GPT}", f"--microbatches={microbatches}", "-o", tmp_path / "step.swx")
        return float(re.search(r"predicted step ([\d.]+) ms", said)[1])

    assert step(8) < most * 8 * step(1)


@MPI
@pytest.mark.parametrize("counts", ((2, 1), (1, 2), (4, 2)))
def test_processes_have_the_bits_of_threads(tmp_path, imported, counts):
    folder = imported("gpt.py:gpt_deep")
    artifact = artifact_of(folder, tmp_path / "step.swx", counts, GPT)
    files = []
    for name, launch in (("threads", ()), ("mpi", mpirun(sum(counts)))):
        files.append(tmp_path / f"{name}.safetensors")
        call(*launch, BUILD / "bin/pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", f"--outputs={files[-1]}")
    threads, processes = (load_file(file) for file in files)
    assert threads.keys() == processes.keys() and all((threads[name] == processes[name]).all() for name in threads)
