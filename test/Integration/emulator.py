"""Steps for GPUs in tests: on the emulator (test/Cuda), in the place of NVIDIA's libraries."""

import os
import shutil

import pytest

from workshop import BUILD

LIBRARY = BUILD / "unit/fixtures/cuda-emulator.so"
# Artifacts for GPUs are compiled by it.
PTXAS = shutil.which("ptxas") or os.path.exists("/usr/local/cuda/bin/ptxas") or "CUDA_HOME" in os.environ
NEEDED = pytest.mark.skipif(not LIBRARY.exists() or not PTXAS, reason="there is no emulator, or no ptxas")


# What an H100 loads, not the baseline that is there for newer devices.
TARGET = ("--target=cuda:sm_90a", "--ptx=all")


def emulated(**variables):
    """What a process on it has in its environment; the variables are those of test/Cuda/README.md, in small letters."""
    return {**{f"STAGEWRIGHT_{name}_LIBRARY": str(LIBRARY) for name in ("CUDA", "CUBLASLT", "GRAPH", "NCCL")},
            **{f"STAGEWRIGHT_EMULATOR_{name.upper()}": str(value) for name, value in variables.items()}}
