#!/usr/bin/env python3
"""Injects faults into training runs and checks what is lost.

  inject-faults.py --runs 50 --ranks 4 --steps 300 PP-RUN STEP.swx --inputs=... --data=...

The first run is undisturbed. In every run after it, a random rank is killed (SIGKILL), stopped (SIGSTOP) or raises an error, in
rotation, at a random time or, by a signal in every fourth run, while a checkpoint is being written. Then all must end within
twice the printed deadline, with a non-zero status, one error, and no process left; every checkpoint must still exist and be
complete; and the resumed run must reach the same loss and the same parameters, bit for bit. Prints a line for every run, and
with --json writes the figures to a file.
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
KINDS = ("KILL", "STOP", "raise")


class Wrong(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Wrong(what)


def alive(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def children(process):
    try:
        return [int(p) for p in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def checkpoints(folder):
    """Names of all checkpoints; each must be complete."""
    names = sorted(path.name for path in folder.glob("step-*"))
    for name in names:
        manifest = json.loads((folder / name / "checkpoint.json").read_text())
        check(manifest["step"] == int(name.split("-")[1]), f"{name} is of step {manifest['step']}")
        for file, about in manifest["files"].items():
            data = (folder / name / file).read_bytes()
            check(len(data) == about["bytes"] and zlib.crc32(data) == about["crc32"], f"{name}/{file} is damaged")
    return names


class Runs:
    def __init__(self, options, command, work):
        self.options, self.command, self.work = options, command, work
        self.launch = ["mpirun", "--quiet", "--oversubscribe", "-n", str(options.ranks)] if options.ranks else []

    def start(self, folder, *flags, inject=None):
        environment = {**os.environ, **AS_ROOT, **({"STAGEWRIGHT_INJECT": inject} if inject else {})}
        return subprocess.Popen([*self.launch, *self.command, f"--steps={self.options.steps}", f"--checkpoints={folder}",
                                 f"--checkpoint-every={self.options.every}", "--keep=1000000", "--json", *flags],
                                stdout=subprocess.PIPE, stderr=(folder.parent / f"{folder.name}.err").open("w"), text=True,
                                env=environment)

    def to_its_end(self, folder, *flags):
        """(loss, bytes of the last checkpoint) of an undisturbed run."""
        run = self.start(folder, *flags)
        out, _ = run.communicate(timeout=600)
        check(run.returncode == 0, f"an undisturbed run ended with {run.returncode}: {self.said(folder)}")
        last = folder / checkpoints(folder)[-1]
        return json.loads(out)["loss"], [path.read_bytes() for path in sorted(last.glob("*.safetensors"))]

    def said(self, folder):
        return (folder.parent / f"{folder.name}.err").read_text()

    def ranks(self, run):
        """The processes of the ranks, by rank."""
        found = {}
        for child in children(run.pid):
            try:
                text = pathlib.Path(f"/proc/{child}/environ").read_bytes()
            except OSError:
                continue
            number = re.search(rb"OMPI_COMM_WORLD_RANK=(\d+)", text)
            if number:
                found[int(number[1])] = child
        return [found[rank] for rank in sorted(found)]

    def with_fault(self, number, seconds):
        """One run with a fault at a random time in the first `seconds` seconds of steps; returns the figures, or None if the
        run had already finished."""
        kind = KINDS[number % len(KINDS)]
        writing = kind != "raise" and number % 4 == 3
        folder = self.work / f"run-{number}"
        target = random.randrange(self.options.ranks)
        inject = f"{target}:{random.randrange(1, self.options.steps - 1)}:{random.randrange(4)}:raise" if kind == "raise" else None
        run = self.start(folder, inject=inject)
        while run.poll() is None and not self.steps_begun(folder):
            time.sleep(0.005)
        ranks, when = self.ranks(run), time.monotonic() + random.uniform(0, seconds)
        while run.poll() is None and (time.monotonic() < when or writing and not list(folder.glob(".writing-*"))):
            time.sleep(0.0005 if writing and time.monotonic() >= when else 0.005)
        before = [path.name for path in folder.glob("step-*")]
        begin = time.monotonic()
        if kind != "raise":
            if run.poll() is not None or not alive(ranks[target]):
                return None
            os.kill(ranks[target], getattr(signal, "SIG" + kind))
            writing = writing and bool(list(folder.glob(".writing-*")))  # else the checkpoint was complete before the signal
        told = self.wait_for_all(run, ranks, folder)
        seconds, text = time.monotonic() - (told if kind == "raise" else begin), self.said(folder)
        if "error" not in text and (folder / f"step-{self.options.steps:012}").exists():
            return None  # the signal hit a process that had already finished
        deadline = float(re.findall(r"pp-run: deadline ([\d.]+) s", text)[-1])
        figures = dict(run=number, kind=kind, rank=target, writing=writing, seconds=seconds, deadline=deadline)
        self.judge(run, ranks, text, figures, before, folder)
        return figures

    def steps_begun(self, folder):
        return len(re.findall("pp-run: deadline", self.said(folder))) > 1

    def wait_for_all(self, run, ranks, folder):
        """Waits until all processes have ended; returns the time of the error message."""
        limit, told = time.monotonic() + 150, None
        while run.poll() is None or any(map(alive, ranks)):
            if told is None and "error" in self.said(folder):
                told = time.monotonic()
            if time.monotonic() > limit:
                left = [rank for rank, process in enumerate(ranks) if alive(process)]
                for process in (run.pid, *ranks):
                    if alive(process):
                        os.kill(process, signal.SIGKILL)
                raise Wrong(f"ranks {left} did not end: {self.said(folder)}")
            time.sleep(0.005)
        return told or time.monotonic()

    def judge(self, run, ranks, text, figures, before, folder):
        check(run.returncode != 0, "the status is 0")
        errors = [line for line in text.splitlines() if re.match("(stagewright|pp-run): error", line)]
        check(len(errors) == 1, f"there are {len(errors)} errors: {text}")
        figures["error"] = errors[0]
        check(re.search(rf"rank {figures['rank']}\b", errors[0]), f"rank {figures['rank']} is not named: {errors[0]}")
        check(figures["seconds"] <= 2 * figures["deadline"], f"it took {figures['seconds']:.2f} s")
        after = checkpoints(folder)
        check(set(before) <= set(after), f"{set(before) - set(after)} are lost")
        figures["checkpoint"] = int(after[-1].split("-")[1]) if after else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--every", type=int, default=5, help="steps between checkpoints")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="where to write the figures")
    parser.add_argument("--work", type=pathlib.Path, help="where to run: a new or empty folder (default: a temporary one)")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    random.seed(options.seed)
    work = options.work or pathlib.Path(tempfile.mkdtemp())
    work.mkdir(parents=True, exist_ok=True)
    runs, found = Runs(options, options.command, work), []
    begin = time.monotonic()
    expected = runs.to_its_end(work / "whole")
    whole = time.monotonic() - begin
    print(f"undisturbed: {whole:.1f} s, loss {expected[0]:.9g}", flush=True)
    try:
        number, share = 0, 0.5
        while number < options.runs:
            figures = runs.with_fault(number, whole * share)
            folder = work / f"run-{number}"
            if figures is None:  # the run had already finished
                share = max(share / 2, 0.01)
                shutil.rmtree(folder, ignore_errors=True)
                continue
            resumed = runs.to_its_end(folder, *(["--resume"] if figures["checkpoint"] else []))
            check(resumed[0] == expected[0], f"the loss is {resumed[0]}, expected {expected[0]}")
            check(resumed[1] == expected[1], "the parameters or the state differ")
            found.append(figures)
            print("run {run:2}: {kind:5} rank {rank}{0}: {seconds:.2f} s of {1:.2f}, resumed from step {checkpoint}, same loss".format(
                " while writing" if figures["writing"] else "", 2 * figures["deadline"], **figures), flush=True)
            shutil.rmtree(folder)
            number, share = number + 1, 0.5
    except Wrong as wrong:
        sys.exit(f"inject-faults.py: run {len(found)}: {wrong}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))
    longest = max(one["seconds"] / one["deadline"] for one in found)
    print(f"{len(found)} runs with faults, all resumed: the slowest ended after {longest:.2f} deadlines, no checkpoint lost")


main()
