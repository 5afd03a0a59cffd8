"""Elementary functions as compiled code computes them, beside double precision.

Every 1009th of all 2^32 float32 values and everything near where an expansion changes its form; STAGEWRIGHT_EFFORT=1
visits every value (minutes). Errors are in units in the last place (ulp) of the exact result: a correctly rounded
result has at most 0.5, the bound of every function here is 2.
"""

import os

import numpy as np
import pytest
from scipy import special
from workshop import tool

if os.environ.get("STAGEWRIGHT_PYTHON") == "OFF":
    pytest.skip("the binding was not asked for (STAGEWRIGHT_PYTHON=OFF)", allow_module_level=True)
import stagewright  # noqa: E402

BOUND = 2
FUNCTIONS = {"exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "tanh": np.tanh,
             "erf": special.erf}
EVERY = 1 if os.environ.get("STAGEWRIGHT_EFFORT") else 1009
# Ends of ranges, thresholds, over- and underflow, poles.
BORDERS = [0, 2.0 ** -126, 2.0 ** -64, 2.0 ** -24, 0.5 ** 0.5, 13 / 16, 1, 2 ** 0.5, 3.84, 4, 9.02, 9.5, 18, 2.0 ** 24,
           87.33655, 88.72284, 103.97208, 126, 128, 149, 150, 2.0 ** 127, np.inf]
COLUMNS, MICROBATCHES = 65536, 64


def module(names):
    """A step that computes every function of one vector."""
    kind = f"tensor<{COLUMNS}xf32>"
    results = ", ".join([f'{kind} {{pipeline.role = "output"}}'] * len(names))
    body = "".join(f"  %{name} = math.{name} %x : {kind}\n" for name in names)
    return (f'func.func @step(%x: {kind} {{pipeline.role = "batch"}}) -> ({results}) {{\n{body}'
            f"  return {', '.join('%' + name for name in names)} : {', '.join([kind] * len(names))}\n}}\n")


def inputs():
    """Blocks of values, each once."""
    size = COLUMNS * MICROBATCHES
    for first in range(0, 2 ** 32, size * EVERY):
        bits = np.arange(first, min(first + size * EVERY, 2 ** 32), EVERY, dtype=np.uint64).astype(np.uint32)
        yield np.resize(bits.view(np.float32), (MICROBATCHES, COLUMNS))
    around = np.arange(-4096, 4096)
    bits = (np.array(BORDERS, np.float32).view(np.int32).astype(np.int64)[:, None] + around).ravel().astype(np.uint32)
    yield np.resize(np.concatenate([bits, bits ^ np.uint32(2 ** 31)]).view(np.float32), (MICROBATCHES, COLUMNS))


def errors(got, exact):
    """In ulp of `exact`, infinite where kinds differ: NaN and number, infinity and what is not next to it, and the
    signs of zeros."""
    limit = 2.0 ** 128
    one = np.ldexp(1.0, np.frexp(np.maximum(np.abs(exact), 2.0 ** -126))[1] - 24)
    found = np.abs(np.clip(got.astype(np.float64), -limit, limit) - np.clip(exact, -limit, limit)) / \
        np.where(np.abs(exact) < limit, one, 2.0 ** 104)
    rounded = exact.astype(np.float32)
    zeros = (got == 0) & (rounded == 0) & (np.signbit(got) != np.signbit(rounded))
    return np.where(np.isnan(got) | np.isnan(exact) | zeros, np.where(np.isnan(got) & np.isnan(exact), 0, np.inf), found)


@pytest.mark.parametrize("cpu", ["native", "x86-64-v3"])
def test_every_function_is_within_two_units_in_the_last_place(cpu, tmp_path):
    (tmp_path / "functions.mlir").write_text(module(FUNCTIONS))
    tool("pp-compile", tmp_path / "functions.mlir", "--cluster=local:1", f"--microbatches={MICROBATCHES}",
         f"--target-cpu={cpu}", "-o", tmp_path / "functions.swx")
    step = stagewright.load(tmp_path / "functions.swx")
    worst = dict.fromkeys(FUNCTIONS, (0.0, None))
    with np.errstate(all="ignore"):
        for x in inputs():
            results = [result.reshape(x.shape) for result in step.run([x])]
            for row, values in enumerate(x):  # small enough for the caches
                wide = values.astype(np.float64)
                for (name, exact), result in zip(FUNCTIONS.items(), results, strict=True):
                    found = errors(result[row], exact(wide))
                    at = np.argmax(found)
                    if not found[at] <= worst[name][0]:
                        worst[name] = float(found[at]), float(values[at]).hex()
    print(", ".join(f"{name} {error:.3f} at {at}" for name, (error, at) in worst.items()))
    assert {name: one for name, one in worst.items() if not one[0] <= BOUND} == {}
