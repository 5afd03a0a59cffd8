"""16-bit floats as compiled code computes them, on processors with and without instructions for them, compared with numpy."""

import os

import ml_dtypes
import numpy as np
import pytest
from workshop import tool

if os.environ.get("STAGEWRIGHT_PYTHON") == "OFF":
    pytest.skip("the binding was not asked for (STAGEWRIGHT_PYTHON=OFF)", allow_module_level=True)
import stagewright  # noqa: E402

SIZE, MICROBATCHES = 4096, 4
TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i32": np.int32}
# Types of the operands, operation, type of the result.
CASES = [(["f32"], "arith.truncf", "bf16"), (["f64"], "arith.truncf", "bf16"), (["f64"], "arith.truncf", "f16"),
         (["f32"], "arith.truncf", "f16"), (["bf16"], "arith.extf", "f32"), (["f16"], "arith.extf", "f64"),
         (["i32"], "arith.sitofp", "bf16"), (["bf16", "bf16"], "arith.addf", "bf16"),
         (["bf16", "bf16"], "arith.mulf", "bf16"), (["bf16", "bf16"], "arith.divf", "bf16"),
         (["bf16"], "math.sqrt", "bf16"), (["f16", "f16"], "arith.mulf", "f16"), (["f16"], "math.sqrt", "f16")]
NUMPY = {"arith.addf": np.add, "arith.mulf": np.multiply, "arith.divf": np.divide, "math.sqrt": np.sqrt}


def module():
    def tensor(kind):
        return f"tensor<{SIZE}x{kind}>"

    names = sorted({f"{kind}_{i}" for operands, _, _ in CASES for i, kind in enumerate(operands)})
    arguments = ", ".join(f'%{name}: {tensor(name[:-2])} {{pipeline.role = "batch"}}' for name in names)
    results = ", ".join(f'{tensor(kind)} {{pipeline.role = "output"}}' for _, _, kind in CASES)
    lines = []
    for number, (operands, operation, kind) in enumerate(CASES):
        values = ", ".join(f"%{operand}_{i}" for i, operand in enumerate(operands))
        types = tensor(kind) if len(operands) > 1 or operation == "math.sqrt" else f"{tensor(operands[0])} to {tensor(kind)}"
        lines.append(f"  %{number} = {operation} {values} : {types}\n")
    return names, (f"func.func @step({arguments}) -> ({results}) {{\n{''.join(lines)}"
                   f"  return {', '.join(f'%{i}' for i in range(len(CASES)))} : "
                   f"{', '.join(tensor(kind) for _, _, kind in CASES)}\n}}\n")


def values(name, rng):
    """Random bits: every exponent, subnormal numbers, infinities, NaN; in float64 also values near ties of 16-bit rounding."""
    kind, shape = TYPES[name[:-2]], (MICROBATCHES, SIZE)
    if kind is np.int32:
        return rng.integers(-2 ** 24, 2 ** 24, shape, np.int32)
    bits = np.frombuffer(rng.bytes(MICROBATCHES * SIZE * np.dtype(kind).itemsize), kind).reshape(shape).copy()
    if kind is np.float64:  # within the range of float32 and of the 16-bit types
        bits[1:] = np.ldexp(rng.uniform(-2, 2, (MICROBATCHES - 1, SIZE)), rng.integers(-150, 130, (MICROBATCHES - 1, SIZE)))
        halves = rng.integers(0, 2 ** 9, SIZE) * 2 + 1
        bits[1] = np.ldexp(halves / 512.0 + rng.choice([0, 2.0 ** -40, -2.0 ** -40], SIZE), rng.integers(-20, 16, SIZE))
        bits[2] = np.ldexp(rng.integers(2 ** 10, 2 ** 12, SIZE) + rng.choice([0, 2.0 ** -30, -2.0 ** -30], SIZE),
                           rng.integers(-36, 5, SIZE))
    return bits


def expected(operands, operation, kind):
    to = TYPES[kind]
    if operation not in NUMPY:
        (x,) = operands
        if x.dtype == np.float64 and to is ml_dtypes.bfloat16:  # ml_dtypes converts through float32, which rounds twice
            return round_to_bfloat(x)
        return x.astype(to)
    wide = [x.astype(np.float64) for x in operands]  # exact, or rounded too finely to matter
    exact = NUMPY[operation](*wide)
    return round_to_bfloat(exact) if to is ml_dtypes.bfloat16 else exact.astype(to)


