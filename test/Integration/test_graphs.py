"""Graph neural networks on sampled neighbours: loss and gradients of ten steps equal JAX's with the same samples."""

import sys

import jax
import numpy as np
import optax
import pytest
from safetensors.numpy import load_file

import stagewright
from stagewright.frontend.jax_step import load_model
from tiers import THOROUGH, thorough
from workshop import HERE, tool

sys.path.insert(0, str(HERE / "models"))
import graphs  # noqa: E402
import sampling  # noqa: E402

STEPS, MICROBATCHES = 10, 8


def batches(step, seed=0):
    """The batch arguments of a step, microbatches first."""
    parts = [sampling.sample(seed, step, m) for m in range(MICROBATCHES)]
    return [np.stack([part[name] for part in parts]) for name in parts[0]]


@pytest.mark.parametrize("name, stages, schedule", [("graph_sage", 2, "1f1b"), ("graph_gat", 2, "zb-h1"),
                                                    *thorough([("graph_sage", 1, "gpipe"), ("graph_gat", 1, "gpipe")])])
def test_loss_and_gradients_of_ten_steps_equal_jax(workshop, name, stages, schedule):
    function, (parameters, *others), _ = load_model(f"{HERE / 'models/graphs.py'}:{name}")
    step = stagewright.load(workshop.artifact(f"graphs.py:{name}", stages, schedule), microbatches=MICROBATCHES)
    function, optimizer = jax.jit(function), optax.adam(graphs.RATE)
    update = jax.jit(optimizer.update)
    state, losses = optimizer.init(parameters), []
    for number in range(STEPS):
        batch = batches(number)
        parts = [function(parameters, others[0], *(argument[m] for argument in batch)) for m in range(MICROBATCHES)]
        loss, gradients = jax.tree.map(lambda *x: sum(x) / MICROBATCHES, *parts)
        found = step.run([*jax.tree.leaves(parameters), others[0], *batch])
        assert abs(found[0] - loss) <= 1e-5 * loss
        for mine, theirs in zip(found[1:], jax.tree.leaves(gradients), strict=True):
            assert np.linalg.norm(mine - theirs) <= 1e-5 * np.linalg.norm(theirs)
        changes, state = update(gradients, state, parameters)
        parameters = optax.apply_updates(parameters, changes)
        losses.append(loss)
    assert losses[-1] < 0.9 * losses[0]


@THOROUGH
@pytest.mark.parametrize("kind", ["sage", "gat"])
def test_two_hundred_steps_reach_the_accuracy_of_jax(workshop, kind):
    """`./dev bench graphs` checks the same on 100,000 nodes."""
    name, folder, steps = f"graphs.py:{kind}_adam", workshop.path("accuracy", kind), 200
    tool("pp-run", workshop.artifact(name, 2, "1f1b"), f"--inputs={workshop.module(name).with_suffix('.inputs.safetensors')}",
         f"--source={HERE / 'models/sampling.py'}:sample", f"--steps={steps}", f"--checkpoints={folder}")
    function, (parameters, features, *_), options = load_model(f"{HERE / 'models'}/{name}")
    update, state = options["update"]
    function, update, tree = jax.jit(function), jax.jit(update), jax.tree.structure(parameters)
    for number in range(steps):
        parts = [function(parameters, features, *arguments) for arguments in zip(*batches(number))]
        _, gradients = jax.tree.map(lambda *x: sum(x) / MICROBATCHES, *parts)
        parameters, state = update(parameters, gradients, state)
    found = load_file(folder / f"step-{steps:012}/params.safetensors")
    ours = graphs.accuracy(kind, jax.tree.unflatten(tree, [found[key] for key in sorted(found)]))
    golden = graphs.accuracy(kind, parameters)
    assert golden > 0.9 and abs(ours - golden) <= 0.01


def test_samples_are_different_neighbours_and_depend_only_on_seed_step_and_microbatch():
    starts, target = sampling.graph()[:2]
    sizes = sampling.graph_sizes()
    batch = sampling.sample(1, 2, 3)
    assert not np.array_equal(batch["ids"], sampling.sample(1, 3, 2)["ids"])
    for name, again in sampling.sample(1, 2, 3).items():
        assert np.array_equal(batch[name], again)
    for row, mask in zip(batch["ids"], batch["mask"]):
        edges = range(starts[row[0]], starts[row[0] + 1])
        near = row[1:1 + sizes["K"]][mask[:sizes["K"]] > 0]
        assert len(near) == min(len(edges), sizes["K"])  # all, or as many different edges as the fan-out
        pool = list(target[list(edges)])
        for node in near:
            pool.remove(node)
