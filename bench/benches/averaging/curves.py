"""Four replicas, as threads, train a byte-level GPT on the data of `./dev bench training`: synchronously; with an average every
4 steps, for which steps wait (local SGD) or which is merged 2 steps later (convex or corrected); and with an average every 2
steps that is merged a step later (corrected). The validation loss is that of the mean of the replicas' parameters on windows
that no step has seen. A run that is killed between the start and the merge of an average, and resumed, is compared bit for bit.
A second table has the validation losses with higher rates."""

import json
import os
import shutil
import subprocess

import numpy as np

from devtool.console import Failure

from ...harness.models import FOLDER, GPT
from ...harness.report import Table, time
from ...harness.session import PEERS
from ...harness.sides import call

MODEL = GPT.sized("averaging-curves", V=256, D=128, H=4, L=2, T=64, B=8)
SOURCE = f"{FOLDER}/training.py:gpt_adamw_validated"
STEPS, MICROBATCHES, REPLICAS, VALIDATION, SPARE, EVERY = 300, 2, 4, 10, 60, 50
RULE = ["--average-every=4", "--average-delay=2"]
RUNS = {"synchronous": ([], "#1f77b4"), "local SGD": (["--average-every=4", "--average-delay=0"], "#9467bd"),
        "convex": ([*RULE, "--average-merge=convex"], "#ff7f0e"),
        "corrected, every 2": (["--average-every=2", "--average-delay=1"], "#2ca02c"),
        "corrected": (RULE, "#d62728")}  # the last one is resumed
RATES = (2, 3)  # times those of the training bench
SAVED, KILLED, ALLOWED = 149, 201, 0.02  # an average of step 148 is under way after step 149


def prepared(session, prefix):
    """The flags of pp-run for training data and for validation data."""
    call([session.python, PEERS / "jax_training.py", "prepare", SOURCE, prefix, STEPS + SPARE, MICROBATCHES], MODEL.environment)
    batch, data, held = MICROBATCHES * MODEL.sizes["B"], [], []
    ids = np.load(f"{prefix}.ids.npy")
    last = {row.tobytes() for row in ids[-VALIDATION * batch:]}  # windows may occur more than once
    others = np.array([row.tobytes() not in last for row in ids])
    for name in ("ids", "tgt"):
        samples = np.load(f"{prefix}.{name}.npy")
        for part, flags in (samples[others][:STEPS * batch], data), (samples[-VALIDATION * batch:], held):
            path = f"{prefix}.{name}.{'data' if flags is data else 'held'}.npy"
            np.save(path, part)
            flags.append(f"{name}={path}")
    return [f"--data={flag}" for flag in data], [f"--validation-data={flag}" for flag in held]


def compiled(session, module, name, *flags):
    return session.compiled(module, 1, f"--plan=[0,4)x{REPLICAS}", *flags, name=name, microbatches=MICROBATCHES,
                            cluster=f"local:{REPLICAS}")


def trained(command, metrics):
    """The lines of the metrics of a run."""
    metrics.unlink(missing_ok=True)
    call([*command, f"--metrics={metrics}"])
    return [line for line in map(json.loads, metrics.read_text().splitlines()) if "loss" in line]


def resumes(command, whole):
    """Whether a run that is killed and resumed ends with the same bits as that with checkpoints in folder `whole`."""
    folder = whole.with_name("averaging-killed")
    shutil.rmtree(folder, ignore_errors=True)
    command = [*map(str, command), f"--checkpoints={folder}", f"--checkpoint-every={SAVED}"]
    killed = subprocess.run(command, env={**os.environ, "STAGEWRIGHT_INJECT": f"2:{KILLED}:1:kill"}, capture_output=True)
    if killed.returncode == 0 or [path.name for path in folder.glob("step-*")] != [f"step-{SAVED:012d}"]:
        raise Failure(f"{' '.join(command)} should have been killed after step {KILLED}, with a checkpoint of step {SAVED}")
    call([*command, "--resume"])
    files = [f"step-{STEPS:012d}/{name}.safetensors" for name in ("params", "state")]
    return all((folder / name).read_bytes() == (whole / name).read_bytes() for name in files)