def round_to_bfloat(x):
    """By definition: the nearest multiple of the last place, ties to even."""
    exponent = np.clip(np.frexp(x)[1], -125, None)
    finite = np.isfinite(x)
    rounded = np.where(finite, np.ldexp(np.rint(np.ldexp(np.where(finite, x, 0), 8 - exponent)), exponent - 8), x)
    return np.where(np.abs(rounded) >= 2.0 ** 128, np.copysign(np.inf, rounded), rounded).astype(np.float32).astype(
        ml_dtypes.bfloat16)


@pytest.mark.parametrize("cpu", ["native", "x86-64-v3", "x86-64-v3,sapphirerapids"])  # of a list, the best
def test_every_processor_rounds_to_16_bits_alike(cpu, tmp_path):
    names, text = module()
    (tmp_path / "narrow.mlir").write_text(text)
    tool("pp-compile", tmp_path / "narrow.mlir", "--cluster=local:1", f"--microbatches={MICROBATCHES}",
         f"--target-cpu={cpu}", "-o", tmp_path / "narrow.swx")
    step = stagewright.load(tmp_path / "narrow.swx")  # fails if a symbol is missing
    rng = np.random.default_rng(7)
    inputs = {name: values(name, rng) for name in names}
    results = step.run([inputs[name] for name in names])
    with np.errstate(all="ignore"):
        for (operands, operation, kind), got in zip(CASES, results, strict=True):
            want = expected([inputs[f"{operand}_{i}"] for i, operand in enumerate(operands)], operation, kind)
            got = got.reshape(want.shape).astype(np.float64)
            np.testing.assert_array_equal(got, want.astype(np.float64), err_msg=f"{operation} {operands} to {kind}")


FILL = f"""
#map = affine_map<(d0) -> (d0)>
func.func @step(%x: tensor<{SIZE}xbf16> {{pipeline.role = "batch"}}, %at: tensor<{SIZE}xi32> {{pipeline.role = "batch"}})
    -> (tensor<{SIZE}xbf16> {{pipeline.role = "output"}}) {{
  %one = arith.constant 1.0 : bf16
  %size = arith.constant {SIZE} : i32
  %none = tensor.empty() : tensor<{SIZE}xbf16>
  %found = linalg.generic {{indexing_maps = [#map, #map], iterator_types = ["parallel"]}}
      ins(%at : tensor<{SIZE}xi32>) outs(%none : tensor<{SIZE}xbf16>) {{
  ^bb0(%n: i32, %o: bf16):
    %inside = arith.cmpi ult, %n, %size : i32
    %i = arith.index_cast %n : i32 to index
    %value = scf.if %inside -> bf16 {{
      %read = tensor.extract %x[%i] : tensor<{SIZE}xbf16>
      scf.yield %read : bf16
    }} else {{
      scf.yield %one : bf16
    }}
    linalg.yield %value : bf16
  }} -> tensor<{SIZE}xbf16>
  return %found : tensor<{SIZE}xbf16>
}}
"""


@pytest.mark.parametrize("cpu", ["native", "x86-64-v3"])
def test_numbers_move_between_blocks(cpu, tmp_path):
    (tmp_path / "fill.mlir").write_text(FILL)
    tool("pp-compile", tmp_path / "fill.mlir", "--cluster=local:1", f"--microbatches={MICROBATCHES}", f"--target-cpu={cpu}",
         "-o", tmp_path / "fill.swx")
    rng = np.random.default_rng(11)
    x = rng.standard_normal((MICROBATCHES, SIZE)).astype(ml_dtypes.bfloat16)
    at = rng.integers(-8, SIZE + 8, (MICROBATCHES, SIZE), np.int32)
    (got,) = stagewright.load(tmp_path / "fill.swx").run([x, at])
    inside = (at >= 0) & (at < SIZE)
    want = np.where(inside, np.take_along_axis(x, np.clip(at, 0, SIZE - 1), 1), np.float32(1).astype(x.dtype))
    np.testing.assert_array_equal(got.reshape(want.shape).view(np.int16), want.view(np.int16))
