"""Steps with an optimizer train as in JAX and optax: losses of every step, parameters and state after the last.

JAX runs twice and sums the microbatches in both orders; the difference is the effect of rounding on a run of this length."""

import subprocess

import jax
import numpy as np
import pytest

import stagewright
from emulator import NEEDED, TARGET, emulated
from stagewright.frontend.jax_step import load_model
from tiers import thorough
from workshop import BUILD, HERE, tool

MODELS = HERE / "models/training.py"
STEPS, MICROBATCHES = 30, 8
# XLA runs a scan over layers on one thread, so the reference takes most of the time.
SCAN_STEPS = 6
# Few steps, because the emulator is slow.
DEVICE_STEPS = 2
RUNS = [("mlp_sgd", 1, "1f1b"), ("mlp_sgd", 3, "gpipe"), ("gpt_adamw", 1, "1f1b"), ("gpt_adamw", 2, "1f1b"),
        ("gpt_adamw", 4, "zb-h1"), ("tied_adamw", 3, "1f1b"), ("gpt_adamw", 4, "dualpipe"), ("mlp_sgd", 2, "chimera"),
        ("scan_adamw", 2, "1f1b")]
DEVICE_RUNS = [("mlp_sgd", 1, "1f1b"), ("gpt_adamw", 2, "1f1b")]


def steps_of(name):
    return SCAN_STEPS if name.startswith("scan") else STEPS


def batches_of(arguments, number):
    """The batches of a step, different for every step, microbatches first."""
    rng = np.random.default_rng(number)
    return [np.stack([rng.permutation(a.reshape(-1)).reshape(a.shape) for _ in range(MICROBATCHES)])
            for a in arguments]


def train_by_jax(step, arguments, update, order, steps):
    """Losses, and the leaves of the final parameters and state."""
    parameters, *batch = arguments
    function, state, *more = update
    step, function = jax.jit(step), jax.jit(function)
    losses = []
    for number in range(steps):
        whole = batches_of(batch, number)
        parts = [step(parameters, *(b[m] for b in whole)) for m in order]
        loss, gradients = jax.tree.map(lambda *x: sum(x[1:], x[0]) / MICROBATCHES, *parts)
        parameters, state = function(parameters, gradients, state, *more)
        losses.append(float(loss))
    return np.array(losses), [np.asarray(leaf) for leaf in jax.tree.leaves((parameters, state))]


@pytest.fixture(scope="module")
def golden():
    known = {}

    def of(name, steps):
        if (name, steps) not in known:
            step, arguments, options = load_model(f"{MODELS}:{name}")
            runs = [train_by_jax(step, arguments, options["update"], order, steps)
                    for order in (range(MICROBATCHES), range(MICROBATCHES)[::-1])]
            known[name, steps] = arguments, options, *runs
        return known[name, steps]
    return of


@pytest.mark.parametrize("name,stages,schedule", RUNS)
def test_trains_as_jax_and_optax(workshop, golden, name, stages, schedule):
    trains(workshop.artifact(f"training.py:{name}", stages, schedule), golden(name, steps_of(name)), steps_of(name))


@NEEDED
@pytest.mark.parametrize("name,stages,schedule", [*DEVICE_RUNS[:1], *thorough(DEVICE_RUNS[1:])])
def test_kernels_train_as_jax_and_optax(workshop, golden, monkeypatch, name, stages, schedule):
    for variable, value in emulated().items():
        monkeypatch.setenv(variable, value)
    path = workshop.artifact(f"training.py:{name}", stages, schedule, *TARGET)
    trains(path, golden(name, DEVICE_STEPS), DEVICE_STEPS)


def test_replicas_train_as_jax_and_optax(workshop, golden):
    """Three replicas with four, one and two samples: gradients are summed, and the owner sends the new values to all."""
    path = workshop.path("training", "replicas", "swx")
    tool("pp-compile", workshop.module("training.py:slices_adamw"), "--cluster=local:4",
         "--plan=[0,3)x3:4+1+2 [3,5)x1", "--schedule=1f1b", "--microbatches=8", "--quiet", "-o", path)
    trains(path, golden("slices_adamw", STEPS), STEPS)


@pytest.mark.parametrize("name, ways, stages, copies", (
    ("gpt_adamw", 2, 1, 1), ("gpt_adamw", 4, 1, 1), ("gpt_adamw", 2, 2, 1), ("tied_adamw", 2, 2, 2), ("scan_adamw", 2, 2, 1),
    ("scan_lamb", 3, 1, 1),
    *thorough([("tied_adamw", 2, 1, 1), ("tied_adamw", 2, 2, 1), ("gpt_adamw", 2, 1, 2), ("scan_lamb", 2, 1, 1), ("gpt_adamw", 3, 1, 1)])))