def measure(session, result):
    table = Table(__doc__.replace("\n", " ") + f" {STEPS} steps of {MICROBATCHES} microbatches of {MODEL.sizes['B']} windows of "
                  f"{MODEL.sizes['T']} bytes, AdamW.", ["", "first loss", "last loss", "validation loss", "/ synchronous",
                                                        "limit", "a step"])
    result.tables.append(table)
    module, prefix = session.imported(MODEL, SOURCE), session.work / "averaging-curves"
    data, held = prepared(session, prefix)
    validation = compiled(session, module.with_suffix(".validation.mlir"), "loss")
    artifacts = {name: compiled(session, module, name.replace(", ", " ").replace(" ", "-"), "--schedule=1f1b", *flags)
                 for name, (flags, _) in RUNS.items()}
    checks = [f"--validation={validation}", *held, f"--validate-every={EVERY}"]

    def command_of(name, rate=f"{prefix}.rate.npy"):
        return [session.tool("pp-run"), artifacts[name], f"--inputs={module.with_suffix('.inputs.safetensors')}", *data,
                f"--step-values=rate={rate}", f"--steps={STEPS}", "--deadline=60"]

    curves, whole = {}, session.work / "averaging-whole"
    shutil.rmtree(whole, ignore_errors=True)
    for name in RUNS:
        command = command_of(name)
        saves = [f"--checkpoints={whole}"] if name == "corrected" else []
        lines = trained([*command, *checks, *saves], session.work / "averaging-curves.jsonl")
        curves[name] = {line["step"]: line["validation_loss"] for line in lines if "validation_loss" in line}
        losses = [line["loss"] for line in lines]
        result.figures[name] = dict(losses=losses, validation=curves[name])
        ratio = curves[name][STEPS] / curves["synchronous"][STEPS]
        wanted = result.want(f"validation loss, {name} / synchronous", ratio, 1 + ALLOWED) if name.startswith("corrected") else ""
        table.rows.append([name, f"{losses[0]:.4f}", f"{losses[-1]:.4f}", f"{curves[name][STEPS]:.4f}", f"{ratio:.4f}", wanted,
                           time(np.median([line["seconds"] for line in lines]))])
        session.say("  " + ", ".join(table.rows[-1][:5]))
    same = resumes(command, whole)
    table.rows.append([f"corrected, killed after step {KILLED}, resumed from step {SAVED}", "", "", "",
                       "same bits" if same else "other bits", result.want("resumed with other bits", int(not same), 0), ""])
    result.tables.append(rates(session, lambda name, rate: [*command_of(name, rate), *checks], f"{prefix}.rate.npy",
                               {name: curve[STEPS] for name, curve in curves.items()}))
    picture = session.work / "averaging-curves.svg"
    picture.write_text(draw(curves))
    session.say(f"  picture: {picture}")


def rates(session, command, given, losses):
    """A table of validation losses; `losses` are those with the rates in file `given`."""
    table = Table("Validation losses with higher rates.", ["", "rates", *(f"{times} times the rates" for times in RATES)])
    path, found = session.work / "averaging-curves.rates.npy", {name: [loss] for name, loss in losses.items()}
    for times in RATES:
        np.save(path, np.load(given) * np.float32(times))
        for name, row in found.items():
            lines = trained(command(name, path), session.work / "averaging-curves.jsonl")
            row.append([line["validation_loss"] for line in lines if "validation_loss" in line][-1])
            session.say(f"  {name}, {times} times the rates: {row[-1]:.4f}")
    table.rows = [[name, *(f"{loss:.4f}" for loss in row)] for name, row in found.items()]
    return table


def draw(curves):
    """Validation losses by step."""
    width, height, left = 600, 300, 50
    values = [value for curve in curves.values() for value in curve.values()]
    low, high = min(values) * .98, max(values) * 1.02
    place = lambda step, loss: (left + step / STEPS * width, 20 + (high - loss) / (high - low) * height)  # noqa: E731
    parts = [f'<rect x="{left}" y="20" width="{width}" height="{height}" fill="none" stroke="#999"/>']
    parts += [f'<text x="{place(step, low)[0]:.0f}" y="{height + 35}" text-anchor="middle">{step}</text>'
              for step in range(0, STEPS + 1, EVERY)]
    parts += [f'<text x="{left - 5}" y="{place(0, loss)[1] + 4:.0f}" text-anchor="end">{loss:.2f}</text>'
              for loss in np.linspace(low, high, 6)]
    for number, (name, curve) in enumerate(curves.items()):
        colour, points = RUNS[name][1], [place(*point) for point in curve.items()]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" '
                     f'points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'
                     f'<text x="{left + width - 10}" y="{45 + 15 * number}" text-anchor="end" fill="{colour}">{name}</text>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + left + 20}" height="{height + 60}" font-size="11" '
            f'font-family="sans-serif">{"".join(parts)}<text x="{left}" y="{height + 55}">step; validation loss of four replicas'
            "</text></svg>\n")
