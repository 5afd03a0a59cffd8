"""The peers' own Python environments under build/, created when a benchmark first needs them; the tests need none."""

import subprocess
import sys

from devtool.console import BUILD, capture, stream

IREE = ("venv-iree", ["iree-base-compiler==3.13.0", "iree-base-runtime==3.13.0", "numpy"], "import iree.compiler")
TORCH = ("venv-torch", ["torch==2.15.0", "numpy"], "import torch.distributed.pipelining")


def python(environment):
    """The interpreter of an environment with all its packages installed."""
    name, packages, probe = environment
    interpreter = BUILD / name / "bin" / "python"
    if interpreter.exists() and subprocess.run([interpreter, "-c", probe], capture_output=True).returncode == 0:
        return interpreter
    capture([sys.executable, "-m", "venv", BUILD / name])
    stream(f"Installing {packages[0]} into build/{name}",
           [interpreter, "-m", "pip", "install", "--disable-pip-version-check", *packages],
           lambda line: line if line.startswith(("Collecting", "Installing")) else None)
    return interpreter
