"""Runs an imported module on the CPU with upstream passes only: the reference for tests of conversions.

It does not use Stagewright's compiler, and it is slow: plain loops, no library, no fusion.
"""

import ctypes
import os
import re
import shutil
import subprocess

import ml_dtypes
import numpy as np

PASSES = ",".join([
    "convert-elementwise-to-linalg", "one-shot-bufferize{bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map allow-return-allocs-from-loops=true}", "canonicalize", "cse",
    "buffer-results-to-out-params{modify-public-functions=true}", "func.func(convert-linalg-to-loops)", "canonicalize",
    "cse", "expand-strided-metadata", "lower-affine", "convert-scf-to-cf",
    "arith-expand{include-bf16=true}", "convert-math-to-llvm", "convert-math-to-libm",
    "finalize-memref-to-llvm", "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}", "convert-arith-to-llvm",
    "convert-cf-to-llvm", "convert-ub-to-llvm", "reconcile-unrealized-casts"])
TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_,
         "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64}


def tool(name):
    directory = os.environ.get("STAGEWRIGHT_LLVM_BIN", "")
    for candidate in ([os.path.join(directory, name)] if directory else []) + [name + "-22", name]:
        if path := shutil.which(candidate):
            return path
    raise FileNotFoundError(f"'{name}' of LLVM 22 is needed; set STAGEWRIGHT_LLVM_BIN to its folder")


def _run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[-4000:]}"
    return done.stdout


def types_of(text):
    """Argument and result types of @step, as (shape, dtype) pairs."""
    line = next(line for line in text.splitlines() if "func.func @step(" in line)
    line = re.sub(r'"[^"]*"', '""', line)
    arguments, results = re.split(r"\)\s*->\s*", line, maxsplit=1)

    def parse(part):
        shapes = [t.split("x") for t in re.findall(r"tensor<([^>]*)>", part)]
        return [(tuple(map(int, s[:-1])), TYPES[s[-1]]) for s in shapes]
    return parse(arguments), parse(results)


def compile_module(path, directory):
    """A function from a list of numpy arrays to a list of numpy arrays."""
    with open(path) as file:
        arguments, results = types_of(file.read())
    lowered, llvm, library = (os.path.join(directory, n) for n in ("low.mlir", "low.ll", "step.so"))
    _run(tool("mlir-opt"), f"--pass-pipeline=builtin.module({PASSES})", str(path), "-o", lowered)
    _run(tool("mlir-translate"), "--mlir-to-llvmir", lowered, "-o", llvm)
    libraries = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(tool("mlir-opt")))), "lib")
    _run(tool("clang"), "-O0", "-shared", "-fPIC", "-Wno-override-module", llvm, "-lm", f"-L{libraries}",
         f"-Wl,-rpath,{libraries}", "-lmlir_c_runner_utils", "-o", library)
    step = ctypes.CDLL(library).step

    def call(inputs):
        inputs = [np.array(a, order="C") for a in inputs]
        assert len(inputs) == len(arguments), f"{len(arguments)} arguments are needed, got {len(inputs)}"
        for number, (array, (shape, dtype)) in enumerate(zip(inputs, arguments)):
            assert array.shape == shape and array.dtype == dtype, (number, array.shape, array.dtype, shape, dtype)
        outputs = [np.zeros(shape, dtype) for shape, dtype in results]
        step(*(ctypes.c_void_p(a.ctypes.data) for a in (*inputs, *outputs)))
        return outputs
    return call
