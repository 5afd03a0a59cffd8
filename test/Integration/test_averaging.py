"""Replicas that update their own parameters and average them some steps later: after every step each replica's parameters are
those of the same rule in JAX, and so is their mean, which the host reads."""

import json
import os
import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

import stagewright
from emulator import NEEDED, emulated
from stagewright.frontend.jax_step import load_model
from test_processes import AS_ROOT, LAUNCH
from tiers import thorough
from workshop import BUILD, HERE, call, tool

MICROBATCHES = 4
# Steps between averages, steps until they are merged, share that a replica keeps.
RULES = (4, 2, .25), (4, 4, .25), (2, 0, .0), *thorough((((4, 1, .25),), ((8, 2, .5),)))
MERGES = ("convex", "corrected")
MLP, GPT, SINGLE, TIED = (f"training.py:{name}" for name in ("mlp_sgd", "slices_adamw", "single_adamw", "tied_adamw"))
# Plan, and the samples of every replica; or a number of replicas that take microbatches in turn.
WHOLE, UNEVEN, STAGES = ("[0,5)x4", (2, 2, 2, 2)), ("[0,5)x4:1+2+3+1", (1, 2, 3, 1)), ("[0,2)x2:3+4 [2,5)x2:3+4", (3, 4))
DEVICE = "--target=cuda:sm_90a"
SHARED = "[0,5)x2 [5,10)x2", (1, 1)  # of a model whose first and last layer use one parameter
MPI = pytest.mark.skipif(not shutil.which("mpirun") or not (BUILD / "lib/libstagewright-mpi.so").exists(), reason="there is no MPI")


def compiled(workshop, model, plan, rule, merge, *flags):
    def make():
        path = workshop.path("averaging", model, plan, rule, merge, *flags, "swx")
        every, delay, xi = rule
        how = [f"--average-every={every}", f"--average-delay={delay}", f"--average-merge={merge}",
               *([f"--average-xi={xi}"] if merge == "convex" else [])]
        tool("pp-compile", workshop.module(model), "--cluster=local:4", f"--plan={plan}", "--schedule=1f1b",
             f"--microbatches={MICROBATCHES}", "--quiet", "-o", path, *how, *flags)
        return path
    return workshop.once(("averaging", model, plan, rule, merge, *flags), make)


def steps_of(rule):
    """Two rounds and the merge of the second."""
    return 2 * rule[0] + rule[1] + 1


def batches_of(arguments, number):
    rng = np.random.default_rng(number)
    return [np.stack([rng.permutation(a.reshape(-1)).reshape(a.shape) for _ in range(MICROBATCHES)]) for a in arguments]


class Replicas:
    """The rule in JAX: `self.parameters` of every replica after each step."""

    def __init__(self, model, shares):
        step, arguments, options = load_model(f"{HERE / 'models' / model.split(':')[0]}:{model.split(':')[1]}")
        self.first, *self.batch = arguments
        function, self.state, *self.more = options["update"]
        self.step, self.update = jax.jit(step), jax.jit(function)
        self.turns = shares if isinstance(shares, int) else 0
        self.shares = (1,) * shares if self.turns else shares

    def gradient(self, parameters, batches, replica):
        if self.turns:
            parts = [[b[m] for b in batches] for m in range(replica, MICROBATCHES, self.turns)]
        else:
            end = sum(self.shares[:replica + 1])
            parts = [[b[m, end - self.shares[replica]:end] for b in batches] for m in range(MICROBATCHES)]
        found = [self.step(parameters, *part)[1] for part in parts]
        return jax.tree.map(lambda *x: sum(x[1:], x[0]) / len(parts), *found)

    def train(self, rule, merge, steps):
        """Yields a list of the replicas' parameters, and their mean, after every step."""
        every, delay, xi = rule
        count, weights = len(self.shares), [s / sum(self.shares) for s in self.shares]
        mean = lambda trees: jax.tree.map(lambda *x: sum(w * a for w, a in zip(weights, x)), *trees)  # noqa: E731
        parameters, states = [self.first] * count, [self.state] * count
        snapshots = average = None
        for t in range(1, steps + 1):
            batches = batches_of(self.batch, t - 1)
            for i in range(count):
                gradient = self.gradient(parameters[i], batches, i)
                parameters[i], states[i] = self.update(parameters[i], gradient, states[i], *self.more)

            def merged():
                if merge == "convex":
                    return [jax.tree.map(lambda x, a: xi * x + (1 - xi) * a, x, average) for x in parameters]
                return [jax.tree.map(lambda x, a, s: x + (a - s), x, average, s) for x, s in zip(parameters, snapshots)]

            if delay and t - delay >= every and (t - delay) % every == 0:
                parameters = merged()
            if t % every == 0:
                snapshots, average = list(parameters), mean(parameters)
                if delay == 0:
                    parameters = merged()
            yield list(parameters), mean(parameters)


