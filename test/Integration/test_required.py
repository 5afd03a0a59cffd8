"""Tests of GPU code are skipped, with the reason, where there is no ptxas or no emulator, and fail if .ci/run requires them."""

import os
import subprocess
import sys

import pytest

from workshop import HERE

# A plug-in of pytest for which a file does not exist.
HIDING = """import pathlib
exists = pathlib.Path.exists
pathlib.Path.exists = lambda path, **more: path.name != "{}" and exists(path, **more)
"""


@pytest.mark.parametrize("required", (False, True))
@pytest.mark.parametrize("file, missing", [("ptxas", "no ptxas of the CUDA toolkit at"), ("cuda-emulator.so", "no emulator at")])
def test_tests_without_their_tools(tmp_path, file, missing, required):
    (tmp_path / "hiding.py").write_text(HIDING.format(file))
    environment = {**os.environ, "STAGEWRIGHT_GPU_TESTS": "required" if required else "",
                   "PYTHONPATH": os.pathsep.join([str(tmp_path), str(HERE.parent)])}
    done = subprocess.run([sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "-p", "hiding",
                           HERE / "test_device_start.py"], capture_output=True, text=True, env=environment)
    if required:
        assert done.returncode != 0 and f"required (STAGEWRIGHT_GPU_TESTS), but there is {missing}" in done.stdout, done.stdout
    else:
        assert done.returncode == 0 and "passed" not in done.stdout and f"there is {missing}" in done.stdout, done.stdout
