"""pipeline-form-graph on random steps: any data flow and any scopes give layers that the verifier accepts."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", pathlib.Path(__file__).parents[2] / "build"))
TYPE = "tensor<4x4xf32>"
STEPS = 60


def operation(rng, name, values):
    """One operation on two of `values`: expensive, cheap, or with a number read from one of them."""
    a, b = (values[i] for i in rng.integers(len(values), size=2))
    kind = rng.integers(6)
    if kind == 0:
        return [f"{name} = linalg.matmul ins({a}, {b} : {TYPE}, {TYPE}) outs(%z : {TYPE}) -> {TYPE}"]
    if kind == 1:
        return [f"{name}s = tensor.extract {a}[%c1, %c1] : {TYPE}", f"{name}t = arith.mulf {name}s, {name}s : f32",
                f"{name}u = tensor.splat {name}t : {TYPE}", f"{name} = arith.addf {name}u, {b} : {TYPE}"]
    if kind == 2:
        return [f"{name} = math.tanh {a} : {TYPE}"]
    return [f"{name} = arith.{('addf', 'mulf', 'subf')[kind - 3]} {a}, {b} : {TYPE}"]


def location(rng, scopes, wrapper):
    """A location, mostly with a scope of any depth, in any order."""
    if not scopes or rng.random() < 0.2:
        return 'loc("jit(step)/add")'
    path = "/".join(scopes[rng.integers(len(scopes))] for _ in range(rng.integers(1, 4)))
    return f'loc("jit(step)/{wrapper}/{path}/add")'


def step(rng):
    """A step with a random forward, and a random backward that reads any of its values."""
    parameters, lines = int(rng.integers(1, 5)), []
    scopes = [["a", "b", "h0", "h1", "h2", "block_0", "block_1", "0", "1"][i] for i in rng.integers(9, size=rng.integers(0, 7))]
    forward = [f"%p{i}" for i in range(parameters)] + ["%x"]
    for i in range(int(rng.integers(2, 25))):
        made = operation(rng, f"%f{i}", forward[-6:] if rng.random() < 0.7 else forward)
        lines += [f"{line} {location(rng, scopes, 'jvp()')}" for line in made]
        forward.append(f"%f{i}")
    loss, values = forward[-1], list(forward)
    for i in range(int(rng.integers(parameters, 25))):
        made = operation(rng, f"%g{i}", values[-6:] if rng.random() < 0.7 else values)
        lines += [f"{line} {location(rng, scopes, 'transpose(jvp())')}" for line in made]
        values.append(f"%g{i}")
    gradients = [values[i] for i in rng.integers(len(forward), len(values), parameters)]
    arguments = ", ".join(f'%p{i}: {TYPE} {{pipeline.role = "parameter"}}' for i in range(parameters))
    results = "".join(f', {TYPE} {{pipeline.role = "gradient", pipeline.of = {i} : i64}}' for i in range(parameters))
    body = "\n  ".join(lines)
    return f"""func.func @step({arguments}, %x: {TYPE} {{pipeline.role = "batch"}})
    -> (tensor<f32> {{pipeline.role = "loss"}}{results}) {{
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {TYPE}
  %z = linalg.fill ins(%zero : f32) outs(%e : {TYPE}) -> {TYPE}
  {body}
  %loss = tensor.extract_slice {loss}[0, 0] [1, 1] [1, 1] : {TYPE} to tensor<f32>
  return {", ".join(["%loss", *gradients])} : {", ".join(["tensor<f32>", *[TYPE] * parameters])}
}}
"""


@pytest.mark.parametrize("layers", ["auto", "flow", "1", "2", "h*/*"])
@pytest.mark.parametrize("seed", [1, 2])
def test_layers_of_any_step(seed, layers, tmp_path):
    rng = np.random.default_rng(seed)
    path = tmp_path / "steps.mlir"
    path.write_text("// -----\n".join(step(rng) for _ in range(STEPS)))
    done = subprocess.run([BUILD / "bin/pp-opt", f"--pipeline-form-graph=layers={layers}", "--pipeline-inline-graph",
                           "--split-input-file", path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("func.func @step") == STEPS
