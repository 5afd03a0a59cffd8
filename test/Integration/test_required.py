"""Tests of GPU code are skipped, with the reason, where there is no ptxas, no emulator or no cuDNN, and fail if .ci/run requires
them."""

import os
import subprocess
import sys

import pytest

from workshop import HERE

# A plug-in of pytest for which a file or shared library does not exist.
HIDING = """import ctypes, pathlib
exists, load = pathlib.Path.exists, ctypes.CDLL.__init__
def load_others(library, name, *more, **named):
    if name == "{0}":
        raise OSError(name)
    load(library, name, *more, **named)
pathlib.Path.exists = lambda path, **more: path.name != "{0}" and exists(path, **more)
ctypes.CDLL.__init__ = load_others
"""
START, PLANS = "test_device_start.py", "test_library_plans.py::test_convolutions_have_plans"


@pytest.mark.parametrize("required", (False, True))
@pytest.mark.parametrize("file, missing, tests", [
    ("ptxas", "no ptxas of the CUDA toolkit at", START), ("cuda-emulator.so", "no emulator at", START),
    ("libstagewright-cudnn.so", "no plug-in for cuDNN at", PLANS), ("libcudnn.so.9", "no libcudnn.so.9", PLANS)])
def test_tests_without_their_tools(tmp_path, file, missing, tests, required):
    (tmp_path / "hiding.py").write_text(HIDING.format(file))
    environment = {**os.environ, "STAGEWRIGHT_GPU_TESTS": "required" if required else "",
                   "PYTHONPATH": os.pathsep.join([str(tmp_path), str(HERE.parent)])}
    done = subprocess.run([sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "-p", "hiding", HERE / tests],
                          capture_output=True, text=True, env=environment)
    if required:
        assert done.returncode != 0 and f"required (STAGEWRIGHT_GPU_TESTS), but there is {missing}" in done.stdout, done.stdout
    else:
        assert done.returncode == 0 and "passed" not in done.stdout and f"there is {missing}" in done.stdout, done.stdout
