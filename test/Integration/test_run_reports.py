"""What a run reports, while it runs and after: validation loss, metrics of every step, traces of some steps, reports."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

import stagewright
from stagewright.frontend.jax_step import load_model
from tiers import thorough
from test_processes import AS_ROOT
from workshop import BUILD, HERE, call, tool

MODEL, STEPS, MICROBATCHES = "numerics.py:dropout", 6, 8
TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
MPI = pytest.mark.skipif(not shutil.which("mpirun") or not (BUILD / "lib/libstagewright-mpi.so").exists(),
                         reason="there is no MPI")


@pytest.fixture(scope="module")
def files(workshop):
    """Files of tokens for training and for validation."""
    tokens = (np.frombuffer(TEXT.read_bytes(), np.uint8) % 64).astype("<u2")
    train, other = workshop.path("train.bin"), workshop.path("other.bin")
    tokens[:30000].tofile(train), tokens[30000:30000 + 3 * 256 + 1].tofile(other)
    return train, other


def validation(workshop, stages):
    def make():
        path = workshop.path("validation", stages, "swx")
        tool("pp-compile", workshop.module(MODEL).with_suffix(".validation.mlir"), f"--cluster=local:{stages}",
             f"--stages={stages}", "--microbatches=4", "-o", path)
        return path
    return workshop.once(("validation", stages), make)


def command(workshop, files, stages, name, *flags):
    module = workshop.module(MODEL)
    return [BUILD / "bin/pp-run", workshop.artifact(MODEL, stages, "1f1b"),
            f"--inputs={module.with_suffix('.inputs.safetensors')}", f"--data=ids={files[0]}", f"--data=tgt={files[0]}+1",
            f"--steps={STEPS}", f"--metrics={workshop.path(name)}.jsonl", *flags]


def validating(workshop, files, stages, folder):
    return [f"--validation={validation(workshop, stages)}", f"--validation-data=ids={files[1]}",
            f"--validation-data=tgt={files[1]}+1", "--validate-every=2", f"--checkpoints={folder}", "--checkpoint-every=2",
            "--keep=9"]


def lines(workshop, name):
    return [json.loads(line) for line in open(f"{workshop.path(name)}.jsonl")]


def loss_of_jax(folder, path):
    """The mean loss of a checkpoint's parameters over all samples of a file."""
    _, (parameters, ids, *_), options = load_model(f"{HERE / 'models/numerics.py'}:dropout")
    named, tokens = load_file(folder / "params.safetensors"), np.fromfile(path, "<u2").astype(np.int32)
    leaves = [named["/".join(["params", *(str(getattr(k, "key", getattr(k, "idx", ""))) for k in keys)])]
              for keys, _ in jax.tree.leaves_with_path(parameters)]
    parameters, size = jax.tree.unflatten(jax.tree.structure(parameters), leaves), ids.size
    loss = jax.jit(options["validation"])
    return np.mean([loss(parameters, tokens[at:at + size].reshape(ids.shape), tokens[at + 1:at + 1 + size].reshape(ids.shape),
                         jax.random.PRNGKey(0)) for at in range(0, 4 * 6 * size, size)])


def check_validation(workshop, files, name, folder):
    told = lines(workshop, name)
    assert [line["step"] for line in told] == list(range(1, STEPS + 1))
    assert [line["step"] for line in told if "validation_loss" in line] == [2, 4, 6]
    for line in told[1::2]:
        wanted = loss_of_jax(folder / f"step-{line['step']:012d}", files[1])
        assert line["validation_loss"] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("stages", [3, *thorough((1,))])
def test_validation_loss_is_that_of_jax(workshop, files, stages):
    folder = workshop.path("validated", stages)
    call(*command(workshop, files, stages, f"validated.{stages}", *validating(workshop, files, stages, folder)))
    check_validation(workshop, files, f"validated.{stages}", folder)


@MPI
def test_processes_validate_too(workshop, files):
    folder = workshop.path("validated.mpi")
    call("mpirun", "--quiet", "--oversubscribe", "-n", 3,
         *command(workshop, files, 3, "mpi", *validating(workshop, files, 3, folder)), env=AS_ROOT)
    check_validation(workshop, files, "mpi", folder)
    assert lines(workshop, "mpi")[-1]["idle"][2] > 0


