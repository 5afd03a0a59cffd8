"""Runs steps of the suite on request: a process that the suite starts, and restarts if it dies.

Reads a line of JSON per step, {"step", "dtype", "stages", "directory"}; answers with lines {"stages": ..., "outcome": ...}
and, last, a line {"done": ...} with facts about the whole step. `--list LIBRARY` prints its steps instead."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import sys
import time
import traceback

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Round to bfloat16 where the program does: by default XLA may keep intermediate values in float32.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_allow_excess_precision=false"

import catalog  # noqa: E402


CLEAR_AFTER = 20  # steps; then the compiled code of earlier ones is dropped


def answer(pipe, value):
    pipe.write(json.dumps(value) + "\n")
    pipe.flush()


def attempt(request, pipeline, pipe):
    """Answers for each number of stages, and returns facts about the step."""
    import attempt as trial
    entry, directory = catalog.find(request["step"]), pathlib.Path(request["directory"])
    directory.mkdir(parents=True, exist_ok=True)
    about, began = {}, time.monotonic()

    def all_stages(outcome):
        for stages in request["stages"]:
            answer(pipe, {"stages": stages, "outcome": dataclasses.asdict(outcome)})
    try:
        run = trial.Attempt(entry, request["dtype"], directory)
        run.convert(pipeline)
        about.update(import_seconds=run.import_seconds, trace_seconds=run.trace_seconds)
        run.expect()
        for stages in request["stages"]:
            outcome = run.run(pipeline, stages)
            answer(pipe, {"stages": stages, "outcome": dataclasses.asdict(outcome)})
        if request["dtype"] == "float32":
            about["layers"] = pipeline.layers(directory)
    except trial.Failed as failed:
        all_stages(trial.outcome_of(failed))
    except trial.Invalid as invalid:
        all_stages(trial.Outcome("invalid", str(invalid)))
    except Exception:
        all_stages(trial.Outcome("crash", traceback.format_exc()[-3000:]))
    finally:
        if not request.get("keep"):
            shutil.rmtree(directory, ignore_errors=True)
    return {**about, "seconds": time.monotonic() - began}


def main():
    # Libraries print to standard output; answers use a separate pipe.
    pipe = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    if sys.argv[1:2] == ["--list"]:
        for library in sys.argv[2:]:
            entries = catalog.load(library).values()
            answer(pipe, [{**dataclasses.asdict(e), "make": None} for e in entries])
        return
    import jax
    from compiler import Compiler
    pipeline = Compiler()
    for number, line in enumerate(sys.stdin, 1):
        answer(pipe, {"done": attempt(json.loads(line), pipeline, pipe)})
        if number % CLEAR_AFTER == 0:
            jax.clear_caches()
    pipeline.close()


if __name__ == "__main__":
    main()
