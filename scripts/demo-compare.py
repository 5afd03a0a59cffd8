#!/usr/bin/env python3
"""What `./dev demo` reports about a run: the loss compared with JAX's, and the largest difference of a gradient.

usage: demo-compare.py MANIFEST.json GOLDEN.safetensors OUTPUTS.safetensors, with the Python of build/venv.
Exits with 1 if a result is outside the tolerance of test/Integration/golden.py."""

import json
import pathlib
import sys

from safetensors.numpy import load_file

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test/Integration"))
import golden  # noqa: E402


def main(manifest, golden_path, outputs_path):
    want, have = load_file(golden_path), load_file(outputs_path)
    roles = {str(r["position"]): r for r in json.loads(pathlib.Path(manifest).read_text())["results"]}
    table = golden.norms(want, have)
    for key, result in roles.items():
        if result["role"] == "loss":
            print(f"Loss       {float(have[key]):.7f}    JAX {float(want[key]):.7f}")
    relative = {key: d / g if g else d for key, (d, g) in table.items() if roles[key]["role"] == "gradient"}
    wrong = golden.disagreements(want, have)
    if relative:
        worst = max(relative, key=relative.get)
        print(f"Gradients  {len(relative)}, {'all equal JAX’s within tolerance' if not wrong else 'NOT all equal'}; "
              f"largest difference {relative[worst]:.1e} of the gradient's norm ({roles[worst]['name']})")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) == 4 else __doc__)
