"""How float32 products round on GPUs (--tf32), on the emulator, which rounds operands to TF32 as tensor cores do."""

import numpy as np
import pytest
from safetensors.numpy import load_file

from emulator import NEEDED, TARGET, emulated
from test_emulator import MICROBATCHES, SIZES, values
from test_kernels import compiled
from workshop import tool

pytestmark = NEEDED


def errors(workshop, model, *flags):
    """By tensor: |ours - JAX's| / |JAX's|, as norms."""
    inputs, expected = values(workshop, model, SIZES)
    out = workshop.path("float32.out.safetensors")
    tool("pp-run", compiled(workshop, model, SIZES, 2, *TARGET, *flags), f"--inputs={inputs}", f"--microbatches={MICROBATCHES}",
         f"--outputs={out}", env=emulated(devices=2))
    found = load_file(out)
    wide = {name: np.asarray(value, np.float64) for name, value in expected.items()}
    return np.array([np.linalg.norm(found[name] - value) / np.linalg.norm(value) for name, value in wide.items()
                     if np.linalg.norm(value) > 0])


@pytest.mark.parametrize("model", ("gpt.py:gpt", "llama.py:llama", "encoder_decoder.py:encoder_decoder"))
def test_three_products_err_little_more_than_float32(workshop, model):
    """Rounded operands leave errors of 1e-3; three products of parts leave at most twice those of float32."""
    exact, once, thrice = (errors(workshop, model, *flags) for flags in ((), ("--tf32",), ("--tf32=3x",)))
    print(model, *(f"{found.max():.1e}" for found in (exact, once, thrice)))
    assert len(exact) > 10 and once.max() > 1e-4
    assert thrice.max() < 2 * exact.max() and thrice.max() < once.max() / 500


def test_three_products_are_three_calls(workshop):
    """The library is called for three products in TF32, where it is called for one otherwise."""
    counts = {}
    for flags in ((), ("--tf32",), ("--tf32=3x",)):
        said = tool("pp-run", compiled(workshop, "gpt.py:gpt", SIZES, 1, *TARGET, *flags), "--dry-run")
        line = next(line for line in said.splitlines() if line.startswith("contractions"))
        counts[flags] = int(line.split()[1].rstrip(",")), int(line.split(", ")[2].split()[0])
    products = counts[()][0]
    assert counts == {(): (products, 0), ("--tf32",): (products, products), ("--tf32=3x",): (3 * products, 3 * products)}
