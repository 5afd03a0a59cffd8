"""host-make-loops on random operations, compared with upstream's scalar loops of the same operations."""

import ctypes
import os
import pathlib
import subprocess

import numpy as np
import pytest
from native import tool
from random_loops import make

BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", pathlib.Path(__file__).parents[2] / "build"))
CASES = 80
FINISH = "canonicalize,cse,expand-strided-metadata,lower-affine"
UPSTREAM = ",".join(["builtin.module(func.func(convert-linalg-to-loops)", FINISH, "convert-scf-to-cf",
                     "arith-expand{include-bf16=true}", "convert-math-to-llvm", "finalize-memref-to-llvm",
                     "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}", "convert-arith-to-llvm",
                     "convert-cf-to-llvm", "reconcile-unrealized-casts)"])
# LLVM calls this if the processor cannot round to bfloat16; older systems lack it.
ROUND = """
float __truncsfbf2(float value) { // the result is in the low half
  unsigned bits;
  __builtin_memcpy(&bits, &value, 4);
  bits = value != value ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}
"""
TOLERANCE = {"f32": 1e-4, "f64": 1e-12, "f16": 2e-3, "bf16": 1.6e-2}


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stderr[-4000:]}"


def library(text, passes, opt, directory, name, cpu):
    path = directory / f"{name}.mlir"
    path.write_text(text)
    run(opt, f"--pass-pipeline={passes}", path, "-o", directory / f"{name}.low.mlir")
    run(tool("mlir-translate"), "--mlir-to-llvmir", directory / f"{name}.low.mlir", "-o", directory / f"{name}.ll")
    (directory / "round.c").write_text(ROUND)
    run(tool("clang"), "-O2", f"-march={cpu}", "-ffp-contract=off", "-shared", "-fPIC", "-Wno-override-module",
        directory / f"{name}.ll", directory / "round.c", "-o", directory / f"{name}.so", "-lm")
    return ctypes.CDLL(str(directory / f"{name}.so"))


def call(loaded, case):
    arrays = [b.array.copy() for b in case.buffers]
    loaded[case.name](*(ctypes.c_void_p(a.ctypes.data) for a in arrays))
    return arrays


@pytest.mark.parametrize("bits, cpu", [(512, "native"), (256, "x86-64-v3"), (128, "x86-64")])
@pytest.mark.parametrize("seed", [1, 2])
def test_random_operations(seed, bits, cpu, tmp_path):
    rng = np.random.default_rng(seed)
    cases = [make(rng, f"f{i}") for i in range(CASES)]
    text = "module {\n" + "\n".join(case.text for case in cases) + "\n}\n"
    ours = library(text, f"builtin.module(func.func(host-make-loops{{vector-bits={bits}}}),{FINISH},"
                   "func.func(host-narrow-floats),convert-host-to-llvm)", BUILD / "bin/pp-opt", tmp_path, "ours", cpu)
    theirs = library(text, UPSTREAM, tool("mlir-opt"), tmp_path, "theirs", "x86-64-v3")
    for case in cases:
        for got, want, buffer in zip(call(ours, case), call(theirs, case), case.buffers, strict=True):
            if case.exact or buffer.type not in TOLERANCE:
                np.testing.assert_array_equal(got, want, err_msg=case.text)
                continue
            tolerance = TOLERANCE[buffer.type]
            got, want = got.astype(np.float64), want.astype(np.float64)
            scale = max(1.0, np.abs(want).max(initial=0))
            np.testing.assert_allclose(got, want, tolerance, tolerance * scale, err_msg=case.text)
