"""Runs of many steps: a model with an optimizer, its training text, and samples of a run's processes from outside."""

import array
import os
import pathlib
import re
import shutil
import subprocess
import time

from devtool.console import Failure, Progress

from .hosts import AS_ROOT
from .models import FOLDER
from .sides import call, shortened

TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")


class Training:
    """A function of test/Integration/models/training.py, on letters modulo `letters`."""

    def __init__(self, session, name, function, letters, microbatches, environment=None):
        self.session, self.microbatches = session, microbatches
        self.module, self.tokens = session.work / f"{name}.mlir", session.work / f"{name}.bin"
        call([session.python, "-m", "stagewright", "import", "jax", f"{FOLDER}/training.py:{function}", "-o", self.module,
              "--quiet"], environment)
        self.tokens.write_bytes(array.array("H", (letter % letters for letter in TEXT.read_bytes())).tobytes())

    def step(self, ranks):
        """The pp-run command with the step for so many ranks and its training data."""
        artifact = self.session.compiled(self.module, ranks, "--schedule=1f1b", microbatches=self.microbatches)
        return [self.session.tool("pp-run"), artifact, f"--inputs={self.module.with_suffix('.inputs.safetensors')}",
                f"--data=ids={self.tokens}", f"--data=tgt={self.tokens}+1"]

    def command(self, ranks, processes, *flags):
        """The command of a run on so many ranks, in one process or in one per rank."""
        return [*launch(ranks, processes), *self.step(ranks), *flags]


def launch(ranks, processes):
    return ["mpirun", "--quiet", "--oversubscribe", "-n", ranks] if processes else []


def told(ranks, processes):
    """The label of a run in tables."""
    return f"{ranks} rank{'s' * (ranks > 1)}, {'MPI' if processes else 'threads'}"


def children(process):
    try:
        return [int(p) for p in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def look(process):
    """(resident bytes, open files) of a process; None if it has exited."""
    try:
        text = pathlib.Path(f"/proc/{process}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) * 1024, len(os.listdir(f"/proc/{process}/fd"))
    except (OSError, TypeError):
        return None


def watched(title, command, processes, checkpoints, steps, seconds=0.25):
    """{process: its samples} of a run that saves into `checkpoints`, sampled every `seconds`; with `processes`, those that the
    launcher starts, without the launcher."""
    shutil.rmtree(checkpoints, ignore_errors=True)
    log, progress, looks = checkpoints.with_suffix(".log"), Progress(f"  {title}"), {}
    with open(log, "w") as output:
        run = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                               env={**os.environ, **AS_ROOT})
        while run.poll() is None:
            for process in children(run.pid) if processes else [run.pid]:
                if found := look(process):
                    looks.setdefault(process, []).append(found)
            newest = max((path.name for path in checkpoints.glob("step-*")), default="step-0")
            progress.update(f"step {int(newest.split('-')[1])} of {steps}")
            time.sleep(seconds)
    progress.done("done" if run.returncode == 0 else f"FAILED (exit {run.returncode})")
    if run.returncode:
        raise Failure(f"{' '.join(map(str, command))}\n{shortened(log.read_text())}")
    return looks
