"""Losses that compilers have got wrong (models/ordinary.py): loss and gradients equal JAX's, on one stage, on two, and with
the planner's choice."""

import re

import pytest

import golden
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
