"""Parameters and state stay the same bytes when checkpoints pass between plans: two ranks, four, one, Python; pp-run and
Python's loop resume each other's runs."""

import json
import os
import pathlib
import signal
import subprocess
import sys

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import stagewright
from stagewright.frontend.jax_step import load_model
from tiers import thorough
from workshop import BUILD, HERE, call, tool

MODEL, MICROBATCHES = "training.py:gpt_adamw", 8
TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
NAMES = ("params.safetensors", "state.safetensors")


@pytest.fixture(scope="module")
def text(workshop):
    path = workshop.path("handover.bin")
    (np.frombuffer(TEXT.read_bytes(), np.uint8) % 64).astype("<u2").tofile(path)
    return path


def inputs(workshop):
    return workshop.module(MODEL).with_suffix(".inputs.safetensors")


def go(workshop, text, stages, folder, steps, *flags, data=None):
    tool("pp-run", workshop.artifact(MODEL, stages, "1f1b"), f"--inputs={inputs(workshop)}", f"--steps={steps}",
         f"--checkpoints={folder}", "--keep=20", *(data or (f"--data=ids={text}", f"--data=tgt={text}+1")), *flags)


def batches(text, shape, begin=0):
    """The batches that pp-run reads from a file of tokens."""
    tokens = np.fromfile(text, "<u2").astype(np.int32)
    size = MICROBATCHES * int(np.prod(shape))
    for at in range(begin * size, len(tokens) - size, size):
        yield {name: tokens[at + s:at + s + size].reshape(MICROBATCHES, *shape) for s, name in enumerate(("ids", "tgt"))}


def contents(folder, step):
    return [(folder / f"step-{step:012d}" / name).read_bytes() for name in NAMES]


def leaves_of(folder, step, parameters):
    """The parameters of a checkpoint as JAX arrays, in tree order."""
    named = load_file(folder / f"step-{step:012d}" / NAMES[0])
    return [jax.numpy.asarray(named["/".join(["params", *(str(getattr(k, "key", getattr(k, "idx", ""))) for k in keys)])])
            for keys, _ in jax.tree.leaves_with_path(parameters)]


def test_every_hand_over_keeps_every_byte(workshop, text):
    """A plan that loads a checkpoint and saves it before its first step saves the same bytes."""
    folder = workshop.path("handover")
    _, (parameters, ids, _), _ = load_model(f"{HERE / 'models/training.py'}:gpt_adamw")
    done = 0
    for stages in (2, 4, 1):
        done += 3
        go(workshop, text, stages, folder, done, *["--resume"] * (done > 3))
        written = contents(folder, done)
        for other in (4, 1, 2):
            run = stagewright.Run(workshop.artifact(MODEL, other, "1f1b"), inputs(workshop), checkpoints=folder, resume=True)
            copy = workshop.path("copy", stages, other)
            stagewright.checkpoints.write(copy, done, run.tensors())
            assert run.done == done
            for before, name in zip(written, NAMES):
                wanted, found = load_file(folder / f"step-{done:012d}" / name), load_file(copy / f"step-{done:012d}" / name)
                assert before and {k: v.tobytes() for k, v in wanted.items()} == {k: v.tobytes() for k, v in found.items()}
    # The last checkpoint, loaded as JAX arrays and saved by safetensors, has the same bytes.
    leaves = leaves_of(folder, done, parameters)
    assert [leaf.shape for leaf in leaves] == [leaf.shape for leaf in jax.tree.leaves(parameters)]
    again = workshop.path("jax.safetensors")
    named = load_file(folder / f"step-{done:012d}" / NAMES[0])
    order = ["/".join(["params", *(str(getattr(k, "key", getattr(k, "idx", ""))) for k in keys)])
             for keys, _ in jax.tree.leaves_with_path(parameters)]
    save_file({name: np.asarray(leaf) for name, leaf in zip(order, leaves)}, again)
    assert {k: v.tobytes() for k, v in load_file(again).items()} == {k: v.tobytes() for k, v in named.items()}


