"""Training runs that are killed, stopped or raise an error on a random rank at a random time.

Fifty runs of a small GPT with AdamW and a checkpoint every five steps, one process per rank. scripts/inject-faults.py describes
the checks: one error, no process left, no checkpoint lost or incomplete, the same loss and parameters after resuming.
"""

import json
import os
import re
import shutil
import subprocess
from statistics import median

from devtool.console import ROOT, stream

from ..harness.hosts import AS_ROOT
from ..harness.report import Result, Table, time
from ..harness.training import Training, told

STEPS, MICROBATCHES = 300, 8
BUSY = 1000
PARTS = {"injected-4": 4, "injected-2": 2, "busy": ((2, False), (2, True), (4, True))}
AT_MOST = 2.0  # times the deadline


def inject(session, training, ranks, result):
    figures, options = session.work / f"faults.injected-{ranks}.json", session.options
    stream(f"  {ranks} ranks with faults", [
        session.python, ROOT / "scripts/inject-faults.py", f"--runs={options.runs}", f"--ranks={ranks}", f"--steps={STEPS}",
        f"--seed={options.seed}", f"--json={figures}", f"--work={session.work / f'faults.injected-{ranks}'}",
        *training.step(ranks)], str)
    found = json.loads(figures.read_text())
    table = Table(f"{__doc__.strip()} Here {ranks} ranks, seed {options.seed}.", [
        "fault", "runs", "seconds until all had ended, median", "most", "most / deadline", "limit"])
    for kind in sorted({one["kind"] for one in found}):
        these = [one for one in found if one["kind"] == kind]
        seconds, ratio = [one["seconds"] for one in these], max(one["seconds"] / one["deadline"] for one in these)
        table.rows.append([kind, len(these), f"{median(seconds):.2f}", f"{max(seconds):.2f}", f"{ratio:.2f}",
                           result.want(f"{ranks} ranks, {kind}: deadlines", ratio, AT_MOST)])
    result.tables.append(table)
    result.figures[f"faults, {ranks} ranks"] = found


def among_busy(session, training, ranks, processes):
    """(exit status, output, seconds of its steps) of a run while all processors are busy with other work."""
    folder = session.work / "faults.busy"
    shutil.rmtree(folder, ignore_errors=True)
    others = [subprocess.Popen([session.python, "-c", "while True: pass"]) for _ in os.sched_getaffinity(0)]
    try:
        done = subprocess.run([str(c) for c in training.command(ranks, processes, f"--steps={BUSY}", "--json",
                                                                f"--checkpoints={folder}")],
                              env={**os.environ, **AS_ROOT}, capture_output=True, text=True)
    finally:
        for other in others:
            other.kill()
            other.wait()
    return done.returncode, done.stderr, json.loads(done.stdout)["seconds"] if done.returncode == 0 else []


def busy(session, training, runs, result):
    table = Table(f"{BUSY} steps without a fault, while every processor also runs another process.",
                  ["", "a step, median", "slowest", "least deadline", "alarms", "limit"])
    for ranks, processes in runs:
        name = told(ranks, processes)
        status, said, seconds = among_busy(session, training, ranks, processes)
        alarm = int(status != 0 or "error" in said)
        session.say(f"  {name}: {BUSY} steps, {'an alarm: ' + said if alarm else 'no alarm'}")
        deadlines = [float(found) for found in re.findall(r"pp-run: deadline ([\d.]+) s", said)]
        result.figures[f"busy, {name}"] = dict(status=status, said=said, seconds=seconds)
        table.rows.append([name, *(time(f(seconds)) if seconds else "" for f in (median, max)), f"{min(deadlines):.1f} s", alarm,
                           result.want(f"busy, {name}: alarms", alarm, 0)])
    result.tables.append(table)


def run(session):
    result, training = Result("faults"), Training(session, "faults", "gpt_adamw", 64, MICROBATCHES)
    for part in session.parts(PARTS):
        (busy if part == "busy" else inject)(session, training, PARTS[part], result)
    return result
