"""Shared by the integration tests: each model is imported once, its golden values computed once, compiled once per plan."""

import json
import os
import pathlib
import re
import subprocess
import sys

from safetensors.numpy import load_file

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", HERE.parents[1] / "build"))


def call(*command, env=None, timeout=600):
    """Runs a command that must succeed, and returns its standard output."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **(env or {})})
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def tool(name, *arguments, **more):
    return call(BUILD / "bin" / name, *arguments, **more)


class Workshop:
    """Everything that the test session has made, by key; files are in one folder."""

    def __init__(self, directory):
        self.directory, self.made = directory, {}

    def once(self, key, make):
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def path(self, *parts):
        return self.directory / re.sub(r"[^\w.]+", "-", ".".join(map(str, parts)))

    def module(self, model):
        """Path of the imported model, FILE.py:NAME of test/Integration/models."""
        def make():
            path = self.path(model, "mlir")
            call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models" / model, "-o", path,
                 env={"PYTHONPATH": str(HERE.parents[1] / "python")})
            return path
        return self.once(("module", model), make)

    def golden(self, model, microbatches=8):
        """(path of the inputs, golden results) for different microbatches."""
        def make():
            prefix = self.path(model, microbatches)
            call(sys.executable, HERE / "golden.py", "make", HERE / "models" / model, microbatches, "-o", prefix)
            return f"{prefix}.inputs.safetensors", load_file(f"{prefix}.golden.safetensors")
        return self.once(("golden", model, microbatches), make)

    def artifact(self, model, stages, schedule, *flags):
        def make():
            path = self.path(model, stages, schedule, *flags, "swx")
            tool("pp-compile", self.module(model), f"--cluster=local:{stages}", f"--stages={stages}",
                 f"--schedule={schedule}", "--microbatches=8", "-o", path, *flags)
            return path
        return self.once(("artifact", model, stages, schedule, *flags), make)

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