@pytest.mark.parametrize("stages", [2, *thorough([1])])
def test_grids_of_shards_hand_over_every_byte(workshop, text, stages):
    """A grid saves what another one, a single axis and a pipeline load and save again."""
    folder = workshop.path("grids", stages)

    def over(ways, hints, stages=1):
        path = workshop.path("over", ways, hints.replace("*/", ""), stages, "swx")
        tool("pp-compile", workshop.module(MODEL), "--cluster=local:8", f"--tensor-parallel={ways}", f"--shard={hints}",
             f"--stages={stages}", f"--microbatches={MICROBATCHES}", "--quiet", "-o", path)
        return path

    grid = over("2x2", "*/qkv=1:3;0,*/o=0;1,*/fc=1;0,*/proj=0;1", stages)
    tool("pp-run", grid, f"--inputs={inputs(workshop)}", "--steps=2", f"--checkpoints={folder}", f"--data=ids={text}", f"--data=tgt={text}+1")
    written = contents(folder, 2)
    others = over("2x2", "*/qkv=0;1:3,*/o=1;whole,*/fc=0;0,*/proj=1;1", 3 - stages), over(4, "*/fc=1,*/proj=0"), workshop.artifact(MODEL, 2, "1f1b")
    for number, other in enumerate((grid, *others)):
        run = stagewright.Run(other, inputs(workshop), checkpoints=folder, resume=True)
        copy = workshop.path("copy-of-grid", stages, number)
        stagewright.checkpoints.write(copy, 2, run.tensors())
        assert run.done == 2
        for before, name in zip(written, NAMES):
            found = load_file(copy / f"step-{2:012d}" / name)
            assert before and {k: v.tobytes() for k, v in load_file(folder / f"step-{2:012d}" / name).items()} \
                == {k: v.tobytes() for k, v in found.items()}


@pytest.mark.parametrize("counts", ["4,2", *thorough(["1,2"])])
def test_stages_with_different_numbers_of_shards_hand_over_every_byte(workshop, text, counts):
    """They save what stages with other numbers, with equal numbers, and with whole layers load and save again."""
    folder = workshop.path("unequal", counts)

    def over(ways, *flags):
        path = workshop.path("over", ways, "unequal", *flags, "swx")
        tool("pp-compile", workshop.module(MODEL), "--cluster=local:8", f"--tensor-parallel={ways}", "--shard=*/qkv=1:3,*/o=0,*/fc=1,*/proj=0",
             f"--microbatches={MICROBATCHES}", "--quiet", "-o", path, *flags)
        return path

    own = over(counts)
    tool("pp-run", own, f"--inputs={inputs(workshop)}", "--steps=2", f"--checkpoints={folder}", f"--data=ids={text}", f"--data=tgt={text}+1")
    written = contents(folder, 2)
    others = over("2,1"), over("2", "--stages=2"), over("3,2", "--stage-devices=0-2;1-2"), workshop.artifact(MODEL, 2, "1f1b")
    for number, other in enumerate((own, *others)):
        run = stagewright.Run(other, inputs(workshop), checkpoints=folder, resume=True)
        copy = workshop.path("copy-of-unequal", counts, number)
        stagewright.checkpoints.write(copy, 2, run.tensors())
        assert run.done == 2
        for before, name in zip(written, NAMES):
            found = load_file(copy / f"step-{2:012d}" / name)
            assert before and {k: v.tobytes() for k, v in load_file(folder / f"step-{2:012d}" / name).items()} \
                == {k: v.tobytes() for k, v in found.items()}


def test_python_and_pp_run_go_on_where_the_other_stopped(workshop, text):
    """Steps by Python and by pp-run in turn save the same bytes as one run of pp-run."""
    _, (_, ids, _), _ = load_model(f"{HERE / 'models/training.py'}:gpt_adamw")
    whole, parts = workshop.path("whole.9"), workshop.path("parts.9")
    go(workshop, text, 2, whole, 9)
    artifact, flags = workshop.artifact(MODEL, 2, "1f1b"), dict(checkpoints=parts, metrics=workshop.path("parts.jsonl"))
    first = list(stagewright.Run(artifact, inputs(workshop), **flags).train(batches(text, ids.shape), 3))
    go(workshop, text, 2, parts, 6, "--resume")
    # As of a run that was killed while it replaced its checkpoint.
    (parts / "step-000000000006").rename(parts / ".replaced-step-000000000006")
    run = stagewright.Run(artifact, inputs(workshop), resume=True, **flags)
    last = list(run.train(batches(text, ids.shape), 9))
    assert [figures["step"] for figures in first + last] == [1, 2, 3, 7, 8, 9] and 0 < last[0]["bubble"] < 1
    assert [json.loads(line)["step"] for line in workshop.path("parts.jsonl").open()] == [1, 2, 3, 7, 8, 9]
    for name in NAMES:
        one, other = (load_file(folder / "step-000000000009" / name) for folder in (whole, parts))
        assert {k: v.tobytes() for k, v in one.items()} == {k: v.tobytes() for k, v in other.items()}


