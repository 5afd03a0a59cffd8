"""Runs of many steps by pp-run: data from a file, metrics, checkpoints, and resuming from them."""

import json
import pathlib
import re
import shutil
import signal
import subprocess
import time

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

import stagewright.checkpoints
from stagewright.frontend.jax_step import load_model
from tiers import THOROUGH, thorough
from test_processes import AS_ROOT, LAUNCH
from workshop import BUILD, HERE, call, tool

MODEL, STEPS, CURVE, MICROBATCHES = "training.py:gpt_adamw", 16, 60, 8
TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")  # present on every Debian machine
MPI = pytest.mark.skipif(not shutil.which("mpirun") or not (BUILD / "lib/libstagewright-mpi.so").exists(), reason="there is no MPI")


SHARDS = "*/qkv=1:3,*/o=0,*/fc=1,*/proj=0"


@pytest.fixture(scope="module")
def text(workshop):
    """A text's bytes as tokens of the model's vocabulary of 64."""
    path = workshop.path("text.bin")
    (np.frombuffer(TEXT.read_bytes(), np.uint8) % 64).astype("<u2").tofile(path)
    return path


def command(workshop, text, stages, schedule, folder, steps, *flags):
    """`schedule` may also be (number of shards, number of copies)."""
    module = workshop.module(MODEL)
    if isinstance(schedule, tuple):
        shards, copies = schedule
        artifact = workshop.path("shards", stages, shards, copies, "swx")
        tool("pp-compile", module, f"--cluster=local:{shards * copies * stages}", f"--tensor-parallel={shards}",
             f"--data-parallel={copies}", f"--stages={stages}", f"--shard={SHARDS}", "--microbatches=8", "--quiet", "-o", artifact)
    else:
        artifact = workshop.artifact(MODEL, stages, schedule)
    return [BUILD / "bin/pp-run", artifact,
            f"--inputs={module.with_suffix('.inputs.safetensors')}", f"--data=ids={text}", f"--data=tgt={text}+1",
            f"--steps={steps}", f"--checkpoints={folder}", f"--metrics={folder}.jsonl", *flags]


def run(*arguments):
    tool("pp-run", *command(*arguments)[1:])


def losses(folder):
    return [json.loads(line)["loss"] for line in open(f"{folder}.jsonl")]


def newest(folder):
    return max(folder.glob("step-*"))


def loss_curve_of_jax(text, order):
    """`order` is the order in which the microbatches of a step are summed."""
    step, (parameters, ids, _), options = load_model(f"{HERE / 'models' / MODEL.split(':')[0]}:{MODEL.split(':')[1]}")
    update, state, rate = options["update"]
    step, update, tokens, found = jax.jit(step), jax.jit(update), np.fromfile(text, "<u2").astype(np.int32), []
    rows, length = ids.shape
    for number in range(CURVE):
        parts = []
        for m in order:
            first = (number * MICROBATCHES + m) * rows * length
            ids, targets = (tokens[first + s:first + s + rows * length].reshape(rows, length) for s in (0, 1))
            parts.append(step(parameters, ids, targets))
        loss, gradients = jax.tree.map(lambda *x: sum(x[1:], x[0]) / MICROBATCHES, *parts)
        parameters, state = update(parameters, gradients, state, rate)
        found.append(float(loss))
    return np.array(found)


@pytest.mark.parametrize("stages,schedule,launch", [
    (2, "1f1b", ()), pytest.param(4, "1f1b", (*LAUNCH, 4), marks=MPI), *thorough([(1, "1f1b", ()), (4, "gpipe", ())]),
    *(pytest.param(stages, "1f1b", (*LAUNCH, stages), marks=(MPI, THOROUGH)) for stages in (1, 2))])
def test_loss_curve_is_that_of_jax_and_optax(workshop, text, stages, schedule, launch):
    """The check of `./dev bench training`, with a smaller model."""
    orders = range(MICROBATCHES), range(MICROBATCHES)[::-1]
    golden, opposite = workshop.once("curve", lambda: [loss_curve_of_jax(text, order) for order in orders])
    folder = workshop.path("curve", stages, schedule, *launch)
    call(*launch, *command(workshop, text, stages, schedule, folder, CURVE), env=AS_ROOT)
    found = np.array(losses(folder))
    assert np.all(np.abs(found / golden - 1) <= np.maximum(1e-3, 3 * np.abs(opposite / golden - 1)))
    assert golden[-1] < 0.75 * golden[0]
    known = workshop.once("curve of ours", lambda: found)
    assert np.abs(found / known - 1).max() <= 1e-3


