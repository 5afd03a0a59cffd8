"""pp-run --source: batches from a function in Python or from a library, and sources that fail."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import stagewright
from emulator import NEEDED, TARGET, emulated
from test_processes import AS_ROOT, LAUNCH
from test_runs import MPI, losses, newest
from workshop import BUILD, HERE, call, tool

sys.path.insert(0, str(HERE / "models"))
import sampling  # noqa: E402

SAMPLER, STEPS = f"--source={HERE / 'models/sampling.py'}:sample", 12

# The batches of the perceptron; `fails` is called with step and microbatch.
SOURCE = """
import os, signal, time
import numpy as np

def batch(seed, step, microbatch):
    rng = np.random.default_rng([seed, step, microbatch])
    return {{"x": rng.standard_normal((8, 16), np.float32), "y": rng.standard_normal((8, 8), np.float32)}}

def source(seed, step, microbatch):
    made = batch(seed, step, microbatch)
    if (step, microbatch) == (3, 2):
        {failure}
    return made
"""


def command(workshop, model, stages, folder, steps, *flags):
    inputs = workshop.module(model).with_suffix(".inputs.safetensors")
    return [BUILD / "bin/pp-run", workshop.artifact(model, stages, "1f1b"), f"--inputs={inputs}", f"--steps={steps}",
            f"--checkpoints={folder}", f"--metrics={folder}.jsonl", *flags]


def sampled(workshop, folder, steps, *flags, launch=(), source=SAMPLER):
    call(*launch, *command(workshop, "graphs.py:sage_adam", 2, folder, steps, source, "--source-seed=5", *flags), env=AS_ROOT)


def saved(folder):
    return [(newest(folder) / name).read_bytes() for name in ("params.safetensors", "state.safetensors")]


@pytest.fixture(scope="module")
def whole(workshop):
    """The folder of an uninterrupted run of the sampler in Python."""
    folder = workshop.path("sources", "whole")
    sampled(workshop, folder, STEPS)
    return folder


def test_a_resumed_run_sees_the_same_batches(workshop, whole):
    """However many batches are ready when the run ends."""
    parts = workshop.path("sources", "parts")
    for steps, *flags in ((5, "--source-ahead=7"), (6, "--resume"), (STEPS, "--resume", "--source-ahead=0")):
        sampled(workshop, parts, steps, *flags)
    assert saved(parts) == saved(whole) and losses(parts) == losses(whole)


@MPI
def test_processes_see_the_same_batches(workshop, whole):
    folder = workshop.path("sources", "processes")
    sampled(workshop, folder, STEPS, launch=(*LAUNCH, 2))
    assert saved(folder) == saved(whole)


@MPI
def test_a_store_split_by_nodes_trains_as_a_whole_one(workshop, whole):
    """Each of two ranks has half of the features and works on half of the samples."""
    module, path, folder = workshop.module("graphs.py:sage_adam"), workshop.path("store.swx"), workshop.path("sources", "store")
    tool("pp-compile", module, "--cluster=local:2", "--tensor-parallel=2", "--shard=features=0,ids=0,mask=0,classes=0,*=whole",
         "--microbatches=8", "--quiet", "-o", path)
    sizes = sampling.graph_sizes()
    for rank in json.loads(tool("pp-run", path, "--info=json"))["ranks"]:
        shapes = [buffer["shape"] for buffer in rank["buffers"] if buffer["kind"] == "constant"]
        assert shapes == [[sizes["N"] // 2, sizes["F"]]]
    for name, launch in (("threads", ()), ("processes", (*LAUNCH, 2))):
        call(*launch, BUILD / "bin/pp-run", path, f"--inputs={module.with_suffix('.inputs.safetensors')}", f"--steps={STEPS}", SAMPLER,
             "--source-seed=5", f"--checkpoints={folder}.{name}", f"--metrics={folder}.{name}.jsonl", env=AS_ROOT)
        assert np.allclose(losses(f"{folder}.{name}"), losses(whole), rtol=1e-4)
    assert saved(workshop.path("sources", "store.threads")) == saved(workshop.path("sources", "store.processes"))


def test_a_library_gives_the_batches_of_a_function(workshop, whole):
    starts, target, _, classes = sampling.graph()
    s, path, folder = sampling.graph_sizes(), workshop.path("graph.bin"), workshop.path("sources", "library")
    with open(path, "wb") as file:
        for array in (np.array([s["N"], s["E"], s["B"], s["K"], s["L"]]), starts):
            array.astype(np.int64).tofile(file)
        target.tofile(file), classes.tofile(file)
    sampled(workshop, folder, STEPS, source=f"--source={BUILD / 'lib/neighbours.so'}:{path}")
    assert saved(folder) == saved(whole)


@NEEDED
@pytest.mark.parametrize("flags", [("--transport=threads",), ("--processes",)], ids=["threads", "processes"])
def test_steps_on_gpus_take_the_batches_of_a_source(workshop, tmp_path, flags):
    """Four steps at once, and two and two more from a checkpoint, with the losses of a step on CPUs."""
    sizes = {"STAGEWRIGHT_GRAPHS": "N=200,E=1600,C=4,F=8,H=8,B=4,K=3,L=2"}
    module = workshop.module("graphs.py:sage_adam", sizes)
    compiled = {name: workshop.file(lambda path: tool("pp-compile", module, "--cluster=local:2", "--stages=2", "--schedule=1f1b", *target,
                                                      "--microbatches=2", "--quiet", "-o", path), "gpus", name, "swx")
                for name, target in (("cpu", ()), ("gpu", TARGET))}

    def run(name, folder, steps, *more):
        call(BUILD / "bin/pp-run", compiled[name], f"--inputs={module.with_suffix('.inputs.safetensors')}", SAMPLER, "--source-seed=5",
             f"--steps={steps}", f"--checkpoints={tmp_path / folder}", f"--metrics={tmp_path / folder}.jsonl", *more,
             env={**emulated(devices=2), **sizes})
        return losses(tmp_path / folder)

    golden, whole = run("cpu", "cpu", 4), run("gpu", "whole", 4, *flags)
    assert whole == pytest.approx(golden, rel=1e-5) and len(set(golden)) == 4
    run("gpu", "parts", 2, *flags)
    assert run("gpu", "parts", 4, "--resume", *flags)[-2:] == whole[-2:]
    assert saved(tmp_path / "parts") == saved(tmp_path / "whole")


def test_repeated_rows_of_a_fetch_are_counted(workshop):
    def printed(folder, *flags):
        return call(*command(workshop, "graphs.py:sage_adam", 2, workshop.path("sources", folder), 2, SAMPLER, "--fetched=ids=features", *flags))

    found = json.loads(printed("rows", "--json"))
    lists, width = [sampling.sample(0, 1, m)["ids"] for m in range(8)], 4 * sampling.graph_sizes()["F"]
    assert found["fetched_bytes"] == [{"list": "ids", "table": "features", "bytes": sum(ids.size for ids in lists) * width,
                                       "padding": 0, "repeated": sum(ids.size - np.unique(ids).size for ids in lists) * width}]
    counted = found["fetched_bytes"][0]
    assert f"fetched {counted['bytes']} bytes of 'features' for 'ids', padding 0, repeated {counted['repeated']}" in printed("text")


def test_python_goes_on_where_pp_run_stopped(workshop, whole):
    folder, model = workshop.path("sources", "python"), "graphs.py:sage_adam"
    sampled(workshop, folder, 7)
    run = stagewright.Run(workshop.artifact(model, 2, "1f1b"), workshop.module(model).with_suffix(".inputs.safetensors"),
                          checkpoints=folder, resume=True, metrics=f"{folder}.jsonl")
    for _ in run.train(run.sampled(sampling.sample, seed=5), steps=STEPS):
        pass
    assert saved(folder)[0] == saved(whole)[0] and losses(folder) == losses(whole)


FAILURES = [
    ("made['x'] = made['x'][:7]", "'x' is f32[7, 16], but the step takes f32[8, 16]"),
    ("made['x'] = made['x'].astype(float)", "'x' is f64[8, 16], but the step takes f32[8, 16]"),
    ("made['x'] = np.zeros(8, complex)", "TypeError: 'x' has type complex128, which no step takes"),
    ("del made['y']", "the batch has no 'y', but 1 of 2 arguments"),
    ("made['z'] = made['y']", "the batch has 'z', but the batch arguments are 'x', 'y'"),
    ("made = [1]", "the function returned list, expected arrays by name"),
    ("raise ValueError('no more')", "ValueError: no more"),
    ("os._exit(4)", "the source ended with status 4"),
    ("os.kill(os.getpid(), signal.SIGSEGV)", "the source died: Segmentation fault"),
    ("time.sleep(100)", "the source has sent nothing for 9 s; if it is only slow, give more with --deadline")]


@pytest.mark.parametrize("failure, message", FAILURES, ids=[failure for failure, _ in FAILURES])
def test_an_error_names_step_and_microbatch_and_the_run_can_resume(workshop, tmp_path, failure, message):
    (tmp_path / "bad.py").write_text(SOURCE.format(failure=failure))
    (tmp_path / "good.py").write_text(SOURCE.format(failure="pass"))
    model, folder, what = "training.py:mlp_sgd", tmp_path / "run", tmp_path / "bad.py:source"
    done = subprocess.run([str(c) for c in command(workshop, model, 1, folder, 8, f"--source={what}", "--checkpoint-every=1",
                                                   *["--deadline=12"] * ("sleep" in failure))],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert f"error: --source: '{what}', step 4, microbatch 2: {message}; the last checkpoint is step 3 in" in done.stderr
    if failure != FAILURES[0][0]:
        return
    good = f"--source={tmp_path / 'good.py:source'}"
    call(*command(workshop, model, 1, folder, 8, good, "--resume"))
    call(*command(workshop, model, 1, tmp_path / "whole", 8, good))
    assert saved(folder) == saved(tmp_path / "whole")


@MPI
def test_processes_end_when_a_source_stalls(workshop, tmp_path):
    """The middle one of three processes reads no batch and has no source. Threads resume the run from the checkpoint."""
    (tmp_path / "bad.py").write_text(SOURCE.format(failure="time.sleep(100)"))
    (tmp_path / "good.py").write_text(SOURCE.format(failure="pass"))
    model, folder, what = "training.py:mlp_sgd", tmp_path / "run", tmp_path / "bad.py:source"
    flags = command(workshop, model, 3, folder, 8, f"--source={what}", "--checkpoint-every=1", "--deadline=12")
    done = subprocess.run([str(c) for c in (*LAUNCH, 3, *flags)], capture_output=True, text=True, timeout=60,
                          env={**os.environ, **AS_ROOT})
    assert done.returncode != 0
    assert f"error: --source: '{what}', step 4, microbatch 2: the source has sent nothing for 9 s" in done.stderr
    assert newest(folder).name.endswith("3")
    good = f"--source={tmp_path / 'good.py:source'}"
    call(*LAUNCH, 3, *command(workshop, model, 3, folder, 8, good, "--resume"), env=AS_ROOT)
    call(*command(workshop, model, 3, tmp_path / "whole", 8, good))
    assert saved(folder) == saved(tmp_path / "whole")


@pytest.mark.parametrize("flags, message", [
    (["--source=sampler"], "--source is 'sampler', expected FILE.py:NAME or LIBRARY.so[:TEXT]"),
    (["--source=no.py:f"], "--source: 'no.py:f': 'no.py' does not exist"),
    ([f"--source={HERE / 'models/sampling.py'}:f"], "has no function 'f'; it must take seed, step, microbatch and return arrays by name"),
    (["--source=no.so"], "--source: 'no.so': ./no.so: cannot open shared object file"),
    ([f"--source={BUILD / 'lib/elementary-errors.so'}"], "the library exports no 'stagewright_source'"),
    ([f"--source={BUILD / 'lib/neighbours.so'}:none"], "neighbours.so:none': cannot read the graph 'none'"),
    (["--source=a.py:f", "--data=x=y.npy"], "--source gives all batch arguments; leave out --data"),
    (["--source=a.py:f", "--source-ahead=-1"], "--source-ahead is -1, expected 0 to 1000"),
    (["--source-seed=1"], "--source-seed needs --source"),
    (["--fetched=x=y"], "--fetched counts rows in batches; it needs --source or --data"),
    (["--source=a.py:f", "--fetched=x"], "--fetched is 'x', expected LIST=TABLE, the names of two arguments"),
    (["--source=a.py:f", "--fetched=z=x"], "--fetched: no argument is called 'z'"),
    (["--source=a.py:f", "--fetched=x=y"], "--fetched: 'x' is a batch argument of type f32, expected a batch argument of i32 or i64")])
def test_what_does_not_fit_is_refused_before_the_first_step(workshop, tmp_path, flags, message):
    done = subprocess.run([str(c) for c in command(workshop, "training.py:mlp_sgd", 1, tmp_path / "run", 2, *flags)],
                          capture_output=True, text=True)
    assert done.returncode == 1 and message in done.stderr, done.stderr
