"""DIRECTORY/NAME.stablehlo.mlir for each function of attributes.json -> DIRECTORY/module.mlir, which has them all.

Exit code 2: the model is the reason.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo

from stagewright.errors import ImportFailure
from stagewright.frontend.to_linalg import after, before, functions

PIPELINE = "builtin.module(inline,symbol-dce,stablehlo-legalize-to-linalg,canonicalize,cse)"


def _tool():
    return os.path.join(os.path.dirname(_stablehlo.__file__), "torch-mlir-opt")


def _print(module, path):
    with open(path, "w") as file:
        file.write(module.operation.get_asm(enable_debug_info=True))
        file.write("\n")


def lower(directory, name, attributes):
    """The module of one function, annotated."""
    source, middle, target = (os.path.join(directory, f"{name}.{n}.mlir") for n in ("stablehlo", "rest", "linalg"))
    with open(source) as file:
        text = before.readable(file.read())
    module = ir.Module.parse(text)
    before.rewrite(module)
    _print(module, middle)
    done = subprocess.run([_tool(), "--mlir-print-debuginfo", f"--pass-pipeline={PIPELINE}", middle, "-o", target],
                          capture_output=True, text=True)
    if done.returncode:
        raise ImportFailure(f"torch-mlir-opt failed: {done.stderr.strip()[-2000:]}")
    with open(target) as file:
        module = ir.Module.parse(file.read())
    functions.write_functions(module)
    after.check(module)
    after.rewrite(module, name, attributes)
    return module


def convert(directory):
    with open(os.path.join(directory, "attributes.json")) as file:
        attributes = json.load(file)
    with ir.Context() as context:
        _stablehlo.register_dialect(context)
        whole, *others = [lower(directory, name, about) for name, about in attributes.items()]
        for module in others:
            for function in module.body.operations:
                whole.body.append(function.operation.clone())
        whole.operation.verify()
        _print(whole, os.path.join(directory, "module.mlir"))


if __name__ == "__main__":
    try:
        convert(sys.argv[1])
    except ImportFailure as error:
        print(error, file=sys.stderr)
        sys.exit(2)
