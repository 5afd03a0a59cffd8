"""Runs that fail: messages, what remains, and restarts. STAGEWRIGHT_INJECT=RANK:STEP:ACTION:KIND injects the faults."""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import time

import numpy as np
import pytest

from tiers import thorough
from test_processes import AS_ROOT, LAUNCH, alive, children
from test_runs import MODEL, command, losses, newest, run
from test_runs import text  # noqa: F401 (a fixture)
from workshop import BUILD, HERE

STEPS = 12
MPI = pytest.mark.skipif(not shutil.which("mpirun") or not (BUILD / "lib/libstagewright-mpi.so").exists(), reason="there is no MPI")
SCRIPTS = HERE.parents[1] / "scripts"


def started(*arguments, inject=None, launch=()):
    environment = {**os.environ, **AS_ROOT, **({"STAGEWRIGHT_INJECT": inject} if inject else {})}
    return subprocess.Popen([*launch, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment)


def ended(*arguments, **how):
    """(exit status, standard error, seconds)."""
    begin = time.monotonic()
    process = started(*arguments, **how)
    _, said = process.communicate(timeout=120)
    return process.returncode, said, time.monotonic() - begin


def errors(said):
    return [line for line in said.splitlines() if re.match("(pp-run|stagewright): error", line)]


def mpirun(ranks):
    return [*LAUNCH, str(ranks)]


def same_end(folder, other):
    return all((newest(folder) / name).read_bytes() == (newest(other) / name).read_bytes()
               for name in ("params.safetensors", "state.safetensors"))


@pytest.fixture(scope="module")
def whole(workshop, text):  # noqa: F811
    """An undisturbed run on two ranks."""
    folder = workshop.path("faults.whole")
    run(workshop, text, 2, "1f1b", folder, STEPS)
    return folder


def two_ranks(workshop, text, name, steps, *flags):  # noqa: F811
    folder = workshop.path("faults", name)
    return folder, command(workshop, text, 2, "1f1b", folder, steps, *flags)


@pytest.mark.parametrize("launch", [(), pytest.param(("mpi",), marks=MPI)], ids=("threads", "processes"))
def test_a_rank_that_hangs_is_named(workshop, text, launch):  # noqa: F811
    """Rank 1 hangs at its third action of the sixth step; the deadline is two seconds."""
    _, arguments = two_ranks(workshop, text, f"hang{len(launch)}", 10**6)
    status, said, seconds = ended(*arguments, inject="1:5:2:hang", launch=mpirun(2) if launch else ())
    assert status == 3, said
    (error,) = errors(said)
    assert "rank 0: action 0B1 waits for microbatch 1 of channel 'h4.B.0.to0' from rank 1" in error
    assert ("did not answer" if launch else "rank 1: has not moved for 2 s: action 1F1") in error
    assert "pp-run: deadline 2 s" in said
    assert seconds < 20


@pytest.mark.parametrize("kind,wanted", [("raise", "rank 1: an error was injected"), ("nan", "rank ")])
@pytest.mark.parametrize("launch", [(), pytest.param(("mpi",), marks=MPI)], ids=("threads", "processes"))
def test_an_error_names_its_step_and_the_last_checkpoint(workshop, text, launch, kind, wanted):  # noqa: F811
    folder, arguments = two_ranks(workshop, text, f"{kind}{len(launch)}", 10**6, "--checkpoint-every=2")
    status, said, _ = ended(*arguments, inject=f"1:5:0:{kind}", launch=mpirun(2) if launch else ())
    assert status == 3, said
    (error,) = errors(said)
    assert wanted in error and "step 6: " in error and f"the last checkpoint is step 4 in '{folder}'" in error
    if kind == "nan":
        assert re.search("(loss 'loss'|parameter 'params/[^']+') is infinite or not a number", error)


def test_a_full_disk_does_not_hide_the_error_of_a_step(workshop, text):  # noqa: F811
    """Files are limited to less than a checkpoint has. The step after the one that saves it fails."""
    folder, arguments = two_ranks(workshop, text, "full", 10**6, "--checkpoint-every=5")

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, 1 << 14))

    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, preexec_fn=limit, timeout=120,
                          env={**os.environ, "STAGEWRIGHT_INJECT": "1:5:0:raise"})
    (error,) = errors(done.stderr)
    file = folder / ".writing-step-000000000005/params.safetensors"
    assert done.returncode == 3 and "step 6: rank 1: an error was injected" in error, error
    assert error.endswith(f"; saving failed too: cannot write '{file}': File too large"), error
    assert not list(folder.iterdir())


def test_numbers_that_are_none_may_be_ignored(workshop, text):  # noqa: F811
    folder, arguments = two_ranks(workshop, text, "ignored", 8, "--nan=ignore")
    status, said, _ = ended(*arguments, inject="1:5:0:nan")
    assert status == 0, said
    assert [loss is not None and np.isfinite(loss) for loss in losses(folder)] == [True] * 5 + [False] * 3


@pytest.mark.parametrize("kind", ("kill", "raise", "hang"))
@pytest.mark.parametrize("launch", [None, pytest.param("mpirun", marks=MPI)], ids=("threads", "processes"))
def test_a_run_starts_again_and_ends_as_without_a_fault(workshop, text, whole, launch, kind):  # noqa: F811
    folder, arguments = two_ranks(workshop, text, f"again.{launch}.{kind}", STEPS, "--checkpoint-every=2", "--max-restarts=2",
                                  *([f"--launcher={' '.join(map(str, mpirun(2)))}"] if launch else []))
    status, said, _ = ended(*arguments, inject=f"0:7:3:{kind}")
    assert status == 0, said
    # A killed run may have been writing its third checkpoint.
    assert len(re.findall("; restart 1 of 2 in 0.5 s from step [46]", said)) == 1 and "restart 2" not in said, said
    assert same_end(folder, whole)


