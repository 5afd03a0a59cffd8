"""Graph neural networks on sampled neighbours: loss and gradients of ten steps equal JAX's with the same samples."""

import json
import sys

import jax
import numpy as np
import optax
import pytest
from safetensors.numpy import load_file

import stagewright
from stagewright.frontend.jax_step import load_model
from test_hosts import Hosts, cluster, started
from test_hosts import pytestmark as ON_HOSTS
from test_runs import losses
from tiers import THOROUGH, thorough
from workshop import HERE, tool

sys.path.insert(0, str(HERE / "models"))
import graphs  # noqa: E402
import sampling  # noqa: E402
import stores  # noqa: E402

STEPS, MICROBATCHES = 10, 8


def batches(step, seed=0):
    """The batch arguments of a step, microbatches first."""
    parts = [sampling.sample(seed, step, m) for m in range(MICROBATCHES)]
    return [np.stack([part[name] for part in parts]) for name in parts[0]]


def trained_by_jax(name, steps):
    """(losses, gradients of the first step, parameters) of `steps` steps with the update that the model states."""
    function, (parameters, features, *_), options = load_model(f"{HERE / 'models/graphs.py'}:{name}")
    update, state = options["update"]
    function, update = jax.jit(function), jax.jit(update)
    found, first = [], None
    for number in range(steps):
        parts = [function(parameters, features, *arguments) for arguments in zip(*batches(number))]
        loss, gradients = jax.tree.map(lambda *x: sum(x) / MICROBATCHES, *parts)
        found.append(float(loss))
        first = first or jax.tree.leaves(gradients)
        parameters, state = update(parameters, gradients, state)
    return found, first, parameters


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
    parameters = trained_by_jax(f"{kind}_adam", steps)[2]
    found = load_file(folder / f"step-{steps:012}/params.safetensors")
    ours = graphs.accuracy(kind, jax.tree.unflatten(jax.tree.structure(parameters), [found[key] for key in sorted(found)]))
    golden = graphs.accuracy(kind, parameters)
    assert golden > 0.9 and abs(ours - golden) <= 0.01


@pytest.mark.parametrize("hashed", [0, 1])
def test_stores_and_workers_as_stages_equal_jax(workshop, monkeypatch, hashed):
    """stores.py: losses of ten steps, the same wherever the nodes lie; and pp-run counts the padding of fetches."""
    variables = {"STAGEWRIGHT_STORES": f"3,{hashed}"}
    monkeypatch.setenv(*next(iter(variables.items())))
    for cached in (stores.parts, stores.room):
        cached.cache_clear()
    function, (parameters, features, *_), options = stores.stored_sage()
    update, state = options["update"]
    function, update, golden = jax.jit(function), jax.jit(update), []
    for number in range(STEPS):
        parts = [function(parameters, features, *stores.nested(stores.fetched(0, number, m))) for m in range(MICROBATCHES)]
        loss, gradients = jax.tree.map(lambda *x: sum(x) / MICROBATCHES, *parts)
        golden.append(float(loss))
        parameters, state = update(parameters, gradients, state)
    module, folder = workshop.module("stores.py:stored_sage", variables), workshop.path("stores", hashed)
    tool("pp-compile", module, "--cluster=local:6", "--stages=6", "--schedule=1f1b", f"--microbatches={MICROBATCHES}", "--quiet", "-o",
         f"{folder}.swx")
    lists = [(store, worker) for store in range(3) for worker in range(3)]
    found = json.loads(tool("pp-run", f"{folder}.swx", f"--inputs={module.with_suffix('.inputs.safetensors')}", f"--steps={STEPS}",
                            f"--source={HERE / 'models/stores.py'}:fetched", f"--metrics={folder}.jsonl", "--json",
                            *(f"--fetched=fetch/p{store}w{worker}=features/p{store}" for store, worker in lists), env=variables))
    assert losses(folder) == pytest.approx(golden, rel=1e-5)
    width, last = 4 * sampling.graph_sizes()["F"], [stores.fetched(0, STEPS - 1, m) for m in range(MICROBATCHES)]
    for (store, worker), counted in zip(lists, found["fetched_bytes"], strict=True):
        rows = np.stack([batch[f"fetch/p{store}w{worker}"] for batch in last])
        assert counted == {"list": f"fetch/p{store}w{worker}", "table": f"features/p{store}", "bytes": rows.size * width,
                           "padding": int((rows < 0).sum()) * width, "repeated": 0}
    assert sum(counted["padding"] for counted in found["fetched_bytes"]) > 0


# On three hosts with two ranks each. split: every rank has a part of the features and of the samples; pairs: so do both ranks
# of each of three copies. stages: the features and the layers in two stages, each with a replica on every host.
SLOTS, SMALL = (2, 2, 2), "B=12,N=1200"
LARGE = "N=100000,E=1000000,C=32,F=128,H=128,B=12,K=10,L=5"
PLANS = {"pairs": ("--tensor-parallel=2", "--data-parallel=3", "--shard=features=0,ids=0,mask=0,classes=0,*=whole"),
         "split": ("--tensor-parallel=6", "--shard=features=0,ids=0,mask=0,classes=0,*=whole"),
         "stages": ("--stages=2", "--plan=[0,1)@core0+core2+core4 [1,4)@core1+core3+core5", "--schedule=1f1b")}


@pytest.fixture
def sized(monkeypatch, request):
    """The variables of a graph of the size that the test states."""
    monkeypatch.setenv("STAGEWRIGHT_GRAPHS", request.param)
    sampling.graph.cache_clear()
    yield {"STAGEWRIGHT_GRAPHS": request.param}
    sampling.graph.cache_clear()


@ON_HOSTS
@pytest.mark.parametrize("kind, plan, sized", [
    ("sage", "split", SMALL), ("gat", "stages", SMALL),
    *thorough([("sage", "stages", SMALL), ("gat", "split", SMALL), ("sage", "pairs", LARGE), ("sage", "stages", LARGE),
               ("gat", "pairs", LARGE), ("gat", "stages", LARGE)])], indirect=["sized"])
def test_three_hosts_with_two_ranks_each_equal_jax(workshop, sized, kind, plan):
    """The losses of ten steps with Adam, and gradients."""
    machines = workshop.path("hosts.json")
    machines.write_text(json.dumps(cluster("hosts", SLOTS, 125e6)))

    def run(model, *flags):
        module, artifact = workshop.module(model, sized), workshop.path(model, plan, *sized.values(), "swx")
        tool("pp-compile", module, f"--cluster={machines}", *PLANS[plan], "--microbatches=8", "--quiet", "-o", artifact)
        with Hosts(workshop.directory, len(SLOTS)) as hosts:
            done = started(hosts, SLOTS, artifact, "--check-memory", f"--inputs={module.with_suffix('.inputs.safetensors')}",
                           f"--source={HERE / 'models/sampling.py'}:sample", *flags)
        assert done.returncode == 0, done.stderr

    folder, out = (workshop.path("hosts", kind, plan, *sized.values(), *end) for end in ((), ("safetensors",)))
    run(f"graphs.py:{kind}_adam", f"--steps={STEPS}", f"--metrics={folder}.jsonl")
    run(f"graphs.py:graph_{kind}", f"--outputs={out}")
    golden, first, _ = trained_by_jax(f"{kind}_adam", STEPS)
    found = load_file(out)
    assert losses(folder) == pytest.approx(golden, rel=1e-5)
    assert len(found) == 1 + len(first)
    for number, theirs in enumerate(first):
        assert np.linalg.norm(found[f"{number + 1}"] - theirs) <= 1e-5 * np.linalg.norm(theirs)


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
