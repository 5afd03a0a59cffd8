"""Steps of models/numerics.py train as in JAX and optax: seeds of each step, schedules, skipped steps, 16-bit floats with
float32 masters, scaled losses; in this process, on batches made in Python. Kernels for GPUs run on the emulator."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file

import stagewright
from emulator import NEEDED, TARGET, emulated
from stagewright.frontend.jax_step import load_model
from stagewright.training import fold_in
from tiers import thorough
from workshop import HERE, tool

MODELS = HERE / "models/numerics.py"
STEPS, MICROBATCHES = 10, 8
VOCABULARY = 64
# (model, stages, relative tolerance of losses); it is larger for 16 bits, which are rounded at other places than in JAX.
RUNS = [("dropout", 2, 1e-3), ("scaled", 3, 1e-2),
        *thorough([("finite", 2, 1e-3), ("schedule", 2, 1e-3), ("finite", 1, 1e-3), ("master", 2, 1e-2), ("cast", 2, 1e-2), ("scaled", 1, 1e-2)])]
# On the emulator, which is slow: two layers instead of eight.
DEVICE_RUNS = [("dropout", 2, 1e-5), ("scaled", 2, 2e-3),
               *thorough([("finite", 1, 1e-5), ("master", 1, 1e-2), ("schedule", 1, 1e-5), ("cast", 2, 1e-2)])]
DEVICE_SIZES = "L=2"


def batch(number, shape):
    """Tokens and targets of a step, microbatches first; one microbatch of step 3 begins with the last of the vocabulary."""
    rng = np.random.default_rng(number)
    ids = rng.integers(0, VOCABULARY - 1, (MICROBATCHES, *shape), np.int32) // 4
    if number == 3:
        ids[2, 0, 0] = VOCABULARY - 1
    return ids, np.roll(ids, -1, -1)


def train_by_jax(name):
    """Losses, and the leaves of the final parameters and state."""
    step, (parameters, *rest), options = load_model(f"{MODELS}:{name}")
    update, state = options["update"]
    shape = next(a.shape for a in rest if np.ndim(a) == 2)
    key = next((a for a in rest if np.shape(a) == (2,)), None)
    step, update, losses = jax.jit(step), jax.jit(update), []
    for number in range(STEPS):
        ids, targets = batch(number, shape)
        parts = []
        for m in range(MICROBATCHES):
            more = [] if key is None else [jax.random.fold_in(jax.random.fold_in(key, number), m)]
            scale = [state["scale"]] if name == "scaled" else []
            parts.append(step(parameters, *scale, ids[m], targets[m], *more))
        loss, gradients = jax.tree.map(lambda *x: sum(x[1:], x[0]) / MICROBATCHES, *parts)
        parameters, state = update(parameters, gradients, state)
        losses.append(float(loss))
    return np.array(losses), jax.tree.leaves((parameters, state)), shape


@pytest.mark.parametrize("name,stages,tolerance", RUNS)
def test_trains_as_jax_and_optax(workshop, name, stages, tolerance):
    artifact = workshop.artifact(f"numerics.py:{name}", stages, "1f1b")
    golden = workshop.once(("numbers", name), lambda: train_by_jax(name))
    trains(artifact, workshop.module(f"numerics.py:{name}"), name, tolerance, *golden)


@NEEDED
@pytest.mark.parametrize("name,stages,tolerance", DEVICE_RUNS)
def test_kernels_train_as_jax_and_optax(workshop, monkeypatch, name, stages, tolerance):
    for variable, value in {**emulated(), "STAGEWRIGHT_GPT": DEVICE_SIZES}.items():
        monkeypatch.setenv(variable, value)
    module = workshop.module(f"numerics.py:{name}", {"STAGEWRIGHT_GPT": DEVICE_SIZES})
    artifact = workshop.path("numbers", "device", name, "swx")
    tool("pp-compile", module, f"--cluster=local:{stages}", f"--stages={stages}", f"--microbatches={MICROBATCHES}", "--quiet",
         "-o", artifact, *TARGET)
    trains(artifact, module, name, tolerance, *train_by_jax(name))


def trains(artifact, module, name, tolerance, losses, leaves, shape):
    """The run has JAX's losses, parameters, state, and skipped steps."""
    run = stagewright.Run(artifact, module.with_suffix(".inputs.safetensors"))
    found = [figures["loss"] for figures in run.train(lambda number: batch(number, shape), STEPS)]
    finite = np.isfinite(losses)
    assert [loss is not None for loss in found] == list(finite)
    assert finite.all() != (name == "finite")
    found = np.array([loss for loss in found if loss is not None])
    assert np.abs(found / losses[finite] - 1).max() <= tolerance, (found, losses)
    assert losses[-1] < losses[0]
    made = [run.step.result(r["position"]) for r in run.replaced]
    assert len(made) == len(leaves)
    squares = np.zeros(2)
    for result, leaf in zip(made, leaves):
        assert result.dtype == leaf.dtype and result.shape == leaf.shape
        if not jnp.issubdtype(leaf.dtype, jnp.floating):
            assert (result == leaf).all()  # numbers of steps and of skipped steps
        else:
            result, leaf = np.float64(result), np.float64(leaf)
            squares += ((result - leaf) ** 2).sum(), (leaf ** 2).sum()
    difference, norm = np.sqrt(squares)
    assert difference <= tolerance * norm, (difference, norm)
    if name == "scaled":
        scale = run.tensors()["state"]["state/scale"]
        assert scale == 2.0 ** 16 and any((leaf == scale).all() for leaf in leaves if np.shape(leaf) == ())


def test_gradients_that_overflow_are_no_fault(workshop):
    """pp-run stops if a loss or parameter is NaN or infinite; a step whose update is skipped has neither."""
    model, metrics, state = "numerics.py:scaled", workshop.path("scaled.jsonl"), workshop.path("scaled")
    tool("pp-run", workshop.artifact(model, 3, "1f1b"), f"--inputs={workshop.module(model).with_suffix('.inputs.safetensors')}",
         "--repeat-microbatch", "--steps=12", f"--metrics={metrics}", f"--checkpoints={state}", "--nan=stop")
    losses = [json.loads(line)["loss"] for line in metrics.open()]
    assert losses[0] == losses[1] == losses[2] > losses[-1]  # scales of 2^18 and 2^17 overflow in float16
    assert load_file(state / "step-000000000012/state.safetensors")["state/scale"] < 2.0 ** 18


@pytest.mark.parametrize("kind", ["threefry2x32", "rbg"])
def test_seeds_are_folded_as_by_jax(kind):
    for seed, number in ((0, 0), (7, 1), (123, 2**31 + 5)):
        key = jax.random.key(seed, impl=kind)
        wanted = jax.random.key_data(jax.random.fold_in(key, number))
        assert (fold_in(jax.random.key_data(key), number) == np.asarray(wanted)).all()
