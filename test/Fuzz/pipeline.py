"""Runs one program through all steps: convert, compile, run, each in a process that may crash."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

from safetensors.numpy import load_file, save_file

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "Integration"))

from emulator import TARGET as GPU  # noqa: E402
from emulator import emulated  # noqa: E402

BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", HERE.parents[1] / "build"))
SECONDS = 120  # of one compile or one run
MICROBATCHES = 2

# Expected refusals: (pattern of the message, why the compiler does not support it).
KNOWN_REFUSALS = [
    (r"operation 'chlo.next_after'", "linalg has no operation for the next floating-point number"),
]


@dataclasses.dataclass
class Outcome:
    """`kind`: passed, unclear, wrong, crash, refused or known; `where`: import, convert, compile, run or compare."""
    kind: str
    where: str = ""
    message: str = ""

    def failed(self):
        return self.kind in ("wrong", "crash", "refused")

    def signature(self):
        """Equal for outcomes of the same fault."""
        text = self.message.split("\n")[0] if self.kind != "wrong" else ""
        text = re.sub(r"\S*/|%?\b\w*\d+\w*\b|'[^']*'|\"[^\"]*\"|<[^>]*>|\([^)]*\)", "", text)
        return self.kind, self.where, " ".join(re.findall(r"[a-z]{3,}", text)[:8])


class Failed(Exception):
    def __init__(self, kind, where, message):
        super().__init__(message)
        if kind == "refused" and (why := next((w for p, w in KNOWN_REFUSALS if re.search(p, message)), None)):
            kind, message = "known", why
        self.outcome = Outcome(kind, where, message.strip())


class Process:
    """A process that answers each line with a line; started when needed, and restarted after it died."""

    def __init__(self, script, seconds=SECONDS):
        self.script, self.process, self.seconds = script, None, seconds

    def ask(self, where, line):
        if self.process is None or self.process.poll() is not None:
            paths = [BUILD / "python", HERE.parents[1] / "python", *filter(None, [os.environ.get("PYTHONPATH")])]
            self.process = subprocess.Popen(
                [sys.executable, HERE / self.script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))})
        timer = threading.Timer(self.seconds, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            timer.cancel()
        if not answer:
            code = self.process.wait()
            raise Failed("crash", where, f"the process ended with {_named(code)}")
        return json.loads(answer)

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def _named(code):
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


class Pipeline:
    """From the StableHLO text of a step to its results. One for each thread."""

    def __init__(self, upstream=False, gpu=False):
        self.upstream = upstream  # run by upstream's passes, without our compiler
        self.gpu = gpu  # compile for GPUs, one for each rank, which the emulator runs
        if gpu:
            os.environ.update(emulated(devices=8))
        self.converter, self.executor = Process("converter.py"), Process("executor.py")

    def close(self):
        self.converter.close(), self.executor.close()

    def convert(self, directory):
        """DIRECTORY/step.stablehlo.mlir and attributes.json -> DIRECTORY/module.mlir."""
        answer = self.converter.ask("convert", str(directory))
        if "refused" in answer:
            raise Failed("refused", "convert", answer["refused"])
        if "failed" in answer:
            raise Failed("crash", "convert", answer["failed"])

    def compile(self, directory, stages, devices, schedule, shards):
        """DIRECTORY/module.mlir -> DIRECTORY/step.swx, with at most as many stages as layers."""
        if self.upstream:
            return
        flags = [f"--stages={stages}"] + ([f"--schedule={schedule}"] if schedule else [])
        if shards > 1 and (hints := _hints(directory / "module.mlir", shards)):
            split = f"--tensor-parallel={shards}", f"--shard={','.join(hints)}"
            try:
                return self._compile(directory, shards * stages, *split, *flags)
            except Failed as failed:
                if "cannot be cut into" not in failed.outcome.message:
                    raise
            return self._compile(directory, shards, *split)
        if devices == 1:
            try:
                return self._compile(directory, stages, *flags)
            except Failed as failed:
                layers = re.search(r"\d+ stages need at least \d+ layers, the graph has (\d+)", failed.outcome.message)
                if not layers:
                    raise
            return self._compile(directory, int(layers[1]), f"--stages={layers[1]}", *flags[1:])
        try:
            self._compile(directory, devices, f"--plan=[0,9999)x{devices}")
        except Failed as failed:
            layers = re.search(r"0 <= first < end <= (\d+), the number of layers", failed.outcome.message)
            if not layers:
                raise
        count = int(layers[1])
        stages = min(stages, count)
        rest = "".join(f" [{n},{n + 1 if n + 1 < stages else count})x1" for n in range(1, stages))
        self._compile(directory, devices + stages - 1, f"--plan=[0,{1 if rest else count})x{devices}{rest}")

    def cache(self, _directory):
        """The flag of the code cache: off, because a program of the fuzzer is compiled once."""
        return "--no-cache"

    def _compile(self, directory, devices, *flags):
        if self.gpu:
            flags += GPU
        command = [BUILD / "bin/pp-compile", directory / "module.mlir", f"--cluster=local:{devices}",
                   f"--microbatches={MICROBATCHES}", "--quiet", self.cache(directory), "-o", directory / "step.swx", *flags]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, errors="replace")
        except subprocess.TimeoutExpired:
            raise Failed("crash", "compile", f"not done after {SECONDS} s") from None
        if done.returncode < 0 or done.returncode > 1:
            raise Failed("crash", "compile", f"{_named(done.returncode)}\n{_errors(done.stderr)}")
        if done.returncode:
            raise Failed("refused", "compile", _errors(done.stderr))

    def run(self, directory, inputs):
        """The results by position, of a first and of a second run."""
        save_file(inputs, directory / "inputs.safetensors")
        request = dict(artifact=str(directory / "step.swx"), inputs=str(directory / "inputs.safetensors"),
                       outputs=str(directory / "outputs"), seconds=SECONDS // 2, microbatches=MICROBATCHES)
        if self.upstream:
            request["upstream"] = str(directory)
        answer = self.executor.ask("run", json.dumps(request))
        if "signal" in answer:
            raise Failed("crash", "run", _named(-answer["signal"]))
        if "failed" in answer:
            raise Failed("refused", "run", answer["failed"])
        return [load_file(directory / f"outputs.{n}") for n in ("first", "second")]


def _hints(module, shards):
    """Values of --shard: a hash of its name chooses the dimension in which a parameter (of a stack, each row) is split."""
    hints = []
    for shape, facts in re.findall(r"tensor<([\dx]+)x\w+> \{([^}]*role = \"parameter\"[^}]*)\}",
                                   module.read_text().split("\n}", 1)[0]):
        name = re.search(r"pipeline\.name = \"([^\"]+)\"", facts)[1]
        sizes = [int(size) for size in shape.split("x")]["pipeline.slices" in facts:]
        dims = [dim for dim, size in enumerate(sizes) if size >= shards]
        if dims:
            hints.append(f"{name}={dims[sum(map(ord, name)) % len(dims)]}")
    return hints


def _errors(text):
    """The error messages in a tool's output."""
    lines = text.splitlines()
    found = [n for n, line in enumerate(lines) if "error:" in line or "Assertion" in line or "Stack dump" in line]
    return "\n".join(line[:600] for line in lines[found[0]:found[0] + 12]) if found else text[-1500:]
