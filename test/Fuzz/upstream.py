"""Runs an imported module by upstream's passes alone, to tell a fault of the importer from one of the compiler."""

import json
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Python"))
from native import compile_module  # noqa: E402


def run_module(directory, inputs, count):
    """The results by position of `count` microbatches, combined as the module's attributes say."""
    about = json.loads((directory / "attributes.json").read_text())["step"]
    step, parts = compile_module(directory / "module.mlir", str(directory)), []
    for m in range(count):
        values = []
        for number, argument in enumerate(about["arguments"]):
            if argument["role"] == "microbatch":
                values.append(np.int32(m))
            else:
                array = inputs[str(number)]
                values.append(array[m] if argument["role"] in ("batch", None) else array)
        parts.append(step(values))
    combined = []
    for position, result in enumerate(about["results"]):
        values, rule = [part[position] for part in parts], result["combine"] or "concat"
        if rule == "concat":
            combined.append(np.concatenate(values, result["batch_dim"] or 0))
        elif rule == "last":
            combined.append(values[-1])
        else:
            combined.append((sum(values) / (count if rule == "mean" else 1)).astype(values[0].dtype))
    return combined