def test_goes_on_bit_for_bit(workshop, text):
    """Nine steps and seven more save the same bytes as sixteen; the data is shuffled, and continues where it stopped."""
    whole, parts = workshop.path("whole"), workshop.path("parts")
    plan = workshop, text, 2, "1f1b"
    run(*plan, whole, STEPS, "--shuffle=3")
    run(*plan, parts, 9, "--shuffle=3", "--checkpoint-every=4")
    assert sorted(p.name[-2:] for p in parts.glob("step-*")) == ["04", "08", "09"]
    # As of a run that was killed while it replaced its newest checkpoint.
    newest(parts).rename(parts / ".replaced-step-000000000009")
    (parts / ".writing-step-000000000009").mkdir()
    run(*plan, parts, STEPS, "--shuffle=3", "--resume", "--keep=2")
    assert len(list(parts.glob("*"))) == 2
    for name in ("params.safetensors", "state.safetensors"):
        assert (newest(whole) / name).read_bytes() == (newest(parts) / name).read_bytes()
    assert losses(whole) == losses(parts)


def test_goes_on_with_another_plan(workshop, text):
    """Two ranks, then four, then one; Python reads the tensors by the model's names."""
    folder, whole = workshop.path("plans"), workshop.path("plans.whole")
    run(workshop, text, 1, "1f1b", whole, 9)
    run(workshop, text, 2, "1f1b", folder, 3)
    run(workshop, text, 4, "gpipe", folder, 6, "--resume")
    run(workshop, text, 1, "1f1b", folder, 9, "--resume")
    assert np.allclose(losses(folder), losses(whole), rtol=1e-4)
    # Checkpoints hold whole tensors even if every rank has only parts of them.
    shards = workshop.path("plans.shards")
    run(workshop, text, 1, (2, 1), shards, 2)
    run(workshop, text, 2, "1f1b", shards, 4, "--resume")
    run(workshop, text, 1, (4, 1), shards, 6, "--resume")
    run(workshop, text, 2, (2, 1), shards, 8, "--resume")
    run(workshop, text, 1, (2, 2), shards, 9, "--resume")
    assert np.allclose(losses(shards), losses(whole), rtol=1e-4)
    ours, theirs = load_file(newest(folder) / "params.safetensors"), load_file(newest(whole) / "params.safetensors")
    _, (parameters, *_), _ = load_model(f"{HERE / 'models/training.py'}:gpt_adamw")
    assert len(ours) == len(jax.tree.leaves(parameters))
    for name, value in ours.items():
        leaf = parameters
        for key in name.split("/")[1:]:
            leaf = leaf[int(key) if isinstance(leaf, list) else key]
        assert value.shape == leaf.shape
        assert np.linalg.norm(value - theirs[name]) <= 1e-3 * np.linalg.norm(value)


