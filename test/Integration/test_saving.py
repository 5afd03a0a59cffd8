"""Results and checkpoints are saved piece by piece: the memory for it does not depend on the size of the model."""

import json
import subprocess
import sys
import zlib

import numpy as np
import pytest
from safetensors.numpy import load_file

from emulator import NEEDED, TARGET, emulated
from workshop import BUILD, HERE, call, most_resident, tool

MODEL, MATRIX, MATRICES = "training.py:large_sgd", 2048 * 2048 * 4, 16
# Four pieces of 16 MiB that wait to be written, and what the allocator and the library of JSON need.
PIECES = (64 << 20) + (8 << 20)
assert 3 * PIECES < MATRICES * MATRIX


def resident(artifact, *flags, env):
    run = subprocess.Popen([BUILD / "bin/pp-run", artifact, "--init=3", "--microbatches=1", "--nan=ignore", *flags], env=env,
                           stdout=subprocess.DEVNULL)
    found = most_resident(run)
    assert run.returncode == 0
    return found


def compiled(workshop, *target):
    def make():
        path = workshop.path("large", *target, "swx")
        tool("pp-compile", workshop.module(MODEL), "--cluster=local:1", "--microbatches=1", "--quiet", *target, "-o", path)
        return path
    return workshop.once(("large", *target), make)


@pytest.mark.parametrize("target", [(), pytest.param(TARGET, marks=NEEDED)], ids=["cpu", "gpu"])
def test_memory_for_saving_is_bounded(workshop, monkeypatch, tmp_path, target):
    artifact = compiled(workshop, *target)
    # The kernels need not run; with them the emulator would take minutes.
    for variable, value in emulated(records=1).items():
        monkeypatch.setenv(variable, value)
    alone = resident(artifact, env=None)
    saving = resident(artifact, f"--checkpoints={tmp_path / 'run'}", f"--outputs={tmp_path / 'out.safetensors'}", env=None)
    assert saving <= alone + PIECES, (alone, saving)

    folder = tmp_path / "run/step-000000000001"
    about = json.loads((folder / "checkpoint.json").read_text())
    for name, file in about["files"].items():
        contents = (folder / name).read_bytes()
        assert file == {"bytes": len(contents), "crc32": zlib.crc32(contents)}
    saved, results = load_file(folder / "params.safetensors"), load_file(tmp_path / "out.safetensors")
    assert len(saved) == MATRICES and not load_file(folder / "state.safetensors")
    for matrix in saved.values():
        assert any(np.array_equal(matrix, result) for result in results.values() if result.shape == matrix.shape)


LOOP = """
import pathlib, re, sys, numpy, stagewright
artifact, inputs, folder = sys.argv[1:]

def resident(what):
    return int(re.search(what + ":\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])

loop = stagewright.Run(artifact, inputs, checkpoints=folder).train([numpy.ones((1, 2048), "f4")], 1)
next(loop)
pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak becomes what is resident now
before = resident("VmRSS")
assert next(loop, None) is None  # saves
print(before, resident("VmHWM"))
"""


def test_memory_for_saving_from_python_is_bounded(workshop, tmp_path):
    inputs = workshop.module(MODEL).with_suffix(".inputs.safetensors")
    before, peak = map(int, call(sys.executable, "-c", LOOP, compiled(workshop), inputs, tmp_path / "run", env={
        "PYTHONPATH": f"{HERE.parents[1] / 'python'}:{BUILD / 'python'}"}).split())
    assert (peak - before << 10) <= PIECES, (before, peak)
    assert len(load_file(tmp_path / "run/step-000000000001/params.safetensors")) == MATRICES
