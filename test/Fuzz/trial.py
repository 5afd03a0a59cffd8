"""One trial of a program: its results by JAX, compared with ours."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import sys
import traceback

import jax
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "python"), str(HERE.parent / "Integration")]

import golden  # noqa: E402
from judge import Reference, judge  # noqa: E402
from pipeline import MICROBATCHES, Failed, Outcome  # noqa: E402
from program import Program  # noqa: E402
from source import written  # noqa: E402
from stagewright.errors import ImportFailure  # noqa: E402
from stagewright.frontend.jax_step import Step, load_model, stored  # noqa: E402


@dataclasses.dataclass
class Trial:
    """A program that JAX has run and that is ready to be converted."""
    program: object
    directory: pathlib.Path
    text: str
    inputs: list = None
    wanted: list = None
    reference: Reference = None
    outcome: Outcome = None     # set if there is nothing to convert


def title(program: Program, origin=""):
    parts = [f"{program.stages} stage{'s' * (program.stages > 1)}"]
    parts += [f"the first on {program.replicas} devices"] if program.replicas > 1 else []
    parts += [f"schedule {program.schedule}"] if program.schedule else []
    parts += [f"split over {program.shards} shards"] if program.shards > 1 else []
    return f"{origin}{', '.join(parts)}, {MICROBATCHES} microbatches"


def plan_of(text):
    """(stages, devices of the first stage, schedule, shards), parsed from the first line of a program's file."""
    line = text.split("\n")[0]
    patterns = r"(\d+) stages?", r"first on (\d+)", r"schedule ([\w-]+)", r"over (\d+) shards"
    stages, devices, schedule, shards = (re.search(p, line) for p in patterns)
    return (int(stages[1]) if stages else 1, int(devices[1]) if devices else 1, schedule[1] if schedule else "",
            int(shards[1]) if shards else 1)


def prepare(program, directory, origin="") -> Trial:
    """Writes the program's file, runs it with JAX and writes the converter's input."""
    directory.mkdir(parents=True, exist_ok=True)
    text = program if isinstance(program, str) else written(program, title(program, origin)).text
    trial = Trial(program, directory, text)
    path = directory / "program.py"
    path.write_text(text)
    try:
        function, arguments, options = load_model(f"{path}:program")
        step = Step(function, arguments, options)
    except ImportFailure as failure:  # JAX cannot trace it
        kind = "invalid" if "cannot be traced by JAX" in str(failure) else "refused"
        trial.outcome = Outcome(kind, "import", str(failure))
        return trial
    raw = golden.step_inputs(step, arguments, MICROBATCHES)

    def evaluate(compiled, tree, inputs):
        return golden.evaluate(compiled, step.signature, tree, inputs, MICROBATCHES)
    trial.reference, trial.inputs = Reference(text, evaluate), raw
    trial.wanted = [stored(np.asarray(w)) for w in trial.reference.results(raw)]
    if not all(np.isfinite(w.astype(np.float64)).all() for w in trial.wanted):
        trial.outcome = Outcome("invalid", "import", "JAX's results are not finite")
        return trial
    try:
        (directory / "step.stablehlo.mlir").write_text(step.stablehlo())
    except ImportFailure as failure:
        trial.outcome = Failed("refused", "import", str(failure)).outcome
        return trial
    except Exception:
        trial.outcome = Outcome("crash", "import", traceback.format_exc()[-2500:])
        return trial
    (directory / "attributes.json").write_text(json.dumps({"step": step.attributes()}))
    return trial


def execute(trial: Trial, pipeline):
    """The results of both runs, or the outcome of a failure."""
    try:
        pipeline.convert(trial.directory)
        pipeline.compile(trial.directory, *plan_of(trial.text))
        inputs = {str(i): stored(a if hasattr(a, "dtype") else jax.numpy.asarray(a))
                  for i, a in enumerate(trial.inputs)}
        return pipeline.run(trial.directory, inputs)
    except Failed as failed:
        return failed.outcome


def conclude(trial: Trial, made) -> Outcome:
    """The outcome of a trial, given what `execute` returned."""
    if isinstance(made, Outcome):
        return made
    short = bool(re.search(r"\bH\b", trial.text.split("def function", 1)[-1]))
    count = len(trial.wanted)
    first, second = ([run[str(i)] for i in range(count) if str(i) in run] for run in made)
    try:
        verdict, problems = judge(first, trial.wanted, trial.inputs, trial.reference, short)
    except TypeError as error:  # the program is not valid in float64
        return Outcome("unclear", "compare", f"no reference: {error}")
    if verdict == "passed" and any(a.tobytes() != b.tobytes() for a, b in zip(first, second)):
        verdict, problems = judge(second, trial.wanted, trial.inputs, trial.reference, short)
        problems = [f"in the second run: {p}" for p in problems]
    return Outcome(verdict, "compare", "\n".join(problems))
