"""Training runs of four ranks, a process each, that are killed, stopped or raise an error on a random rank at a random time.

Fifty runs of a small GPT with AdamW and a checkpoint every five steps (scripts/strike-runs.py says what is checked: one
error, no process left, no checkpoint lost or half, the same loss and parameters after the run is resumed).
"""

import array
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import time

from house.console import ROOT, Failure

from ..stand.hosts import AS_ROOT
from ..stand.report import Result, Table
from ..stand.sides import call

MODEL = "test/Integration/models/training.py:gpt_adamw"
TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
RUNS, RANKS, STEPS = 50, 4, 300
LONG, BUSY = 20000, 1000
AT_MOST = 2.0  # times the deadline


def prepared(session):
    """(module, tokens): the model and a text that it learns."""
    module, tokens = session.work / "faults.mlir", session.work / "faults.bin"
    call([session.python, "-m", "stagewright", "import", "jax", ROOT / MODEL, "-o", module, "--quiet"],
         {"PYTHONPATH": str(ROOT / "python")})
    tokens.write_bytes(array.array("H", (letter % 64 for letter in TEXT.read_bytes())).tobytes())
    return module, tokens


def trained(session, module, tokens, artifact):
    return [session.tool("pp-run"), artifact, f"--inputs={module.with_suffix('.inputs.safetensors')}",
            f"--data=ids={tokens}", f"--data=tgt={tokens}+1"]


def watched(command, folder, environment):
    """[(bytes that are resident, open files)] of the process that runs it, a look every second."""
    shutil.rmtree(folder, ignore_errors=True)
    run, looks = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, env={**os.environ, **environment}), []
    while run.poll() is None:
        try:
            resident = int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{run.pid}/status").read_text())[1]) * 1024
            looks.append((resident, len(os.listdir(f"/proc/{run.pid}/fd"))))
        except (OSError, TypeError):
            break  # it ends
        time.sleep(1)
    if run.wait():
        raise Failure(f"{' '.join(map(str, command))}\nended with status {run.returncode}")
    return looks


def long_run(session, command, result):
    """Two ranks as threads, a checkpoint every 500 steps: memory and files of the second half beside the first."""
    folder = session.work / "faults-long"
    looks = watched([*command, f"--steps={LONG}", f"--checkpoints={folder}", "--checkpoint-every=500"], folder, {})
    looks = looks[min(5, len(looks) // 10):]  # without the beginning
    half = len(looks) // 2
    growth = statistics.median(x[0] for x in looks[half:]) / statistics.median(x[0] for x in looks[:half]) - 1
    files = max(x[1] for x in looks[half:]) - max(x[1] for x in looks[:half])
    result.figures["long"] = looks
    result.tables.append(Table(f"{LONG} steps, a checkpoint every 500.", ["", "found", "wanted at most"], [
        ["resident memory, second half over first, %", f"{growth * 100:.2f}", result.want("growth, %", growth * 100, 1)],
        ["open files more", str(files), result.want("files", files, 0)]]))


def busy_run(session, command, result):
    """Steps of four processes while both processors have something else to do; a false alarm is a status that is not 0."""
    others = [subprocess.Popen([session.python, "-c", "while True: pass"]) for _ in range(2)]
    try:
        watched(["mpirun", "--quiet", "--oversubscribe", "-n", RANKS, *command, f"--steps={BUSY}",
                 f"--checkpoints={session.work / 'faults-busy'}"], session.work / "faults-busy", AS_ROOT)
    finally:
        for other in others:
            other.kill()
    result.figures["busy"] = BUSY


def struck(session, command, result):
    figures = session.work / "faults.runs.json"
    print(call([session.python, ROOT / "scripts/strike-runs.py", f"--runs={RUNS}", f"--ranks={RANKS}", f"--steps={STEPS}",
                f"--json={figures}", f"--work={session.work / 'faults'}", *command]))
    found = json.loads(figures.read_text())
    table = Table(__doc__.splitlines()[0], ["fault", "runs", "seconds until all had ended, median", "most", "most / deadline"])
    result.tables.append(table)
    for kind in sorted({one["kind"] for one in found}):
        these = [one for one in found if one["kind"] == kind]
        seconds = [one["seconds"] for one in these]
        ratio = max(one["seconds"] / one["deadline"] for one in these)
        table.rows.append([kind, str(len(these)), f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}",
                           result.want(f"{kind}, deadlines", ratio, AT_MOST)])
    result.figures["runs"] = found


def run(session):
    module, tokens = prepared(session)
    result = Result("faults")
    struck(session, trained(session, module, tokens, session.compiled(module, RANKS, "--schedule=1f1b")), result)
    long_run(session, trained(session, module, tokens, session.compiled(module, 2, "--schedule=1f1b")), result)
    busy_run(session, trained(session, module, tokens, session.compiled(module, RANKS, "--schedule=1f1b")), result)
    return result