class Loader:
    """An iterable whose position can be saved and restored, as in torchdata and grain."""

    def __init__(self, text, shape):
        self.text, self.shape, self.place, self.told = text, shape, 0, []

    def __iter__(self):
        for batch in batches(self.text, self.shape, self.place):
            self.place += 1
            yield batch

    def state_dict(self):
        return {"place": self.place, "seed": 2**127 + 1}  # generators have such numbers

    def load_state_dict(self, state):
        self.told.append(state)
        self.place = state["place"]


def test_a_loader_is_told_where_it_was(workshop, text):
    _, (_, ids, _), _ = load_model(f"{HERE / 'models/training.py'}:gpt_adamw")
    artifact, folder = workshop.artifact(MODEL, 1, "1f1b"), workshop.path("loader")
    run = stagewright.Run(artifact, inputs(workshop), checkpoints=folder)
    losses = [f["loss"] for f in run.train(Loader(text, ids.shape), 4)]
    loader = Loader(text, ids.shape)
    other = stagewright.Run(artifact, inputs(workshop), checkpoints=folder, resume=True)
    losses += [f["loss"] for f in other.train(loader, 6)]
    assert loader.told == [{"place": 4, "seed": 2**127 + 1}]
    straight = stagewright.Run(artifact, inputs(workshop))
    assert losses == [f["loss"] for f in straight.train(batches(text, ids.shape), 6)]


LOOP = """
import signal, sys, numpy, stagewright
signal.signal(signal.SIGINT, signal.default_int_handler)  # what starts the tests may have it ignored
artifact, inputs, folder, text, steps = sys.argv[1:6]
tokens = numpy.fromfile(text, "<u2").astype(numpy.int32)
def batch(step):
    return [tokens[step % 100 * 256 + shift:][:256].reshape(-1, 16) for shift in (0, 1)]
run = stagewright.Run(artifact, inputs, checkpoints=folder, resume=len(sys.argv) > 6)
for figures in run.train(batch, int(steps)):
    print(figures["step"], figures["loss"], flush=True)
"""


@pytest.mark.parametrize("number,status", [(signal.SIGTERM, 0), (signal.SIGINT, -signal.SIGINT)])
def test_a_loop_of_python_that_is_interrupted_saves_its_last_step(workshop, text, number, status):
    def loop(folder, *more):
        return [str(a) for a in (sys.executable, "-c", LOOP, workshop.artifact(MODEL, 2, "1f1b"), inputs(workshop),
                                 workshop.path(folder, int(number)), text, *more)]

    where = {"PYTHONPATH": f"{HERE.parents[1] / 'python'}:{BUILD / 'python'}"}
    process = subprocess.Popen(loop("killed", 10**9), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, **where})
    lines = [process.stdout.readline() for _ in range(5)]
    process.send_signal(number)
    rest, said = process.communicate(timeout=60)
    lines += rest.splitlines(keepends=True)
    assert process.returncode == status and f"interrupted after step {len(lines)}, which is saved" in said, said
    more = call(*loop("killed", len(lines) + 3, "resume"), env=where).splitlines(keepends=True)
    assert lines + more == call(*loop("whole", len(lines) + 3), env=where).splitlines(keepends=True)


