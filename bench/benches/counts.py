"""Instruction counts by callgrind, compared with the table in bench/counts.json; 3 % difference is allowed.

Counts do not depend on machine load, so a test can check them. They depend on the versions of linked libraries, which are in
the table. pp-compile compiles for x86-64-v3 on every machine, so that its count does not depend on the processor. Steps and actions are not counted: how
long ranks poll for a message before they sleep depends on machine load.
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import subprocess

from ..harness.models import GPT
from ..harness.report import Result, Table

FILE = pathlib.Path(__file__).resolve().parents[1] / "counts.json"
DRIFT = 0.03
SMALL = GPT.sized("counts", V=64, D=32, H=2, L=2, T=16, B=2)
PACKAGES = ("libmlir-22", "libllvm22", "libmimalloc2.0", "libc6", "libstdc++6", "libopenblas0-pthread", "valgrind")


@dataclasses.dataclass
class Counter:
    """The tools of a build, and a work folder."""

    build: pathlib.Path
    python: str
    folder: pathlib.Path

    def run(self, *command, environment=None):
        done = subprocess.run([str(c) for c in command], env={**os.environ, **(environment or {})}, capture_output=True,
                              text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stderr[-3000:]}")
        return done.stderr

    def module(self, model):
        path = self.folder / f"{model.name}.mlir"
        self.run(self.python, "-m", "stagewright", "import", "jax", model.source, "-o", path, "--quiet",
                 environment=model.environment)
        return path

    def instructions(self, tool, *arguments):
        text = self.run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", self.build / "bin" / tool,
                        *arguments, environment={"STAGEWRIGHT_BLAS_CORE": "Haswell"})
        return int(re.search(r"Collected : (\d+)", text).group(1))


def measure(counter):
    """Instruction counts by name."""
    module = counter.module(SMALL)
    plan = "cluster=local:2 stages=2 microbatches=8"
    tasks = {
        "compile": ("pp-compile", module, *(f"--{flag}" for flag in plan.split()), "--target-cpu=x86-64-v3", "--quiet",
                    "--emit=llvm", "-o", "/dev/null"),
        "partition": ("pp-opt", module, f"--pipeline-partition={plan}", "-o", "/dev/null"),
        "plan": ("pp-plan", module, "--cluster=local:4", "--microbatches=8"),
        "simulate": ("pp-sim", "--schedule=zb-h1", "--ranks=8", "--microbatches=64"),
    }
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = {name: pool.submit(counter.instructions, *task) for name, task in tasks.items()}
        found = {name: task.result() for name, task in found.items()}
    return found


def versions():
    """Versions of the packages that counts depend on."""
    listed = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}\n", *PACKAGES], capture_output=True, text=True)
    return dict(line.split() for line in listed.stdout.splitlines() if len(line.split()) == 2)


def drifted(found, table):
    """A line for every count that differs from the table's by more than DRIFT."""
    return [f"{name}: {count} instructions, the table has {table[name]} ({100 * (count / table[name] - 1):+.1f} %)"
            for name, count in found.items() if abs(count - table[name]) > DRIFT * table[name]]


def run(session):
    table = json.loads(FILE.read_text()) if FILE.exists() else None
    found = measure(Counter(session.tool("").parent, session.python, session.work))
    if session.options.update or not table:
        FILE.write_text(json.dumps(dict(versions=versions(), instructions=found), indent=1) + "\n")
        session.say(f"written: {FILE}")
        table = json.loads(FILE.read_text())
    result = Result("counts", [Table(__doc__.splitlines()[0], ["", "instructions", "in the table", "apart"])],
                    figures=dict(instructions=found, table=table))
    for name, count in found.items():
        before = table["instructions"].get(name)
        apart = f"{100 * (count / before - 1):+.1f} %" if before else "new"
        result.tables[0].rows.append([name, count, before or "", apart])
    return result
