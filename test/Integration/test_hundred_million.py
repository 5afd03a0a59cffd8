"""A GPT of a hundred million parameters trains on the ranks of one machine as in JAX and optax, within the planned memory."""

import json
import pathlib
import subprocess

import jax
import numpy as np
import pytest

from stagewright.frontend.jax_step import load_model
from tiers import THOROUGH
from workshop import BUILD, HERE, most_resident, tool

MODEL, MICROBATCHES, STEPS, SHAPE = "training.py:gpt_adamw_100m", 4, 20, (1, 256)
TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
# Code, libraries, stacks and the host's own data; little, compared with 2 GB.
BESIDE_ARENAS = 200 << 20


@pytest.fixture(scope="module")
def text(workshop):
    path = workshop.path("text.bin")
    np.frombuffer(TEXT.read_bytes(), np.uint8).astype("<u2").tofile(path)
    return path


@pytest.fixture(scope="module")
def losses(text):
    """JAX's loss of every step."""
    step, (parameters, *_), options = load_model(f"{HERE}/models/{MODEL}")
    update, state, rate = options["update"]
    assert sum(leaf.size for leaf in jax.tree.leaves(parameters)) > 100e6
    step, update = jax.jit(step), jax.jit(update)
    tokens, found = np.fromfile(text, "<u2").astype(np.int32), []
    size = MICROBATCHES * int(np.prod(SHAPE))
    for number in range(STEPS):
        ids, targets = (tokens[s:s + size].reshape(MICROBATCHES, *SHAPE) for s in (number * size, number * size + 1))
        sums = None
        for microbatch in zip(ids, targets):
            part = step(parameters, *microbatch)
            sums = part if sums is None else jax.tree.map(jax.numpy.add, sums, part)
        loss, gradients = jax.tree.map(lambda total: total / MICROBATCHES, sums)
        parameters, state = update(parameters, gradients, state, rate)
        found.append(float(loss))
    return np.array(found)


@THOROUGH
@pytest.mark.parametrize("stages", [2, 4])
def test_trains_as_jax_in_the_memory_that_was_printed(workshop, text, losses, stages):
    artifact, metrics = workshop.path("100m", stages, "swx"), workshop.path("100m", stages, "jsonl")
    inputs = workshop.module(MODEL).with_suffix(".inputs.safetensors")
    tool("pp-compile", workshop.module(MODEL), f"--cluster=local:{stages}", f"--stages={stages}",
         f"--microbatches={MICROBATCHES}", "--quiet", "-o", artifact)
    run = subprocess.Popen([BUILD / "bin/pp-run", artifact, f"--inputs={inputs}", f"--microbatches={MICROBATCHES}",
                            f"--data=ids={text}", f"--data=tgt={text}+1", f"--steps={STEPS}", f"--metrics={metrics}"],
                           stdout=subprocess.DEVNULL)
    resident = most_resident(run)
    assert run.returncode == 0
    found = np.array([json.loads(line)["loss"] for line in metrics.open()])
    assert len(found) == STEPS and losses[-1] < losses[0]
    assert np.abs(found / losses - 1).max() <= 1e-3, (found, losses)
    arenas = sum(rank["memory"]["arena"] for rank in json.loads(tool("pp-run", artifact, "--info=json"))["ranks"])
    # The inputs file is memory-mapped; its pages count once they have been read.
    assert arenas <= resident <= arenas + inputs.stat().st_size + BESIDE_ARENAS
