"""Kernels of a device: what they compute, checked on the host; that they assemble without spills; how many there are.

On the host every thread of a grid is a fiber, and every access is checked: see lib/Runtime/Twins.h. Contractions are
the runtime's there. Sizes are small and ragged, but with rows enough for row kernels."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from safetensors.numpy import load_file

import golden
from workshop import HERE, call, tool

ROOT = HERE.parents[1]
PTXAS = pathlib.Path(os.environ.get("CUDA_HOME", "/usr/local/cuda")) / "bin" / "ptxas"
SIZES = {"STAGEWRIGHT_GPT": "V=61,D=24,H=2,L=2,T=24,B=3", "STAGEWRIGHT_CONVNET": "S=9,C=5,B=3,K=5"}
MODELS = ["gpt.py:gpt", "gpt.py:gpt_tied", "gpt.py:gpt_dropout", "llama.py:llama", "convnet.py:convnet", "moe.py:moe",
          "mlp.py:mlp", "encoder_decoder.py:encoder_decoder"]
SOURCES = ["gpt.py:gpt", "llama.py:llama", "convnet.py:convnet", "gpt.py:gpt_bfloat16"]
# Of a transformer's block, forward and backward, besides contractions; 54 without grouping.
MOST_KERNELS = 30


def imported(workshop, model, env):
    def make():
        path = workshop.path("device", model, *env.values(), "mlir")
        call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models" / model, "-o", path,
             env={"PYTHONPATH": str(ROOT / "python"), **env})
        return path
    return workshop.once(("device", model, *env.values()), make)


def compiled(workshop, model, env, stages, *flags):
    path = workshop.path("device", model, *env.values(), stages, *flags)
    tool("pp-compile", imported(workshop, model, env), f"--cluster=local:{stages}", f"--stages={stages}",
         "--microbatches=2", "-o", path, *flags)
    return path


@pytest.mark.parametrize("model, stages", [(model, 1) for model in MODELS] + [("gpt.py:gpt", 2)])
def test_kernels_compute_what_jax_does(workshop, model, stages):
    def make():
        prefix = workshop.path("device", model)
        call(sys.executable, HERE / "golden.py", "make", HERE / "models" / model, 2, "-o", prefix, env=SIZES)
        return prefix
    prefix = workshop.once(("device golden", model), make)
    artifact = compiled(workshop, model, SIZES, stages, "--target=cuda:host")
    out = workshop.path("device.out.safetensors")
    tool("pp-run", artifact, f"--inputs={prefix}.inputs.safetensors", "--microbatches=2", f"--outputs={out}")
    wrong = golden.disagreements(load_file(f"{prefix}.golden.safetensors"), load_file(out))
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(not PTXAS.exists(), reason="needs ptxas of the CUDA toolkit")
@pytest.mark.parametrize("architecture", ("sm_80", "sm_90a", "sm_100"))
@pytest.mark.parametrize("model", SOURCES)
def test_kernels_spill_nothing(workshop, model, architecture):
    source = compiled(workshop, model, {}, 1, f"--target=cuda:{architecture}", "--emit=assembly")
    done = subprocess.run([PTXAS, "-v", f"-arch={architecture}", source, "-o", workshop.path("device.cubin")],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr)
    assert spills and all(spill == ("0", "0") for spill in spills)


def test_a_block_is_few_kernels(workshop):
    """Of the forward and the backward of one layer, counted in the bodies that a rank calls."""
    text = compiled(workshop, "gpt.py:gpt", {}, 1, "--target=cuda", "--emit=host").read_text()
    bodies = {name: body for name, body in re.findall(r"func\.func private @(h\d+\.\S*?)\((.*?)\n  }\n", text, re.S)}
    forward = next(body for name, body in bodies.items() if ".F" in name)
    backward = [body for name, body in bodies.items() if ".B" in name or ".I" in name or ".W" in name]
    assert backward
    count = forward.count("call @kernel") + sum(body.count("call @kernel") for body in backward)
    assert count <= MOST_KERNELS, count
