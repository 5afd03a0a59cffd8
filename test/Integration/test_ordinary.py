"""Losses that compilers have got wrong (models/ordinary.py): loss and gradients equal JAX's, on one stage, on two, and with
the planner's choice. Kernels for GPUs run on the emulator."""

import re

import pytest

import golden
from emulator import NEEDED, TARGET, emulated
from workshop import HERE, tool

NAMES = re.findall(r"@ordinary\ndef (\w+)", (HERE / "models/ordinary.py").read_text())


@pytest.mark.parametrize("stages", [1, 2, None])
@pytest.mark.parametrize("name", NAMES)
def test_equals_jax(workshop, name, stages):
    model = f"ordinary.py:{name}"
    path = workshop.path(name, stages, "swx")
    done = tool("pp-compile", workshop.module(model), f"--cluster=local:{stages or 2}", "--microbatches=3", "-o", path,
                *([f"--stages={stages}"] if stages else []))
    found, _ = workshop.run_artifact(model, path, microbatches=3)
    wrong = golden.disagreements(workshop.golden(model, 3)[1], found)
    assert not wrong, "\n".join([*wrong, done])


@NEEDED
@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_kernels_equal_jax(workshop, name, stages):
    model = f"ordinary.py:{name}"
    path = workshop.path(name, stages, "device.swx")
    tool("pp-compile", workshop.module(model), f"--cluster=local:{stages}", f"--stages={stages}", "--microbatches=3", "--quiet",
         "-o", path, *TARGET)
    found, _ = workshop.run_artifact(model, path, "--check-memory", microbatches=3, env=emulated(seed=stages))
    wrong = golden.disagreements(workshop.golden(model, 3)[1], found)
    assert not wrong, "\n".join(wrong)