def test_an_interrupted_run_saves_its_last_step(workshop, text):
    folder = workshop.path("interrupted")
    arguments = command(workshop, text, 2, "1f1b", folder, 10**6)
    process = subprocess.Popen([str(a) for a in arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    metrics = pathlib.Path(f"{folder}.jsonl")
    while process.poll() is None and not (metrics.exists() and metrics.stat().st_size):
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    steps = json.loads((newest(folder) / "checkpoint.json").read_text())["step"]
    assert steps == len(losses(folder)) and f"interrupted after step {steps}" in said


def test_a_log_has_a_line_now_and_then(workshop, text):
    """If standard error is not a terminal, as under mpirun."""
    folder = workshop.path("log")
    arguments = command(workshop, text, 2, "1f1b", folder, 10**7)
    process = subprocess.Popen([str(a) for a in arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    said = next(line for line in process.stderr if line.startswith("step "))
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert re.fullmatch(r"step \d+ of 10000000  loss \d\.\d+  .* tokens/s  bubble .* %  .* left\n", said), said


def test_a_damaged_checkpoint_is_refused_and_the_one_before_named(workshop, text):
    folder = workshop.path("damaged")
    plan = workshop, text, 1, "1f1b", folder
    run(*plan, 2, "--checkpoint-every=1")
    before, last = sorted(folder.glob("step-*"))
    path = last / "state.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    said = refused(command(*plan, 3, "--resume"))
    assert str(path) in said and f"to resume from the previous checkpoint '{before}', remove this one" in said
    path.parent.rename(workshop.path("set.aside"))
    run(*plan, 3, "--resume")
    assert newest(folder).name.endswith("3")


@pytest.mark.parametrize("change, wanted, in_python", [
    ({"version": 99}, "has version 99, but this program reads version", "has version 99, but this program reads version"),
    ({"step": -1}, "has a negative step: -1", "is not the manifest of a checkpoint"),
    ({"files": {}}, "has no entry for 'params.safetensors'", "bytes is .*, but None in checkpoint.json"),
    ({"files": 3}, "is not the manifest of a checkpoint", "is not the manifest of a checkpoint"),
    (None, "has CRC-32 [0-9]+, but 1 in checkpoint.json", "crc32 is [0-9]+, but 1 in checkpoint.json")],
    ids=("version", "step", "files", "type", "crc"))
def test_a_wrong_manifest_of_a_checkpoint_is_refused(workshop, text, change, wanted, in_python):
    folder = workshop.path("manifest", wanted[:9])
    plan = workshop, text, 1, "1f1b", folder
    run(*plan, 1)
    file = newest(folder) / "checkpoint.json"
    manifest = json.loads(file.read_text())
    for about in manifest["files"].values():
        about.update({} if change else {"crc32": 1})
    file.write_text(json.dumps(manifest | (change or {})))
    assert re.search(wanted, refused(command(*plan, 2, "--resume")))
    with pytest.raises(stagewright.RunFailure, match=in_python):
        stagewright.checkpoints.read(newest(folder))


def refused(command):
    done = subprocess.run([str(a) for a in command], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    return done.stderr


def test_a_folder_has_the_checkpoints_of_one_run(workshop, text):
    """Those of a second, shorter run would be considered old and removed."""
    folder, none = workshop.path("one.run"), workshop.path("no.run")
    plan = workshop, text, 1, "1f1b"
    run(*plan, folder, 3)
    said = refused(command(*plan, folder, 2))
    assert f"'{folder}' has a checkpoint of step 3 already; continue from it with --resume, or give another folder" in said
    assert [path.name for path in folder.iterdir()] == ["step-000000000003"]
    assert f"'{none}' has no checkpoint; without --resume the run begins at step 1" in refused(
        command(*plan, none, 2, "--resume")) and not none.exists()
    place = pathlib.Path(f"{folder}.jsonl").read_text()
    assert len(place.splitlines()) == 3  # refused runs wrote nothing


def test_metrics_have_every_step_once(workshop, text):
    """A killed run leaves steps after its last checkpoint, and an incomplete line."""
    folder = workshop.path("once")
    plan = workshop, text, 1, "1f1b", folder
    run(*plan, 5, "--checkpoint-every=2")
    before = losses(folder)
    shutil.rmtree(newest(folder))
    with open(f"{folder}.jsonl", "a") as file:
        file.write('{"step": 6, "lo')
    run(*plan, 7, "--resume")
    lines = [json.loads(line) for line in open(f"{folder}.jsonl")]
    assert [line["step"] for line in lines] == list(range(1, 8)) and losses(folder)[:5] == before


def test_a_checkpoint_of_a_larger_model_is_foreign(workshop, text):
    folder = workshop.path("larger")
    plan = workshop, text, 1, "1f1b", folder
    run(*plan, 2)
    step, tensors, _ = stagewright.checkpoints.read(newest(folder))
    tensors["parameter"]["params/h/8/fc"] = tensors["parameter"]["params/h/7/fc"]
    stagewright.checkpoints.write(folder, step + 1, tensors)
    said = refused(command(*plan, 4, "--resume"))
    wanted = f"'{newest(folder)}' has parameter 'params/h/8/fc', which the step does not have; it is of another model or optimizer"
    assert f"{wanted}; to resume from the previous checkpoint '{folder}/step-000000000002', remove this one" in said
    with pytest.raises(stagewright.RunFailure, match="'params/h/8/fc', which the step does not have.*; to resume from the prev"):
        stagewright.Run(workshop.artifact(MODEL, 1, "1f1b"), workshop.module(MODEL).with_suffix(".inputs.safetensors"),
                        checkpoints=folder, resume=True)


def test_the_artifact_may_follow_an_option_of_many(workshop, text):
    name, *arguments = command(workshop, text, 1, "1f1b", workshop.path("order"), 1)
    apart = [part for argument in arguments[1:] for part in str(argument).split("=", 1)]
    call(name, *apart[:2], *apart[6:], *apart[2:6], arguments[0])
    assert len(losses(workshop.path("order"))) == 1


@pytest.mark.parametrize("flags,wanted", [
    (["--data=words=x.npy"], "no batch argument is called 'words'; they are 'ids', 'tgt'"),
    (["--data=ids"], "'ids' is not of the form ARGUMENT=FILE"),
    (["--data=ids=no.npy"], "cannot open 'no.npy'"),
    (["--resume"], "--resume needs --checkpoints=FOLDER"),
    (["--shuffle=1"], "--shuffle needs --data"),
    (["--checkpoints=/proc/none"], "'/proc/none' is not a folder for checkpoints"),
    (["--checkpoints=x", "--checkpoint-every=0"], "--checkpoint-every is 0, expected at least 1"),
    (["--validate-every=0"], "--validate-every is 0, expected at least 1"),
    (["--deadline=-1"], "--deadline is -1, expected 0 seconds or more"),
    (["--outputs=/no/where.safetensors"], "cannot write '/no/where.safetensors': No such file or directory"),
    (["--trace=/proc"], "cannot write '/proc': Is a directory"),
    (["--profile=/no/where.json"], "cannot write '/no/where.json': No such file or directory")])
def test_what_does_not_fit_is_said(workshop, flags, wanted):
    module = workshop.module(MODEL)
    done = subprocess.run([BUILD / "bin/pp-run", workshop.artifact(MODEL, 1, "1f1b"), "--repeat-microbatch",
                           f"--inputs={module.with_suffix('.inputs.safetensors')}", *flags], capture_output=True, text=True)
    assert done.returncode == 1 and wanted in done.stderr, done.stderr
