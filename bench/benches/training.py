"""A byte-level GPT trained on licences and on the documentation of Python's library, with AdamW and gradients clipped by their
global norm: the loss of every step on 1, 2 and 4 ranks compared with JAX and optax.

The allowed relative difference from JAX's loss is the larger of 1e-3 and three times the difference at that step between two
JAX runs that sum the microbatches in opposite orders.
"""

import itertools
import json
import os
import subprocess
import time as clock
from statistics import median

from devtool.console import Failure, Progress

from ..harness.hosts import AS_ROOT
from ..harness.models import FOLDER, GPT
from ..harness.report import Result, Table, time
from ..harness.session import PEERS
from ..harness.sides import call, shortened

MODEL = GPT.sized("training", V=256, T=64)
SOURCE = f"{FOLDER}/training.py:gpt_adamw_wide"
STEPS, MICROBATCHES = 300, 4
RANKS, TRANSPORTS = (1, 2, 4), ("threads", "MPI")
ALLOWED, ORDERS, AT_END = 1e-3, 3, 0.5


def losses(path):
    """(loss, seconds) of the steps written so far to a metrics file."""
    text = path.read_text() if path.exists() else ""
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return [line["loss"] for line in lines], [line["seconds"] for line in lines]


def followed(session, name, command, environment, steps=STEPS):
    """(losses, seconds) of a run that writes its metrics to training.NAME.jsonl, and its output; shows its progress."""
    metrics, log = session.work / f"training.{name}.jsonl", session.work / f"training.{name}.log"
    metrics.unlink(missing_ok=True)
    progress = Progress(f"  {name}")
    with open(log, "w+") as output:
        run = subprocess.Popen([*map(str, command), str(metrics)], env={**os.environ, **environment},
                               stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, text=True)
        while run.poll() is None:
            clock.sleep(0.5)
            if found := losses(metrics)[0]:
                progress.update(f"step {len(found)} of {steps}, loss {found[-1]:.4f}")
    if run.returncode:
        progress.done(f"FAILED (exit {run.returncode})")
        raise Failure(f"{' '.join(map(str, command))}\n{shortened(log.read_text())}")
    found, seconds = losses(metrics)
    progress.done(f"loss {found[0]:.4f} to {found[-1]:.4f}")
    return found, seconds, log.read_text()


def by_jax(session, prefix):
    """Losses of two runs that sum the microbatches forwards and in reverse; seconds of a step; the versions."""
    runs = [followed(session, f"JAX {order} microbatch first",
                     [session.python, PEERS / "jax_training.py", "train", SOURCE, prefix, STEPS, MICROBATCHES, order],
                     MODEL.environment) for order in ("first", "last")]
    return runs[0][0], runs[1][0], runs[0][1], json.loads(runs[0][2].splitlines()[-1])


def ours(session, module, prefix, ranks, transport):
    """(losses, seconds) of one of our runs."""
    artifact = session.compiled(module, ranks, "--schedule=1f1b", microbatches=MICROBATCHES)
    launch = ["mpirun", "--quiet", "--oversubscribe", "-n", ranks] if transport == "MPI" else []
    inputs = [f"--inputs={module.with_suffix('.inputs.safetensors')}", f"--data=ids={prefix}.ids.npy",
              f"--data=tgt={prefix}.tgt.npy", f"--step-values=rate={prefix}.rate.npy", f"--steps={STEPS}"]
    return followed(session, f"{ranks} rank{'s' * (ranks > 1)} {transport}",
                    [*launch, session.tool("pp-run"), artifact, *inputs, "--metrics"], AS_ROOT)[:2]


def apart(found, golden):
    """Relative differences, step by step."""
    return [abs(a - b) / abs(b) for a, b in zip(found, golden, strict=True)]


def row(result, name, found, seconds, golden, allowed):
    """The row of a run compared with JAX: the step that comes nearest to its allowed difference."""
    differences = apart(found, golden)
    parts = [difference / limit for difference, limit in zip(differences, allowed)]
    worst = parts.index(max(parts))
    result.figures[name] = dict(losses=found, seconds=seconds)
    end = found[-1] / found[0]
    return [name, f"{found[0]:.4f}", f"{found[-1]:.4f}", f"{end:.3f}", result.want(f"{name}: last loss / first", end, AT_END),
            f"{max(differences):.1e}", f"{allowed[worst]:.1e}", f"{parts[worst]:.1e}",
            result.want(f"{name}: difference / allowed", parts[worst], 1), time(median(seconds))]


def between(result, allowed):
    """The largest difference between two of our runs."""
    pairs = itertools.combinations([run["losses"] for run in result.figures.values()], 2)
    found = [max(apart(a, b)) for a, b in pairs]
    return Table("Our runs beside each other.", ["largest difference of any two", "limit"], [
        [f"{max(found):.1e}", result.want("between our runs", max(found), min(allowed))]])


def run(session):
    result, prefix = Result("training"), session.work / "training"
    module = session.imported(MODEL, SOURCE)
    text = json.loads(call([session.python, PEERS / "jax_training.py", "prepare", SOURCE, prefix, STEPS, MICROBATCHES],
                           MODEL.environment))
    golden, opposite, seconds, about = by_jax(session, prefix)
    own = apart(opposite, golden)
    allowed = [max(ALLOWED, ORDERS * difference) for difference in own]
    table = Table(
        f"{__doc__.strip()} Model of {about['parameters']:,} parameters, {STEPS} steps of {MICROBATCHES} microbatches of "
        f"{MODEL.sizes['B']} windows of {MODEL.sizes['T']} bytes, half of them from {text['licences']:,} bytes of licences, "
        f"half from {text['documentation']:,} of documentation. JAX {about['version']}, optax {about['optax']}: from "
        f"{golden[0]:.4f} to {golden[-1]:.4f}, a step takes {time(median(seconds))}; its two orders are apart by at most "
        f"{max(own):.1e}.",
        ["", "first loss", "last", "last / first", "limit", "largest difference", "allowed", "part of that",
         "limit", "a step"])
    for transport, ranks in itertools.product(TRANSPORTS, RANKS):
        found, seconds = ours(session, module, prefix, ranks, transport)
        name = f"{ranks} rank{'s' * (ranks > 1)}, {transport}"
        table.rows.append(row(result, name, found, seconds, golden, allowed))
    result.tables += [table, between(result, allowed)]
    result.figures["JAX"] = dict(losses=golden, opposite=opposite, allowed=allowed, **about)
    return result