def test_shards_train_as_jax_and_optax(workshop, golden, name, ways, stages, copies):
    """Parameters, gradients and both moments are split; norms are over all shards, in LAMB of clipped gradients too."""
    path = workshop.path("training", f"{name}-shards-{ways}-{stages}-{copies}", "swx")
    tool("pp-compile", workshop.module(f"training.py:{name}"), f"--cluster=local:{ways * stages * copies}",
         f"--tensor-parallel={ways}", f"--stages={stages}", f"--data-parallel={copies}", "--shard=*/qkv=1:3,*/o=0,*/fc=1,*/proj=0", "--microbatches=8", "--quiet", "-o", path)
    trains(path, golden(name, steps_of(name)), steps_of(name))


@pytest.mark.parametrize("name, counts", [
    ("gpt_adamw", "2,1"), ("tied_adamw", "1,2"), *thorough([("gpt_adamw", "1,2"), ("tied_adamw", "2,1")])])
def test_stages_with_different_numbers_of_shards_train_as_jax_and_optax(workshop, golden, name, counts):
    """Norms are over parameters in one, two and four parts."""
    path = workshop.path("training", f"{name}-stages-{counts}", "swx")
    tool("pp-compile", workshop.module(f"training.py:{name}"), "--cluster=local:3", f"--tensor-parallel={counts}",
         "--shard=*/qkv=1:3,*/o=0,*/fc=1,*/proj=0", "--microbatches=8", "--quiet", "-o", path)
    trains(path, golden(name, steps_of(name)), steps_of(name))


def test_stacks_are_not_split_over_different_numbers_of_shards(workshop):
    done = subprocess.run([BUILD / "bin/pp-compile", workshop.module("training.py:scan_adamw"), "--cluster=local:3", "--tensor-parallel=2,1",
                           "--shard=*/fc=1,*/proj=0", "--microbatches=8", "--emit=rank"], capture_output=True, text=True)
    assert done.returncode == 1 and "would have 2 and 1 parts in stages with 2, 1 shards; give it a hint such as" in done.stderr, done.stderr


GRID = "--tensor-parallel=2x2", "--shard=*/qkv=1:3;0,*/o=0;1,*/fc=1;0,*/proj=0;1"


@pytest.mark.parametrize("name, stages, copies", [
    ("gpt_adamw", 1, 1), ("gpt_adamw", 2, 2),
    *thorough([("tied_adamw", 1, 1), ("scan_adamw", 1, 1), ("scan_lamb", 1, 1), ("tied_adamw", 2, 1), ("scan_adamw", 2, 1), ("scan_lamb", 2, 1)])])
def test_grids_of_shards_train_as_jax_and_optax(workshop, golden, name, stages, copies):
    """Covers rows of stacked parameters too, which are split along two dimensions."""
    path = workshop.path("training", f"{name}-grid-{stages}-{copies}", "swx")
    tool("pp-compile", workshop.module(f"training.py:{name}"), f"--cluster=local:{4 * stages * copies}", *GRID, f"--stages={stages}",
         f"--data-parallel={copies}", "--microbatches=8", "--quiet", "-o", path)
    trains(path, golden(name, steps_of(name)), steps_of(name))


def test_shards_of_samples_train_as_jax_and_optax(workshop, golden):
    """Parameters are whole; gradients are summed over the shards, and one of them updates."""
    path = workshop.path("training", "samples", "swx")
    tool("pp-compile", workshop.module("training.py:mlp_sgd"), "--cluster=local:2", "--tensor-parallel=2", "--shard=x=0,y=0,*=whole",
         "--microbatches=8", "--quiet", "-o", path)
    trains(path, golden("mlp_sgd", STEPS), STEPS)


def trains(path, expected, steps):
    arguments, options, (losses, leaves), (again, leaves_again) = expected
    step = stagewright.load(path, microbatches=MICROBATCHES)
    parameters, *batch = arguments
    flat = jax.tree.leaves(arguments) + jax.tree.leaves(tuple(options["update"][1:]))
    first = len(jax.tree.leaves(parameters))
    step.set({position: leaf if not first <= position < first + len(batch) else np.stack([leaf] * MICROBATCHES)
              for position, leaf in enumerate(flat)})
    found = []
    for number in range(steps):
        found.append(float(step.run(dict(enumerate(batches_of(batch, number), first)))[0]))
    allowed = np.maximum(1e-3, 3 * np.abs(losses - again) / np.abs(losses))
    assert np.all(np.abs(found - losses) <= allowed * np.abs(losses)), (found, losses)
    assert steps < STEPS or losses[-1] < losses[0]  # batches differ, but the model learns what they share
    results = [r for r, about in zip(step.results(), step.manifest["results"]) if about["role"] in ("parameter", "state")]
    assert len(results) == len(leaves)
    for result, leaf, other in zip(results, leaves, leaves_again):
        # By norm: AdamW divides by the root of tiny squares, so single elements can differ more than the rest.
        allowed = max(1e-3 * np.linalg.norm(leaf), 3 * np.linalg.norm(leaf - other))
        assert np.linalg.norm(result - leaf) <= allowed
