"""The tests of PyTorch models and of exported models need packages that the ordinary environment lacks; `./dev test torch`
makes an environment with them. If a package is missing, nothing in its folder is collected."""

import importlib.util
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", ROOT / "build"))
NEEDS = {"pytorch": ("torch", "torchax", "transformers"),
         "onnx": ("torch", "transformers", "onnx", "onnxscript", "onnxruntime")}

collect_ignore_glob = []
for folder, packages in NEEDS.items():
    if any(importlib.util.find_spec(name) is None for name in packages):
        collect_ignore_glob.append(f"{folder}/*")
        continue
    os.environ["XDG_CACHE_HOME"] = str(BUILD / "cache")  # the compiler's cache
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    sys.path[:0] = [str(BUILD / "python"), str(ROOT / "python"), str(HERE / folder)]
