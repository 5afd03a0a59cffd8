"""Tests of PyTorch's models need torch, torchax and transformers, which the ordinary environment has not: `./dev test
torch` makes one that has. Elsewhere nothing here is collected."""

import importlib.util
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", ROOT / "build"))

if any(importlib.util.find_spec(name) is None for name in ("torch", "torchax", "transformers")):
    collect_ignore_glob = ["*"]
else:
    os.environ["XDG_CACHE_HOME"] = str(BUILD / "cache")  # what the compiler keeps between compiles
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    sys.path[:0] = [str(BUILD / "python"), str(ROOT / "python"), str(HERE)]