def test_figures_of_every_step(workshop, files):
    call(*command(workshop, files, 2, "plain"))
    call(*command(workshop, files, 2, "figures", "--check-memory"))
    told = lines(workshop, "figures")
    assert [line["loss"] for line in told] == [line["loss"] for line in lines(workshop, "plain")]
    run = told[0]["run"]
    assert run["schedule"] == "1f1b" and run["microbatches"] == MICROBATCHES and len(run["ranks"]) == 2
    assert not any("run" in line for line in told[1:])
    for line in told:
        assert len(line["idle"]) == 2 and line["bubble"] == pytest.approx(sum(line["idle"]) / 2)
        assert 0 < line["bubble"] < 1
        assert line["tokens_per_second"] == pytest.approx(MICROBATCHES * 2 * 16 / line["seconds"])
        for live, rank in zip(line["live_bytes"], run["ranks"]):
            assert 0 < live <= rank["arena_bytes"]


def test_masks_change_with_the_step_as_in_python(workshop, files):
    """pp-run and Python's loop fold the same numbers into seeds: losses are equal to the bit, and differ with --same-seed."""
    tokens = np.fromfile(files[0], "<u2").astype(np.int32)
    def batch(number):
        return [tokens[number * 256 + s:number * 256 + s + 256].reshape(MICROBATCHES * 2, 16) for s in (0, 1)]
    call(*command(workshop, files, 2, "seeds"))
    call(*command(workshop, files, 2, "same", "--same-seed"))
    run = stagewright.Run(workshop.artifact(MODEL, 2, "1f1b"), workshop.module(MODEL).with_suffix(".inputs.safetensors"))
    losses = [line["loss"] for line in lines(workshop, "seeds")]
    assert losses == [figures["loss"] for figures in run.train(batch, STEPS)]
    assert not set(losses) & {line["loss"] for line in lines(workshop, "same")}


def test_the_line_for_people(workshop, files):
    """On a terminal, which util-linux's `script` provides."""
    text = call("script", "-qec", " ".join(map(str, command(workshop, files, 2, "person",
                *validating(workshop, files, 2, workshop.path("person"))))), "/dev/null")
    last = next(line for line in reversed(re.split(r"[\r\n]+", text)) if line.startswith(f"step {STEPS} of"))
    assert re.search(rf"step {STEPS} of {STEPS}  loss [\d.]+  validation [\d.]+  [\d.]+ [kM]? ?tokens/s  bubble [\d.]+ %  "
                     r"0 s left", last), text


