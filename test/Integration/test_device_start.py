"""What a step on a GPU waits for before its first run: NVIDIA's libraries, in the order of their versions, and its arguments."""

import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

from emulator import LIBRARY, NEEDED, TARGET, emulated
from test_kernels import compiled
from workshop import BUILD, HERE

pytestmark = NEEDED

RUN = BUILD / "bin/pp-run"
SMALL = {"STAGEWRIGHT_GPT": "V=61,D=24,H=2,L=1,T=16,B=2"}
# The emulator as a driver whose uploads take long.
SLOW_UPLOADS = BUILD / "unit/fixtures/slow-uploads.so"
SECONDS, DEADLINE = 3.0, 1.0


@pytest.fixture
def artifact(workshop):
    return compiled(workshop, "gpt.py:gpt", SMALL, 1, *TARGET)


def run(artifact, environment, *flags, command=(RUN,), unset=(), folder=None):
    """(finished process, seconds)."""
    kept = {name: value for name, value in os.environ.items() if name not in unset}
    began = time.monotonic()
    done = subprocess.run([*command, artifact, "--init=7", "--microbatches=2", *flags], capture_output=True, text=True, timeout=120,
                          env={**kept, **environment}, cwd=folder)
    return done, time.monotonic() - began


@pytest.mark.parametrize("ends", (True, False))
def test_the_first_deadline_counts_from_when_arguments_are_loaded(artifact, ends):
    """Uploads take three times the deadline. Then a step that ends is good, and one that hangs is reported."""
    environment = {**emulated(), "STAGEWRIGHT_CUDA_LIBRARY": str(SLOW_UPLOADS), "STAGEWRIGHT_SLOW_UPLOADS": str(SECONDS),
                   **({} if ends else {"STAGEWRIGHT_ENDLESS_STEP": "1"})}
    done, seconds = run(artifact, environment, f"--deadline={DEADLINE:g}")
    if ends:
        assert done.returncode == 0 and "loss" in done.stdout, done.stderr
        assert seconds >= SECONDS
    else:
        assert done.returncode == 3, done.stdout
        assert f"error: the step did not end on its device within {DEADLINE:g} seconds" in done.stderr, done.stderr
        assert SECONDS + DEADLINE <= seconds < 60


@pytest.mark.parametrize("ends", (True, False))
def test_so_does_that_of_several_processes(workshop, ends):
    """Uploads of one of two ranks take three times the deadline. The other, whose uploads are fast, waits for it."""
    artifact = compiled(workshop, "gpt.py:gpt", SMALL, 2, *TARGET)
    launcher = (sys.executable, HERE.parent / "Inputs/launch-ranks.py", "--set", f"1 STAGEWRIGHT_SLOW_UPLOADS={SECONDS}", RUN)
    environment = {**emulated(), "STAGEWRIGHT_CUDA_LIBRARY": str(SLOW_UPLOADS), "STAGEWRIGHT_SLOW_UPLOADS": "0",
                   **({} if ends else {"STAGEWRIGHT_ENDLESS_STEP": "1"})}
    done, seconds = run(artifact, environment, f"--deadline={DEADLINE:g}", command=launcher)
    if ends:
        assert done.returncode == 0 and "loss" in done.stdout, done.stdout + done.stderr
        assert seconds >= SECONDS
    else:
        assert done.returncode != 0
        assert f"the step did not end on its device within {DEADLINE:g} seconds" in done.stdout, done.stdout + done.stderr
        assert SECONDS + DEADLINE <= seconds < 60


NEWER, OLDER = "libcublasLt.so.13", "libcublasLt.so.12"
PLACES = ("STAGEWRIGHT_CUBLASLT_LIBRARY", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")


def loaded_from(folder, artifact):
    """A run whose dynamic linker searches this folder, its default ones and those of pp-run, but not the machine's cache."""
    linker = re.search(rb"/lib\S*/ld-linux[-\w.]+", RUN.read_bytes())[0].decode()
    environment = {name: value for name, value in emulated().items() if name != "STAGEWRIGHT_CUBLASLT_LIBRARY"}
    command = (linker, "--inhibit-cache", "--library-path", folder, RUN)
    return run(artifact, environment, command=command, unset=PLACES, folder=folder)[0]


def test_an_older_cublaslt_is_opened_where_there_is_no_newer(artifact, tmp_path):
    without = loaded_from(tmp_path, artifact)
    if f"cannot open '{NEWER}' or '{OLDER}'" not in without.stderr:
        pytest.skip(f"the linker finds a cuBLASLt in its default folders: {without.stdout}{without.stderr}")
    assert without.returncode == 1
    (tmp_path / OLDER).symlink_to(LIBRARY)
    only_older = loaded_from(tmp_path, artifact)
    assert only_older.returncode == 0 and "loss" in only_older.stdout, only_older.stderr


def test_the_newer_cublaslt_is_preferred(artifact, tmp_path):
    """The older one is no library: a run that opened it would fail."""
    (tmp_path / OLDER).write_text("not a library")
    assert loaded_from(tmp_path, artifact).returncode == 1
    (tmp_path / NEWER).symlink_to(LIBRARY)
    both = loaded_from(tmp_path, artifact)
    assert both.returncode == 0 and "loss" in both.stdout, both.stderr


def test_restarts_are_counted(workshop, tmp_path):
    """No step ends on its device, so the restarted run fails as the first one does."""
    artifact = compiled(workshop, "training.py:gpt_adamw", {}, 1, *TARGET)
    environment = {**emulated(), "STAGEWRIGHT_CUDA_LIBRARY": str(SLOW_UPLOADS), "STAGEWRIGHT_SLOW_UPLOADS": "0", "STAGEWRIGHT_ENDLESS_STEP": "1"}
    np.save(tmp_path / "rates.npy", np.full(3, 1e-3, np.float32))
    done, _ = run(artifact, environment, "--steps=3", f"--step-values=rate={tmp_path / 'rates.npy'}", f"--checkpoints={tmp_path / 'run'}", "--max-restarts=2",
                  f"--deadline={DEADLINE:g}")
    assert done.returncode == 3, done.stderr
    assert re.findall("restart . of 2 in [0-9.]+ s", done.stderr) == ["restart 1 of 2 in 0.5 s", "restart 2 of 2 in 1 s"], done.stderr
    assert done.stderr.count(f"the step did not end on its device within {DEADLINE:g} seconds") == 3
    assert done.stderr.count("all restarts are used up") == 1
