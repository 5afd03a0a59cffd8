"""Converts DIRECTORY/NAME.stablehlo.mlir of each function in attributes.json; writes all to DIRECTORY/module.mlir.

Exit code 2: the model is unsupported.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo

from stagewright.errors import ImportFailure
from stagewright.frontend.to_linalg import after, before, functions
from stagewright.frontend.to_linalg.build import failed

PIPELINE = "builtin.module(inline,symbol-dce,stablehlo-legalize-to-linalg,canonicalize,cse)"


def _tool():
    return os.path.join(os.path.dirname(_stablehlo.__file__), "torch-mlir-opt")


def _print(module, path):
    with open(path, "w") as file:
        file.write(module.operation.get_asm(enable_debug_info=True))
        file.write("\n")


def packed(text):
    """The text with large i1 constants packed, eight to a byte, lowest bit first.

    The bindings' MLIR prints one byte per element; the compiler's MLIR reads bits.
    """
    def bits(match):
        digits, shape = match.groups()
        count = math.prod(map(int, shape.split("x")[:-1]))
        if len(digits) != 2 * count:
            return match.group(0)
        rest = bytes.fromhex(digits) + bytes(-count % 8)
        made = bytes(sum(rest[at + bit] << bit for bit in range(8)) for at in range(0, len(rest), 8))
        return f'dense<"0x{made.hex().upper()}"> : tensor<{shape}>'
    return re.sub(r'dense<"0x([0-9A-F]*)"> : tensor<((?:\d+x)+i1)>', bits, text)


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
        raise ImportFailure(failed(done.stderr, crashed=done.returncode < 0))
    with open(target) as file:
        module = ir.Module.parse(file.read())
    functions.write_functions(module)
    after.keep_hints(module)
    after.check(module)
    after.rewrite(module, name, attributes)
    return module


def convert(directory):
    with open(os.path.join(directory, "attributes.json")) as file:
        attributes = json.load(file)
    with ir.Context() as context:
        _stablehlo.register_dialect(context)
        context.allow_unregistered_dialects = True  # for pipeline.split_hint
        whole, *others = [lower(directory, name, about) for name, about in attributes.items()]
        for module in others:
            for function in module.body.operations:
                whole.body.append(function.operation.clone())
        whole.operation.verify()
        with open(os.path.join(directory, "module.mlir"), "w") as file:
            file.write(packed(whole.operation.get_asm(enable_debug_info=True)) + "\n")


if __name__ == "__main__":
    try:
        convert(sys.argv[1])
    except ImportFailure as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    except ir.MLIRError as error:
        print(failed(str(error)), file=sys.stderr)
        sys.exit(2)
