"""How the work of compiling grows with the layers: equal layers are compiled once, and the rest grows linearly.

Counted, not timed, so that the tests also pass on a busy machine.
"""

import re
import sys

import pytest
from workshop import HERE, call, tool

LAYERS = (4, 8, 16)


@pytest.fixture(scope="module")
def compiled(workshop):
    """By number of layers: (units of native code, units from the cache, definitions and lines of LLVM IR)."""
    def compile_layers(layers):
        module, cache = workshop.path("growth", layers, "mlir"), workshop.path("growth", "cache")
        call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models" / "gpt.py:gpt", "-o", module,
             env={"PYTHONPATH": str(HERE.parents[1] / "python"), "STAGEWRIGHT_GPT": f"V=32,D=16,H=2,L={layers},T=8,B=1"})
        flags = [module, "--cluster=local:2", "--stages=2", "--schedule=1f1b", "--microbatches=4"]
        report = tool("pp-compile", *flags, f"--cache-dir={cache}", "-o", workshop.path("growth", layers, "swx"))
        units, cached = re.search(r"native code: (\d+) units, (\d+) from the cache", report).groups()
        text = tool("pp-compile", *flags, "--emit=llvm")
        return int(units), int(cached), text.count("\ndefine "), text.count("\n")
    return {layers: compile_layers(layers) for layers in LAYERS}


def test_equal_layers_are_compiled_once(compiled):
    few, some, many = (compiled[layers] for layers in LAYERS)
    assert few[0] == some[0] == many[0]
    assert few[2] == some[2] == many[2]


def test_a_model_with_more_layers_finds_its_kernels_in_the_cache(compiled):
    few, some, many = (compiled[layers] for layers in LAYERS)
    # Only the programs of both ranks and the manifest differ.
    assert few[1] == 0
    assert some[1] == some[0] - 3 and many[1] == many[0] - 3


def test_code_grows_as_the_layers_do(compiled):
    few, some, many = (compiled[layers][3] for layers in LAYERS)
    assert many - some <= 1.1 * (LAYERS[2] - LAYERS[1]) / (LAYERS[1] - LAYERS[0]) * (some - few)
