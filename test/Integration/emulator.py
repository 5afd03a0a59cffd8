"""Helpers for tests that run GPU steps on the emulator (test/Cuda) instead of NVIDIA's libraries."""

import os
import shutil

import pytest

from workshop import BUILD

LIBRARY = BUILD / "unit/fixtures/cuda-emulator.so"
# Compiling an artifact for GPUs needs it.
PTXAS = shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas") or "CUDA_HOME" in os.environ
NEEDED = pytest.mark.skipif(not LIBRARY.exists() or not PTXAS, reason="there is no emulator, or no ptxas")


# With the PTX of what an H100 loads, not only the baseline PTX for newer devices.
TARGET = ("--target=cuda:sm_90a", "--ptx=all")


def emulated(**variables):
    """The environment of a process on the emulator; the variables of test/Cuda/README.md, in lower case."""
    return {**{f"STAGEWRIGHT_{name}_LIBRARY": str(LIBRARY) for name in ("CUDA", "CUBLASLT", "GRAPH", "NCCL")},
            **{f"STAGEWRIGHT_EMULATOR_{name.upper()}": str(value) for name, value in variables.items()}}
