#!/usr/bin/env python3
"""JAX's part of `./dev demo`, run by the Python of build/venv.

usage: demo-golden.py make FILE.py:NAME MICROBATCHES DIRECTORY    writes inputs, JAX's results and their tolerances
       demo-golden.py compare DIRECTORY                           compares outputs.safetensors with them"""

import json
import pathlib
import sys

import numpy as np
from safetensors.numpy import load_file, save_file


def make(model, count, place):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "test/Integration"))
    import golden
    inputs, results, signature = golden.accumulate(model, int(count))
    save_file(inputs, place / "inputs.safetensors")
    save_file({str(i): np.ascontiguousarray(r) for i, r in results.items()}, place / "jax.safetensors")
    allowed = [row[3] for row in golden.differences(signature, results, results)]
    (place / "results.json").write_text(json.dumps(
        [dict(name=r.name, role=r.role, allowed=a) for r, a in zip(signature.results, allowed)]))


def compare(place):
    """Prints the loss and the largest gradient difference; exits with 1 when one is larger than allowed."""
    want, have = load_file(place / "jax.safetensors"), load_file(place / "outputs.safetensors")
    bad, worst, gradients = [], (-1.0, "", 0.0), 0
    for i, result in enumerate(json.loads((place / "results.json").read_text())):
        difference = want[str(i)].astype(np.float64) - have[str(i)]
        size, norm = np.linalg.norm(difference), np.linalg.norm(want[str(i)])
        if not size <= result["allowed"]:
            bad.append(f"{result['name']}: difference {size:.3e}, allowed {result['allowed']:.3e}")
        if result["role"] == "loss":
            print(f"Loss       {float(have[str(i)]):.7f}    JAX {float(want[str(i)]):.7f}")
        if result["role"] == "gradient":
            gradients += 1
            worst = max(worst, (float(size / result["allowed"]), result["name"], float(size / max(norm, 1e-30))))
    print(f"Gradients  {gradients - len(bad)} of {gradients} equal JAX's; largest difference {worst[2]:.1e} of the "
          f"gradient's norm, {worst[0]:.0%} of what is allowed ({worst[1]})")
    if bad:
        print("\n".join(bad))
        sys.exit(1)


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4]))
    elif len(sys.argv) == 3 and sys.argv[1] == "compare":
        compare(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(__doc__)
