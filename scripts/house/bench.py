"""Set-up of the benchmarks; what they measure stands in bench/run.py."""

import subprocess
import sys

from . import setup
from .console import BUILD, ROOT, Failure, capture, say, stream

TORCH = BUILD / "venv-torch"


def options(parser):
    parser.add_argument("what", nargs="*", metavar="WHAT",
                        help="jax, torch, growth, predict, planners: which comparison (default: all, torch where it "
                             "is installed)")
    parser.add_argument("--torch", action="store_true",
                        help="install torch into build/venv-torch first (5.3 GB: its CPU part needs its GPU part)")
    parser.add_argument("--rounds", default="5", help="alternations of the two sides (default: 5)")


def _torch(install):
    python = TORCH / "bin" / "python"
    if install and not (TORCH / "bin" / "torchrun").exists():
        capture([sys.executable, "-m", "venv", TORCH])
        stream("Installing torch", [python, "-m", "pip", "install", "--disable-pip-version-check", "torch", "numpy"],
               lambda line: line if line.startswith(("Collecting", "Installing")) else None)
    return python if (TORCH / "bin" / "torchrun").exists() else None


def run(options):
    if unknown := set(options.what) - {"jax", "torch", "growth", "predict", "planners"}:
        raise Failure(f"no such comparison: {' '.join(sorted(unknown))}; there are jax, torch, growth, predict and "
                      "planners")
    setup.everything()
    python = _torch(options.torch or "torch" in options.what)
    if not python:
        say("torch is not installed, its comparison is left out; ./dev bench --torch installs it (5.3 GB)")
    return subprocess.run([setup.PYTHON, ROOT / "bench/run.py", "--build", setup.tree("release"), "--python",
                           setup.PYTHON, "--rounds", options.rounds, *(["--torch", python] if python else []),
                           *options.what]).returncode
