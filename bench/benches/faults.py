"""Training runs of four ranks, a process each, that are killed, stopped or raise an error on a random rank at a random time.

Fifty runs of a small GPT with AdamW and a checkpoint every five steps (scripts/strike-runs.py says what is checked: one
error, no process left, no checkpoint lost or half, the same loss and parameters after the run is resumed).
"""

import json
import pathlib
import statistics

import numpy as np
from house.console import ROOT

from ..stand.report import Result, Table
from ..stand.sides import call

MODEL = "test/Integration/models/training.py:gpt_adamw"
TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
RUNS, RANKS, STEPS = 50, 4, 400
AT_MOST = 2.0  # times the deadline


def prepared(session):
    """(module, tokens): the model and a text that it learns."""
    module, tokens = session.work / "faults.mlir", session.work / "faults.bin"
    call([session.python, "-m", "stagewright", "import", "jax", ROOT / MODEL, "-o", module, "--quiet"],
         {"PYTHONPATH": str(ROOT / "python")})
    (np.frombuffer(TEXT.read_bytes(), np.uint8) % 64).astype("<u2").tofile(tokens)
    return module, tokens


def trained(session, module, tokens, artifact):
    return [session.tool("pp-run"), artifact, f"--inputs={module.with_suffix('.inputs.safetensors')}",
            f"--data=ids={tokens}", f"--data=tgt={tokens}+1"]


def run(session):
    module, tokens = prepared(session)
    artifact, figures = session.compiled(module, RANKS, "--schedule=1f1b"), session.work / "faults.runs.json"
    print(call([session.python, ROOT / "scripts/strike-runs.py", f"--runs={RUNS}", f"--ranks={RANKS}", f"--steps={STEPS}",
                f"--json={figures}", f"--work={session.work / 'faults'}", *trained(session, module, tokens, artifact)]))
    found = json.loads(figures.read_text())
    table = Table(__doc__.splitlines()[0], ["fault", "runs", "seconds until all had ended, median", "most", "most / deadline"])
    result = Result("faults", [table])
    for kind in sorted({one["kind"] for one in found}):
        these = [one for one in found if one["kind"] == kind]
        seconds = [one["seconds"] for one in these]
        ratio = max(one["seconds"] / one["deadline"] for one in these)
        table.rows.append([kind, str(len(these)), f"{statistics.median(seconds):.2f}", f"{max(seconds):.2f}",
                           result.want(f"{kind}, deadlines", ratio, AT_MOST)])
    result.figures["runs"] = found
    return result