@pytest.mark.parametrize("number", (signal.SIGTERM, signal.SIGINT))
def test_a_signal_in_the_last_step_is_not_lost(workshop, text, tmp_path, number):
    """The program would go on after the loop, for example with an evaluation."""
    loop = LOOP.replace("    print(", f"    figures['step'] == int(steps) and __import__('os').kill(__import__('os').getpid(), {int(number)})\n    print(")
    done = subprocess.run([sys.executable, "-c", loop + "print('went on')", workshop.artifact(MODEL, 2, "1f1b"), inputs(workshop), tmp_path / "run",
                           text, "3"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": f"{HERE.parents[1] / 'python'}:{BUILD / 'python'}"})
    assert "interrupted after step 3, which is saved" in done.stderr, done.stderr
    assert done.returncode == (0 if number == signal.SIGTERM else -signal.SIGINT)
    assert "went on" not in done.stdout and (tmp_path / "run/step-000000000003").exists()


def test_tensors_of_a_file_are_samples_too(workshop, text):
    """A safetensors file holds a stream of tokens and an array of windows; another file has the learning rate of each step."""
    _, (_, ids, _), _ = load_model(f"{HERE / 'models/training.py'}:gpt_adamw")
    tokens = np.fromfile(text, "<u2").astype(np.int32)
    length = ids.shape[1]
    windows = np.stack([tokens[at + 1:at + 1 + length] for at in range(0, len(tokens) - length - 1, length)])
    data, rates = workshop.path("data.safetensors"), workshop.path("rates.npy")
    save_file({"text": tokens, "next": windows}, data)
    np.save(rates, np.full(3, 3e-3, np.float32))
    one, other = workshop.path("one"), workshop.path("other")
    go(workshop, text, 1, one, 3)
    flags = (f"--data=ids={data}:text", f"--data=tgt={data}:next")
    go(workshop, text, 1, other, 3, f"--step-values=rate={rates}", data=flags)
    assert contents(one, 3) == contents(other, 3)
    np.save(rates, np.array([3e-3, 3e-3, 0], np.float32))
    other = workshop.path("another")
    go(workshop, text, 1, other, 3, f"--step-values=rate={rates}", data=flags)
    assert contents(one, 3)[0] != contents(other, 3)[0]
    values = {"rate": lambda step: (3e-3, 3e-3, 0)[step]}
    run = stagewright.Run(workshop.artifact(MODEL, 1, "1f1b"), inputs(workshop), values=values)
    list(run.train(batches(text, ids.shape), 3))
    found = load_file(other / "step-000000000003" / NAMES[0])
    assert all((found[name] == value).all() for name, value in run.tensors()["parameter"].items())


@pytest.mark.parametrize("flag,wanted", [
    ("--data=ids={}:words", "it has no tensor 'words', only 'a', 'b'"),
    ("--data=ids={}", "it has 2 tensors ('a', 'b'); name one as FILE.safetensors:TENSOR"),
    ("--data=ids={}:a", "has elements of type f32, argument 'ids' takes i32"),
    ("--step-values=rate={}:a", "'rate' has values for 2 steps, the run has 5"),
    ("--step-values=speed={}:a", "no constant argument is called 'speed'; they are 'rate'")])
def test_what_does_not_fit_is_said(workshop, flag, wanted):
    data = workshop.path("wrong.safetensors")
    save_file({"a": np.zeros(2, np.float32), "b": np.zeros(2, np.int64)}, data)
    done = subprocess.run([BUILD / "bin/pp-run", workshop.artifact(MODEL, 1, "1f1b"), "--repeat-microbatch", "--steps=5",
                           f"--inputs={inputs(workshop)}", flag.format(data)], capture_output=True, text=True)
    assert done.returncode == 1 and wanted in done.stderr, done.stderr


@pytest.mark.parametrize("options,steps,wanted", [
    (dict(resume=True), 1, "resume needs checkpoints=FOLDER"), (dict(values={"speed": [1]}), 1, "no constant argument is "
     "called 'speed'"), ({}, 500, "the batches ended after step"),
    (dict(checkpoints="none", resume=True), 1, "'none' has no checkpoint; without resume"),
    (dict(keep=0), 1, "keep is 0 and checkpoint_every 0, expected at least 1")])
def test_what_does_not_fit_in_python_is_said(workshop, text, options, steps, wanted):
    with pytest.raises(stagewright.RunFailure, match=wanted):
        run = stagewright.Run(workshop.artifact(MODEL, 1, "1f1b"), inputs(workshop), **options)
        list(run.train(batches(text, (2, 16), 130), steps))


LOCKED = """
import fcntl, os, pathlib, sys
import numpy as np
import stagewright

artifact, inputs, folder = sys.argv[1:]
draft = pathlib.Path(folder, ".writing-step-000000000001")
draft.mkdir(parents=True)
held = os.open(draft, os.O_RDONLY)
fcntl.flock(held, fcntl.LOCK_EX)
run = stagewright.Run(artifact, inputs, checkpoints=folder, checkpoint_every=1)
batch = np.zeros((8, 2, 16), np.int32)
try:
    for _ in run.train(lambda step: {"ids": batch, "tgt": batch}, 2):
        pass
except stagewright.RunFailure as error:
    print(error)
"""


def test_a_failure_that_was_caught_is_not_repeated_at_the_end(workshop):
    """Another run, which holds the lock of a checkpoint, writes it; the program that caught the error ends in silence."""
    folder = workshop.path("locked")
    done = subprocess.run([sys.executable, "-c", LOCKED, workshop.artifact(MODEL, 1, "1f1b"), inputs(workshop), folder],
                          capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout == f"checkpoint '{folder}/step-000000000001' is being written by another run; give each run its own folder\n"
    assert [path.name for path in folder.iterdir()] == [".writing-step-000000000001"]
