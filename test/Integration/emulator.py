"""Helpers for tests that run GPU steps on the emulator (test/Cuda) instead of NVIDIA's libraries."""

import json
import os
import pathlib
import shutil

import pytest

from workshop import BUILD, tool

LIBRARY = BUILD / "unit/fixtures/cuda-emulator.so"
# Compiling an artifact for GPUs needs it; pp-compile searches the same folders.
_NVCC = shutil.which("nvcc")
_PLACES = [pathlib.Path(home) / "bin/ptxas"
           for home in (os.environ.get("CUDA_HOME"), _NVCC and pathlib.Path(_NVCC).parents[1], "/usr/local/cuda") if home]
PTXAS = next((path for path in _PLACES if path.exists()), _PLACES[-1])
MISSING = [f"no {name} at '{path}'" for name, path in (("emulator", LIBRARY), ("ptxas of the CUDA toolkit", PTXAS))
           if not path.exists()]
# Set by .ci/run: a change must not land if these tests have not run.
REQUIRED = os.environ.get("STAGEWRIGHT_GPU_TESTS") == "required"
if MISSING and REQUIRED:
    raise RuntimeError(f"tests of GPU code are required (STAGEWRIGHT_GPU_TESTS), but there is {' and '.join(MISSING)}")
NEEDED = pytest.mark.skipif(bool(MISSING), reason=f"there is {' and '.join(MISSING)}")


# The artifact also has the PTX that an H100 loads, not only the baseline PTX for newer devices.
TARGET = ("--target=cuda:sm_90a", "--ptx=all")


def emulated(**variables):
    """The environment of a process on the emulator; the variables of test/Cuda/README.md, in lower case."""
    return {**{f"STAGEWRIGHT_{name}_LIBRARY": str(LIBRARY) for name in ("CUDA", "CUBLASLT", "GRAPH", "NCCL")},
            **{f"STAGEWRIGHT_EMULATOR_{name.upper()}": str(value) for name, value in variables.items()}}


# Columns of the emulator's counters, after the kernel's name; those of accesses are requests, sectors of 32 bytes, bytes.
COLUMNS = ("launches", "blocks", "instructions", "barriers", "loads", "loaded_sectors", "loaded_bytes", "stores", "stored_sectors",
           "stored_bytes", "shared_requests", "waves")


def counted(artifact, path, microbatches=2, env=None):
    """A step's kernels: what the manifest has (form, grid, block, read, written) with the emulator's counters of one step."""
    tool("pp-run", artifact, "--init=7", f"--microbatches={microbatches}", env={**emulated(counters=path), **(env or {})})
    _, *rows = [line.split() for line in path.read_text().splitlines()]
    counters = {name: dict(zip(COLUMNS, map(int, numbers), strict=True)) for name, *numbers in rows}
    kernels = {kernel["name"]: kernel for kernel in json.loads(tool("pp-run", artifact, "--info=json"))["kernels"]}
    return [{**kernels[name], **counters[name]} for name in counters]