def flat(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def agree(found, expected):
    """Compares norms, because Adam divides by small roots: single elements may differ more than the rest."""
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert np.linalg.norm(a - b) <= 1e-4 * np.linalg.norm(b) + 1e-6, (np.linalg.norm(a - b), np.linalg.norm(b))


def follows(workshop, model, plan, rule, merge, *flags):
    text, shares = plan
    step = stagewright.load(compiled(workshop, model, text, rule, merge, *flags), microbatches=MICROBATCHES, check_memory=True)
    replicas = Replicas(model, shares)
    leaves = flat((replicas.first, *replicas.batch, replicas.state, *replicas.more))
    first = len(flat(replicas.first))
    step.set({p: leaf if not first <= p < first + len(replicas.batch) else np.stack([leaf] * MICROBATCHES)
              for p, leaf in enumerate(leaves)})
    results = step.manifest["results"]
    columns = ranks_of(step.manifest, len(replicas.shares))
    for t, (each, mean) in enumerate(replicas.train(rule, merge, steps_of(rule))):
        step.run(dict(enumerate(batches_of(replicas.batch, t), first)))
        agree([step.result(r["position"]) for r in results if r["role"] == "parameter"], flat(mean))
        for ranks, expected in zip(columns, each):
            own = {}
            for rank in ranks:
                for r in results:
                    if r["name"].startswith(f"averaging/rank{rank}/parameter/"):
                        own.setdefault(r["name"].split("/parameter/")[1], []).append(step.result(r["position"]))
            assert all(copy.tobytes() == copies[0].tobytes() for copies in own.values() for copy in copies)
            order = [r["name"] for r in results if r["role"] == "parameter"]
            agree([own[name][0] for name in order], flat(expected))


def ranks_of(manifest, replicas):
    """The ranks of every replica: those with the samples of the first one come first in each stage."""
    stages = {}
    for number, rank in enumerate(manifest["ranks"]):
        names = tuple(sorted(b["name"] for b in rank["buffers"] if b["kind"] == "parameter"))
        stages.setdefault(names, []).append(number)
    return [[ranks[i] for ranks in stages.values()] for i in range(replicas)]


@pytest.mark.parametrize("merge", MERGES)
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_parameters_of_every_step_follow_the_rule(workshop, rule, merge):
    follows(workshop, MLP, WHOLE, rule, merge)


@pytest.mark.parametrize("plan", (STAGES, *thorough(((UNEVEN,),))), ids=lambda plan: plan[0])
def test_replicas_clip_by_norms_of_their_own(workshop, plan):
    """Two replicas with two stages each, whose norm is over the stages of one replica; four with unequal samples."""
    follows(workshop, GPT, plan, (2, 1, .25), "convex")


def test_replicas_in_turn_follow_the_rule(workshop):
    """A microbatch has one sample, so each replica, of two stages, runs whole microbatches of its own."""
    follows(workshop, SINGLE, ("[0,3)x2 [3,5)x2", 2), (2, 1, .25), "corrected")


@pytest.mark.parametrize("rule, merge", (((4, 2, .25), "corrected"), ((2, 1, .25), "convex")), ids=str)
def test_a_parameter_that_two_stages_use_follows_the_rule(workshop, rule, merge):
    """The embedding is also the output head: two ranks of each replica have a copy, with the gradients of both."""
    follows(workshop, TIED, SHARED, rule, merge)


@pytest.mark.parametrize("model, plan", ((GPT, STAGES), *thorough(((SINGLE, ("[0,3)x2 [3,5)x2", 2)), (TIED, SHARED)))))
def test_replicas_that_run_what_is_ready_follow_the_rule(workshop, model, plan):
    follows(workshop, model, plan, (2, 1, .25), "corrected", "--execution=ready")


@NEEDED
@pytest.mark.parametrize("model, plan, rule, merge", (
    *((MLP, WHOLE, (4, 2, .25), merge) for merge in MERGES), *thorough((
        *((MLP, WHOLE, rule, merge) for rule in ((4, 1, .25), (8, 2, .5), (4, 4, .25), (2, 0, .0)) for merge in MERGES),
        (GPT, STAGES, (2, 1, .25), "convex"), (TIED, SHARED, (2, 1, .25), "corrected")))))
def test_gpus_follow_the_rule(workshop, monkeypatch, model, plan, rule, merge):
    for name, value in emulated(devices=4).items():
        monkeypatch.setenv(name, value)
    follows(workshop, model, plan, rule, merge, DEVICE)


@pytest.fixture(scope="module")
def data(workshop):
    """Samples for twelve steps of four microbatches, in files."""
    rng, flags = np.random.default_rng(7), []
    for name, width in (("x", 16), ("y", 8)):
        path = workshop.path("averaging", name, "npy")
        np.save(path, rng.standard_normal((12 * MICROBATCHES * 8, width)).astype(np.float32))
        flags.append(f"--data={name}={path}")
    return flags


def run(workshop, data, rule, merge, folder, steps, *flags, model=MLP, plan=WHOLE, how="--execution=ordered", mpi=False, seed=0):
    module = workshop.module(model)
    launch = (*LAUNCH, "4") if mpi else ()
    call(*launch, BUILD / "bin/pp-run", compiled(workshop, model, plan[0], rule, merge, how),
         f"--inputs={module.with_suffix('.inputs.safetensors')}", *data, f"--steps={steps}", f"--checkpoints={folder}", *flags,
         env={**AS_ROOT, **(emulated(devices=4, seed=seed) if how == DEVICE else {})})


def saved(folder, step):
    path = folder / f"step-{step:012d}"
    return {**load_file(path / "params.safetensors"), **load_file(path / "state.safetensors")}


def test_the_loss_is_that_of_all_samples(workshop, data):
    """Before replicas differ, the loss is that of synchronous training; over processes it is that of threads."""
    def losses(artifact, launch, *flags):
        metrics = workshop.path("averaging", *launch, *flags, "jsonl")
        inputs = workshop.module(MLP).with_suffix(".inputs.safetensors")
        call(*launch, BUILD / "bin/pp-run", artifact, f"--inputs={inputs}", *data, *flags, f"--metrics={metrics}",
             f"--microbatches={MICROBATCHES}", env=AS_ROOT)
        return [json.loads(line)["loss"] for line in metrics.read_text().splitlines() if "loss" in json.loads(line)]
    averaging = compiled(workshop, MLP, WHOLE[0], (4, 4, .25), "corrected")
    threads = losses(averaging, (), "--steps=6")
    assert threads[0] == pytest.approx(losses(workshop.artifact(MLP, 2, "1f1b"), (), "--steps=1")[0], rel=1e-5)
    if not MPI.args[0]:
        assert losses(averaging, (*LAUNCH, "4"), "--steps=6") == pytest.approx(threads, rel=1e-4)


@MPI
@pytest.mark.parametrize("fault, reason", (("raise", "error was injected"), ("nan", "not a number"), ("kill", "killed|ended|died")))
def test_a_fault_of_one_replica_ends_all(workshop, data, fault, reason):
    """The others have gone on to a later step, or have none left."""
    inputs = workshop.module(MLP).with_suffix(".inputs.safetensors")
    artifact = compiled(workshop, MLP, WHOLE[0], (4, 4, .25), "corrected")
    for step in (2, 5):
        with pytest.raises(AssertionError, match=f"rank 2.*({reason})"):
            call(*LAUNCH, "4", BUILD / "bin/pp-run", artifact, f"--inputs={inputs}", *data, "--steps=6",
                 env={**AS_ROOT, "STAGEWRIGHT_INJECT": f"2:{step}:1:{fault}"})


@MPI
def test_a_slow_replica_is_waited_for(workshop, data):
    """The others run six steps of 0.05 s, then wait for its average while it runs steps of 0.6 s."""
    inputs = workshop.module(MLP).with_suffix(".inputs.safetensors")
    call(*LAUNCH, "4", BUILD / "bin/pp-run", compiled(workshop, MLP, WHOLE[0], (6, 6, .25), "corrected"), f"--inputs={inputs}",
         "--repeat-microbatch", "--microbatches=4", "--steps=13", "--pace=F:6ms,B:6ms", "--dilate=0:12", env=AS_ROOT)


@MPI
@pytest.mark.parametrize("model, merge, plan", (*((MLP, merge, WHOLE) for merge in MERGES),
                                                (MLP, "corrected", ("[0,2)x2 [2,5)x2", ())), (TIED, "corrected", SHARED)))
def test_processes_follow_the_rule_as_threads_do(workshop, data, model, merge, plan):
    """Processes add in another order, so numbers of every step are compared, not bits; an average runs beside two steps."""
    rule, folders = (4, 2, .25), [workshop.path("averaging", model, merge, plan[0], how) for how in ("threads", "mpi")]
    samples = data if model == MLP else ("--repeat-microbatch", f"--microbatches={MICROBATCHES}")
    for folder, mpi in zip(folders, (False, True)):
        run(workshop, samples, rule, merge, folder, 11, "--checkpoint-every=1", "--keep=20", model=model, plan=plan, mpi=mpi)
    for step in range(1, 12):
        threads, processes = (saved(folder, step) for folder in folders)
        assert threads.keys() == processes.keys()
        for name, value in threads.items():
            np.testing.assert_allclose(processes[name], value, rtol=1e-4, atol=1e-6, err_msg=f"step {step}: {name}")


@pytest.mark.parametrize("mpi", (False, pytest.param(True, marks=MPI)))
def test_ranks_that_run_what_is_ready_get_the_same_bits(workshop, data, mpi):
    """Actions take random times, so their order differs from step to step, and steps of replicas overlap averages differently."""
    found = []
    for execution, flags in (("ordered", ()), ("ready", ("--pace=F:1ms,B:1ms,jitter:1,seed:1",))):
        folder = workshop.path("averaging", execution, mpi)
        run(workshop, data, (4, 2, .25), "corrected", folder, 11, *flags, plan=("[0,2)x2 [2,5)x2", ()),
            how=f"--execution={execution}", mpi=mpi)
        found.append({k: v.tobytes() for k, v in saved(folder, 11).items()})
    assert found[0] == found[1]


@pytest.mark.parametrize("merge, mpi", (("convex", False), ("corrected", False), pytest.param("corrected", True, marks=MPI)))
def test_a_run_resumes_in_the_middle_of_a_round(workshop, data, merge, mpi):
    """After step 5 an average of step 4 is under way, which is merged after step 6."""
    rule, whole, parts = (4, 2, .25), *(workshop.path("averaging", merge, mpi, name) for name in ("whole", "parts"))
    run(workshop, data, rule, merge, whole, 11, mpi=mpi)
    run(workshop, data, rule, merge, parts, 5, mpi=mpi)
    assert saved(parts, 5)["averaging/step.0"] == 5
    run(workshop, data, rule, merge, parts, 11, "--resume", mpi=mpi)
    expected, found = saved(whole, 11), saved(parts, 11)
    assert {k: v.tobytes() for k, v in found.items()} == {k: v.tobytes() for k, v in expected.items()}


@NEEDED
@pytest.mark.parametrize("ranks", ("--transport=threads", "--processes"))
def test_gpus_resume_in_the_middle_of_a_round(workshop, data, ranks):
    """Ranks in one process and in one each, in any order that streams and events allow; the numbers are those of CPUs."""
    cpus, whole, parts = (workshop.path("averaging", "gpus", ranks, name) for name in ("cpus", "whole", "parts"))
    for folder, how, flags in ((cpus, "--execution=ordered", ()), (whole, DEVICE, (ranks,))):
        run(workshop, data, (4, 2, .25), "corrected", folder, 11, *flags, how=how)
    run(workshop, data, (4, 2, .25), "corrected", parts, 5, ranks, how=DEVICE, seed=1)
    run(workshop, data, (4, 2, .25), "corrected", parts, 11, ranks, "--resume", how=DEVICE, seed=2)
    expected, found = saved(whole, 11), saved(parts, 11)
    assert {k: v.tobytes() for k, v in found.items()} == {k: v.tobytes() for k, v in expected.items()}
    for name, value in saved(cpus, 11).items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_python_resumes_and_other_steps_do_not(workshop, data):
    rule, folder = (4, 2, .25), workshop.path("averaging", "python")
    run(workshop, data, rule, "corrected", folder, 5)
    whole = workshop.path("averaging", "python-whole")
    run(workshop, data, rule, "corrected", whole, 8)
    arrays = [np.load(flag.split("=")[2]).reshape(12, MICROBATCHES, 8, -1) for flag in data]
    inputs = workshop.module(MLP).with_suffix(".inputs.safetensors")
    again = stagewright.Run(compiled(workshop, MLP, WHOLE[0], rule, "corrected"), inputs, checkpoints=folder, resume=True)
    assert len(list(again.train(lambda number: tuple(a[number] for a in arrays), 8))) == 3
    assert {k: v.tobytes() for k, v in saved(folder, 8).items()} == {k: v.tobytes() for k, v in saved(whole, 8).items()}
    exact = workshop.artifact(MLP, 2, "1f1b")
    with pytest.raises(AssertionError, match="averaging/.*which the step does not have; it is of another model or optimizer, or of replicas"):
        tool("pp-run", exact, f"--inputs={inputs}", *data, "--steps=9", f"--checkpoints={folder}", "--resume",
             f"--microbatches={MICROBATCHES}")


def test_a_synchronous_run_goes_on_with_its_first_round(workshop, data):
    """With E = 4, D = 2 the averages of a run whose first 3 steps were synchronous are those of a run that begins there."""
    folder, inputs = workshop.path("averaging", "synchronous"), workshop.module(MLP).with_suffix(".inputs.safetensors")
    tool("pp-run", workshop.artifact(MLP, 2, "1f1b"), f"--inputs={inputs}", *data, "--steps=3", f"--checkpoints={folder}",
         f"--microbatches={MICROBATCHES}")
    run(workshop, data, (4, 2, .25), "corrected", folder, 8, "--resume", "--checkpoint-every=1", "--keep=20")
    states = {step: saved(folder, step) for step in range(4, 9)}
    assert [int(state["averaging/step.0"][0]) for state in states.values()] == [1, 2, 3, 4, 5]
    for step, state in states.items():
        for name in [name for name in state if name.startswith("params/")]:
            own = [state[f"averaging/rank{rank}/parameter/{name}"] for rank in range(4)]
            np.testing.assert_allclose(state[name], sum(own) / 4, rtol=1e-5, atol=1e-7, err_msg=f"step {step}: {name}")
    assert not np.any(states[6]["averaging/average.0"]) and np.any(states[7]["averaging/average.0"])


def test_exact_steps_are_told_apart(workshop, data):
    inputs = f"--inputs={workshop.module(MLP).with_suffix('.inputs.safetensors')}"
    averaging = compiled(workshop, MLP, WHOLE[0], (4, 2, .25), "convex")
    with pytest.raises(AssertionError, match="--exact: replicas of .* average their parameters every 4 steps"):
        tool("pp-run", averaging, inputs, *data, "--exact")
    tool("pp-run", compiled(workshop, MLP, WHOLE[0], (1, 0, .25), "convex"), inputs, *data, "--exact")
    plan = json.loads(tool("pp-run", averaging, "--info=json"))["plan"]["averaging"]
    assert plan["progress"] == 1 - .75 * 2 / 4 and plan["every"] == 4


@NEEDED
def test_gpus_say_that_they_wait_for_an_average(workshop):
    """A rank stops; the others exchange nothing with it but averages."""
    done = subprocess.run([sys.executable, HERE.parent / "Inputs/kill-rank.py", "--signal=STOP", "--ranks=4", "--within=30",
                           BUILD / "bin/pp-run", compiled(workshop, MLP, WHOLE[0], (2, 1, .25), "convex", DEVICE), "--processes",
                           f"--inputs={workshop.module(MLP).with_suffix('.inputs.safetensors')}", "--repeat-microbatch", "--steps=1000000",
                           "--deadline=8"], capture_output=True, text=True, env={**os.environ, **emulated(devices=4)})
    assert done.returncode == 0, done.stdout + done.stderr