def test_restarts_are_counted(workshop, text):  # noqa: F811
    """The fault recurs after every restart, because the launcher injects it."""
    _, arguments = two_ranks(workshop, text, "counted", STEPS, "--max-restarts=2",
                             "--launcher=env STAGEWRIGHT_INJECT=0:3:1:raise")
    status, said, _ = ended(*arguments)
    assert status == 3, said
    assert re.findall("restart . of 2 in [0-9.]+ s", said) == ["restart 1 of 2 in 0.5 s", "restart 2 of 2 in 1 s"]
    assert said.count("all restarts are used up") == 1


@pytest.mark.parametrize("ranks", ("--transport=threads", "--processes"))
def test_wrong_options_are_not_tried_again(workshop, text, ranks):  # noqa: F811
    _, arguments = two_ranks(workshop, text, "wrong", STEPS, "--max-restarts=3", "--data=none=x.npy", ranks)
    status, said, _ = ended(*arguments)
    assert status == 1 and "restart" not in said, said


def test_restarts_need_checkpoints_and_a_command(workshop, text):  # noqa: F811
    folder, arguments = two_ranks(workshop, text, "nothing", STEPS, "--max-restarts=1")
    without = [word for word in map(str, arguments) if not word.startswith("--checkpoints=")]
    status, said, _ = ended(*without)
    assert status == 1 and "--max-restarts needs --checkpoints" in said, said
    status, said, _ = ended(*arguments, "--launcher=./no-such-launcher")
    assert status == 1 and "cannot start './no-such-launcher': No such file or directory" in said and "restart 1" not in said, said


def test_a_run_that_is_stopped_is_started_again(workshop, text):  # noqa: F811
    folder, arguments = two_ranks(workshop, text, "stopped", 10**6, "--checkpoint-every=5", "--max-restarts=1")
    process = started(*arguments)
    wait_for(lambda: list(folder.glob("step-*")), process)
    (child,) = children(process.pid)
    os.kill(child, signal.SIGSTOP)
    wait_for(lambda: children(process.pid) not in ([], [child]), process)
    assert not alive(child)
    count = len(losses(folder))
    wait_for(lambda: len(losses(folder)) > count, process)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0 and "the run was stopped for 2 s; restart 1 of 1" in said, said


def wait_for(condition, process, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None and time.monotonic() < limit
        time.sleep(0.02)


@MPI
@pytest.mark.parametrize("whom", ("rank", "mpirun", "launcher"))
def test_a_signal_ends_all_ranks_after_one_step(workshop, text, whom):  # noqa: F811
    flags = [f"--launcher={' '.join(map(str, mpirun(2)))}"] if whom == "launcher" else []
    folder, arguments = two_ranks(workshop, text, f"signal.{whom}", 10**6, *flags)
    process = started(*arguments, launch=() if flags else mpirun(2))
    metrics = pathlib.Path(f"{folder}.jsonl")
    wait_for(lambda: metrics.exists() and metrics.stat().st_size, process)
    if whom == "rank":
        os.kill(children(process.pid)[1], signal.SIGTERM)
    else:
        process.send_signal(signal.SIGUSR1 if whom == "mpirun" else signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert f"interrupted after step {len(losses(folder))}" in said
    assert json.loads((newest(folder) / "checkpoint.json").read_text())["step"] == len(losses(folder))


@MPI
def test_runs_with_faults_lose_nothing(workshop, text):  # noqa: F811
    for attempt in range(3):
        done = subprocess.run([sys.executable, SCRIPTS / "inject-faults.py", "--runs=6", "--ranks=2", "--steps=200",
                               f"--work={workshop.path('faults', attempt)}", BUILD / "bin/pp-run", workshop.artifact(MODEL, 2, "1f1b"),
                               f"--inputs={workshop.module(MODEL).with_suffix('.inputs.safetensors')}",
                               f"--data=ids={text}", f"--data=tgt={text}+1"], capture_output=True, text=True, timeout=500)
        if "it took" not in done.stderr:  # Processes of others may have delayed the end of a run.
            break
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 runs with faults, all resumed" in done.stdout


@pytest.mark.parametrize("launch", [*thorough([((),)]), pytest.param(("mpi",), marks=MPI)], ids=("threads", "processes"))
def test_a_long_run_does_not_grow(workshop, text, launch):  # noqa: F811
    """Memory and open files of rank 0's process after step 300, with a checkpoint every 50 steps."""
    folder, arguments = two_ranks(workshop, text, f"long{len(launch)}", 1000, "--checkpoint-every=50")
    process = started(*arguments, launch=mpirun(2) if launch else ())
    wait_for(lambda: any(folder.glob("step-*0300")), process)
    watched = children(process.pid)[0] if launch else process.pid
    sizes, files = [], []
    while process.poll() is None:
        try:
            sizes.append(int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{watched}/status").read_text())[1]))
            files.append(len(os.listdir(f"/proc/{watched}/fd")))
        except (OSError, TypeError):
            break
        time.sleep(0.02)
    assert process.wait(timeout=60) == 0
    half = len(sizes) // 2
    assert statistics.median(sizes[half:]) <= 1.01 * statistics.median(sizes[:half]), sizes
    # One more file is open while a checkpoint is written; medians ignore that.
    assert statistics.median(files[half:]) <= statistics.median(files[:half]), files