def test_trace_of_some_steps(workshop, files):
    trace, whole = workshop.path("some.json"), workshop.path("last.json")
    call(*command(workshop, files, 2, "some", f"--trace={trace}", "--trace", "steps=3:5"))
    call(*command(workshop, files, 2, "last", f"--trace={whole}"))
    call(sys.executable, HERE.parent / "Inputs/check-trace.py", trace)
    some, last = ([event["name"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
                  for path in (trace, whole))
    assert sorted(some) == sorted(3 * last)


@pytest.mark.parametrize("flag,wanted", [
    ("--trace=steps=5:3", "'steps=5:3', expected steps=FIRST:LAST, counted from 1, such as steps=10:12"),
    ("--trace=steps=5:9", "'steps=5:9', but the run has steps 1 to 6"),
    ("--trace=steps=0", "expected steps=FIRST:LAST"),
    ("--trace=steps=-3:5", "'steps=-3:5', expected steps=FIRST:LAST"),
    ("--trace=steps=2:3 --trace=steps=5", "for the steps 2:3 and as 'steps=5'; one trace has one range of steps"),
    ("--trace=steps=1:1001", "'steps=1:1001', which are 1001 steps; a trace has at most 1000"),
    ("--trace=a.json --trace=b.json", "--trace is given for 'a.json' and for 'b.json'; one file holds all steps"),
    ("--nan=x", "--nan is 'x', expected 'stop' or 'ignore'"),
    ("--data=ids=/no.bin", "--data: 'ids' is given twice"),
    ("--validate-every=2", "--validate-every needs --validation=LOSS.swx"),
    ("--step-values=rate=x.npy", "no constant argument is called 'rate'; the step has none")])
def test_what_does_not_fit_is_said(workshop, files, flag, wanted):
    done = subprocess.run(list(map(str, command(workshop, files, 1, "wrong", *flag.split()))), capture_output=True, text=True)
    assert done.returncode == 1 and wanted in done.stderr, done.stderr


@pytest.mark.parametrize("flags,wanted", [
    ([], "needs --validation-data"), (["ids"], "'ids' is not of the form"),
    (["ids={}"], "no samples for batch argument 'tgt'"), (["words={}"], "no batch argument is called 'words'")])
def test_validation_that_does_not_fit_is_said(workshop, files, flags, wanted):
    flags = [f"--validation-data={flag.format(files[1])}" for flag in flags]
    done = subprocess.run(list(map(str, command(workshop, files, 1, "wrong", f"--validation={validation(workshop, 1)}",
                                                *flags))), capture_output=True, text=True)
    assert done.returncode == 1 and wanted in done.stderr, done.stderr
    done = subprocess.run(list(map(str, command(workshop, files, 1, "wrong", f"--validation={validation(workshop, 3)}",
                                                f"--validation-data=ids={files[1]}"))), capture_output=True, text=True)
    assert "has 3 ranks, the step has 1; compile it with --stages=1" in done.stderr


def test_more_steps_of_validation_than_data_are_refused(workshop, files):
    flags = *validating(workshop, files, 1, workshop.path("more")), "--validation-steps=99"
    done = subprocess.run(list(map(str, command(workshop, files, 1, "wrong", *flags))), capture_output=True, text=True)
    assert done.returncode == 1 and re.search(r"--validation-steps is 99, but the data is for \d+", done.stderr), done.stderr


def test_a_report_of_a_run(workshop, files):
    """A page without external resources, and events in TensorBoard's format."""
    folder, trace = workshop.path("told"), workshop.path("told.json")
    call(*command(workshop, files, 2, "told", f"--trace={trace}", *validating(workshop, files, 2, folder)))
    page, events = workshop.path("told.html"), workshop.path("events")
    call(sys.executable, "-m", "stagewright", "report", f"{workshop.path('told')}.jsonl", f"--trace={trace}", "-o", page,
         f"--tensorboard={events}", env={"PYTHONPATH": str(HERE.parents[1] / "python")})
    text = page.read_text()
    for wanted in ("<h2>Loss</h2>", "validation loss", "rank 1 (d1)", "<title>0F0, forward", "bubble as planned"):
        assert wanted in text
    assert not re.search(r"<script|<link|https?://|src=", text)
    from tensorboardX.proto.event_pb2 import Event
    found = {}
    for record in records(next(events.glob("events*"))):
        for value in Event.FromString(record).summary.value:
            found.setdefault(value.tag, []).append(value.simple_value)
    told = lines(workshop, "told")
    assert found["loss/train"] == pytest.approx([line["loss"] for line in told], rel=1e-6)
    assert len(found["loss/validation"]) == 3 and len(found["pipeline/idle_rank_1"]) == STEPS


@pytest.mark.parametrize("arguments,wanted", [
    (["{}", "-o", "/no/where.html"], "cannot write '/no/where.html': No such file or directory"),
    (["{}", "--tensorboard=/proc/events"], "cannot write into '/proc/events'"),
    (["{}", "--trace={}", "-o", "x.html"], "is not a trace of pp-run --trace"),
    (["/etc/passwd", "-o", "x.html"], "/etc/passwd:1: 'root:"),
    (["/dev/null", "-o", "x.html"], "'/dev/null' has no step; the run has not ended its first one"),
    (["{}"], "no output is requested"), (["/no/run.jsonl", "-o", "x.html"], "cannot read '/no/run.jsonl'")])
def test_a_report_that_cannot_be_is_said(workshop, arguments, wanted):
    metrics = workshop.path("short.jsonl")
    metrics.write_text('{"step": 1, "loss": 2.5, "seconds": 0.1}\n')
    done = subprocess.run([sys.executable, "-m", "stagewright", "report", *(part.format(metrics) for part in arguments)],
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(HERE.parents[1] / "python")})
    assert done.returncode == 1 and wanted in done.stderr and "Traceback" not in done.stderr, done.stderr


def records(path):
    """The data of an event file's records: length, its checksum, data, their checksum."""
    data = path.read_bytes()
    while data:
        length = int.from_bytes(data[:8], "little")
        yield data[12:12 + length]
        data = data[16 + length:]
