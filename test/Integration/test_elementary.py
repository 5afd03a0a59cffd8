"""Elementary functions as compiled code computes them, compared with double precision.

Inputs are every 1009th of all 2^32 float32 values and those near points where an approximation changes; with
STAGEWRIGHT_EFFORT=1 all values (15 minutes of processor time). Errors are in units in the last place (ulp) of the exact
result: a correctly rounded result has at most 0.5, the bound of every function here is 2.
"""

import concurrent.futures
import ctypes
import os

import numpy as np
import pytest
from workshop import BUILD, tool

if os.environ.get("STAGEWRIGHT_PYTHON") == "OFF":
    pytest.skip("the binding was not asked for (STAGEWRIGHT_PYTHON=OFF)", allow_module_level=True)
import stagewright  # noqa: E402

BOUND = 2
# In the order used by native/ElementaryErrors.cpp.
FUNCTIONS = ["exp", "exp2", "expm1", "log", "log1p", "tanh", "erf", "erfc", "sin", "cos"]
PROCESSORS = ["native", "x86-64-v3"]
EVERY = 1 if os.environ.get("STAGEWRIGHT_EFFORT") else 1009
# Ends of ranges, thresholds, overflow and underflow, poles, multiples of pi / 4.
BORDERS = [0, 2.0 ** -126, 2.0 ** -64, 2.0 ** -24, 15 / 32, 0.5 ** 0.5, 13 / 16, 1, 2 ** 0.5, 7 / 4, 3.84, 4, 9.02, 9.1945,
           9.5, 10.0545, 10.25, 18, 2.0 ** 24, 87.33655, 88.72284, 103.97208, 126, 128, 149, 150, 2.0 ** 16, 2.0 ** 127,
           np.inf, np.pi / 4, np.pi / 2, np.pi, 2 * np.pi, 16367173 * 2.0 ** 72]
COLUMNS, MICROBATCHES = 65536, 16


def module():
    """A step that applies every function to one vector."""
    kind = f"tensor<{COLUMNS}xf32>"
    results = ", ".join([f'{kind} {{pipeline.role = "output"}}'] * len(FUNCTIONS))
    body = "".join(f"  %{name} = math.{name} %x : {kind}\n" for name in FUNCTIONS)
    return (f'func.func @step(%x: {kind} {{pipeline.role = "batch"}}) -> ({results}) {{\n{body}'
            f"  return {', '.join('%' + name for name in FUNCTIONS)} : {', '.join([kind] * len(FUNCTIONS))}\n}}\n")


def inputs():
    """Yields all input values in blocks; the last ones are filled by repetition."""
    size = COLUMNS * MICROBATCHES
    for first in range(0, 2 ** 32, size * EVERY):
        bits = np.arange(first, min(first + size * EVERY, 2 ** 32), EVERY, dtype=np.uint64).astype(np.uint32)
        yield np.resize(bits.view(np.float32), (MICROBATCHES, COLUMNS))
    around = np.arange(-4096, 4096)
    bits = (np.array(BORDERS, np.float32).view(np.int32).astype(np.int64)[:, None] + around).ravel().astype(np.uint32)
    yield np.resize(np.concatenate([bits, bits ^ np.uint32(2 ** 31)]).view(np.float32), (MICROBATCHES, COLUMNS))


def worst_errors(library, number, x, results):
    """(largest error, its argument) of function `number` for each array of results."""
    errors, at = np.empty(len(results)), np.empty(len(results), np.float32)
    pointers = (ctypes.c_void_p * len(results))(*(result.ctypes.data for result in results))
    library.worst_errors(ctypes.c_int(number), ctypes.c_void_p(x.ctypes.data), ctypes.c_int64(x.size), pointers,
                         ctypes.c_int(len(results)), ctypes.c_void_p(errors.ctypes.data), ctypes.c_void_p(at.ctypes.data))
    return list(zip(errors, at, strict=True))


def test_every_function_is_within_two_units_in_the_last_place(tmp_path):
    library = ctypes.CDLL(str(BUILD / "lib" / "elementary-errors.so"))
    (tmp_path / "functions.mlir").write_text(module())
    steps = []
    for cpu in PROCESSORS:
        tool("pp-compile", tmp_path / "functions.mlir", "--cluster=local:1", f"--microbatches={MICROBATCHES}",
             f"--target-cpu={cpu}", "-o", tmp_path / f"{cpu}.swx")
        steps.append(stagewright.load(tmp_path / f"{cpu}.swx"))
    worst = {(name, cpu): (-1.0, None) for name in FUNCTIONS for cpu in PROCESSORS}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for x in inputs():
            results = list(pool.map(lambda step, x=x: step.run([x]), steps))
            found = pool.map(lambda number, x=x, results=results: worst_errors(
                library, number, x, [result[number] for result in results]), range(len(FUNCTIONS)))
            for name, errors in zip(FUNCTIONS, found, strict=True):
                for cpu, (error, at) in zip(PROCESSORS, errors, strict=True):
                    if error > worst[name, cpu][0]:
                        worst[name, cpu] = float(error), float(at).hex()
    for (name, cpu), (error, at) in worst.items():
        print(f"{name} {cpu} {error:.3f} at {at}")
    assert {key: one for key, one in worst.items() if not 0 <= one[0] <= BOUND} == {}
