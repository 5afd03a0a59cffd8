"""StableHLO text -> a linalg module with the role attributes of the Pipeline dialect, in other processes.

JAX and torch-mlir each contain a copy of MLIR; separate processes that exchange files prevent conflicts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from stagewright.errors import ImportFailure


def to_linalg(functions: dict) -> str:
    """The text of one module with all functions, given by name as (StableHLO, attributes); @step is first. Raises ImportFailure
    with the name, place and scope of an operation that cannot be converted."""
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([package, *filter(None, [environment.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory(prefix="stagewright-") as directory:
        for name, (text, _) in functions.items():
            with open(os.path.join(directory, f"{name}.stablehlo.mlir"), "w") as file:
                file.write(text)
        with open(os.path.join(directory, "attributes.json"), "w") as file:
            json.dump({name: attributes for name, (_, attributes) in functions.items()}, file)
        done = subprocess.run([sys.executable, "-m", "stagewright.frontend.to_linalg", directory],
                              env=environment, capture_output=True, text=True)
        if done.returncode == 2:
            raise ImportFailure(done.stderr.strip())
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
            raise ImportFailure(f"the conversion to linalg failed: {last}; import the step in parts to find the operation")
        with open(os.path.join(directory, "module.mlir")) as file:
            return file.read()
