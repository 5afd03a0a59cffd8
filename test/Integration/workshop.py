"""Shared by the integration tests: each model is imported once, its golden values are computed once, and it is compiled once
per plan, even if several processes run the tests."""

import atexit
import fcntl
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from safetensors.numpy import load_file

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", HERE.parents[1] / "build"))


_FORKING = []  # the process of forking.py


def forked(program, environment, timeout):
    """(exit status, standard output, standard error) of a Python program that needs JAX, as a fork of a process that has it."""
    if not _FORKING:
        path = f"{HERE.parents[1] / 'python'}:{os.environ.get('PYTHONPATH', '')}"
        _FORKING.append(subprocess.Popen([sys.executable, HERE / "forking.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         text=True, env={**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}))
        atexit.register(_FORKING[0].communicate)  # closes its input, which ends it
    with tempfile.NamedTemporaryFile("r") as out, tempfile.NamedTemporaryFile("r") as err:
        _FORKING[0].stdin.write(json.dumps([program, environment, os.getcwd(), timeout, out.name, err.name]) + "\n")
        _FORKING[0].stdin.flush()
        status = _FORKING[0].stdout.readline()
        assert status, f"forking.py ended with {_FORKING[0].wait()}; it says why on standard error"
        return int(status), out.read(), err.read()


def call(*command, env=None, timeout=600):
    """Runs a command that must succeed, and returns its standard output."""
    command, environment = [str(c) for c in command], {**os.environ, **(env or {})}
    if command[0] == sys.executable and (command[1:4] == ["-m", "stagewright", "import"] or command[1] == str(HERE / "golden.py")):
        status, output, errors = forked(command[1:], environment, timeout)
    else:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment)
        status, output, errors = done.returncode, done.stdout, done.stderr
    assert status == 0, f"{' '.join(command)}\n{output}{errors}"
    return output


def tool(name, *arguments, **more):
    return call(BUILD / "bin" / name, *arguments, **more)


def most_resident(process):
    """Peak resident bytes, sampled until the process ends. wait4 would include the memory of the test, which forked it."""
    most, status = 0, pathlib.Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        if found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text()):
            most = max(most, int(found[1]) << 10)
        time.sleep(0.02)
    return most


class Workshop:
    """Everything that the test session has made, by key; files are in a folder for each file of tests, or in one that all
    processes of the session share."""

    def __init__(self, root, shared):
        self.root, self.directory, self.shared, self.made = root, root, shared, {}

    def open_folder(self, name):
        self.directory = self.root / name
        self.directory.mkdir(exist_ok=True)

    def once(self, key, make):
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def path(self, *parts, directory=None):
        return (directory or self.directory) / re.sub(r"[^\w.]+", "-", ".".join(map(str, parts)))

    def file(self, make, *parts):
        """The file named by `parts`, which `make` writes: once in all processes of the session."""
        path = self.path(*parts, directory=self.shared)
        with open(f"{path}.made", "a") as made:
            fcntl.flock(made, fcntl.LOCK_EX)
            if os.path.getsize(made.name) == 0:
                make(path)
                made.write("done")
        return path

    def module(self, model, sizes={}):
        """Path of the imported model, FILE.py:NAME of test/Integration/models; `sizes` are variables of its environment."""
        def make(path):
            call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models" / model, "-o", path,
                 env={"PYTHONPATH": str(HERE.parents[1] / "python"), **sizes})
        return self.once(("module", model, *sizes.items()), lambda: self.file(make, model, *sizes.values(), "mlir"))

    def golden(self, model, microbatches=8, sizes={}):
        """(path of the inputs, golden results) for different microbatches."""
        def make():
            prefix = self.file(lambda prefix: call(sys.executable, HERE / "golden.py", "make", HERE / "models" / model,
                                                   microbatches, "-o", prefix, env=sizes), model, *sizes.values(), microbatches)
            return f"{prefix}.inputs.safetensors", load_file(f"{prefix}.golden.safetensors")
        return self.once(("golden", model, microbatches, *sizes.items()), make)

    def artifact(self, model, stages, schedule, *flags):
        def make(path):
            tool("pp-compile", self.module(model), f"--cluster=local:{stages}", f"--stages={stages}",
                 f"--schedule={schedule}", "--microbatches=8", "-o", path, *flags)
        return self.once(("artifact", model, stages, schedule, *flags),
                         lambda: self.file(make, model, stages, schedule, *flags, "swx"))

    def manifest(self, *plan):
        return self.once(("manifest", *plan), lambda: json.loads(tool("pp-run", self.artifact(*plan), "--info=json")))

    def run(self, model, stages, schedule, *flags, microbatches=8, env=None):
        """(results by position, what pp-run printed) on the golden inputs."""
        return self.run_artifact(model, self.artifact(model, stages, schedule), *flags, microbatches=microbatches, env=env)

    def run_artifact(self, model, artifact, *flags, microbatches=8, env=None):
        out = self.path("out.safetensors")
        text = tool("pp-run", artifact, f"--inputs={self.golden(model, microbatches)[0]}",
                    f"--microbatches={microbatches}", f"--outputs={out}", *flags, env=env)
        return load_file(out), text
