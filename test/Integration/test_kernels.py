"""Kernels of a device: what they compute, on the emulator; that they assemble without spills; how many there are.

The emulator checks every access (test/Cuda/README.md). Sizes are small and ragged, but with enough rows for row kernels."""

import collections
import json
import math
import pathlib
import re
import subprocess
import sysconfig

import pytest
from safetensors.numpy import load_file

import golden
from emulator import NEEDED, PTXAS, TARGET, emulated
from tiers import thorough
from workshop import HERE, call, tool

SIZES = {"STAGEWRIGHT_GPT": "V=61,D=24,H=2,L=2,T=24,B=3", "STAGEWRIGHT_CONVNET": "S=9,C=5,B=3,K=5"}
MODELS = ["gpt.py:gpt", "llama.py:llama", "convnet.py:convnet", "mlp.py:mlp", "moe.py:moe_sorted"]
MORE = ["gpt.py:gpt_tied", "gpt.py:gpt_dropout", "moe.py:moe", "encoder_decoder.py:encoder_decoder"]
SOURCES = ["gpt.py:gpt", "llama.py:llama", "convnet.py:convnet", "gpt.py:gpt_bfloat16", "training.py:gpt_adamw",
           "training.py:mlp_sgd"]
# Limits for one transformer block, forward and backward, without contractions; without fusion there are 54. In bfloat16,
# eight of them round weights.
MOST_KERNELS = {"gpt.py:gpt": 20, "gpt.py:gpt_bfloat16": 28}


def compiled(workshop, model, env, stages, *flags, cluster="local"):
    def make(path):
        tool("pp-compile", workshop.module(model, env), f"--cluster={cluster}:{stages}", f"--stages={stages}",
             "--microbatches=2", "-o", path, *flags)
    parts = model, *env.values(), stages, cluster, *flags
    return workshop.once(("device", *parts), lambda: workshop.file(make, "device", *parts))


@NEEDED
@pytest.mark.parametrize("model, stages", [("gpt.py:gpt", 2), *thorough((model, 1) for model in (*MODELS, *MORE))])
def test_kernels_compute_what_jax_does(workshop, model, stages):
    inputs, expected = workshop.golden(model, 2, SIZES)
    artifact = compiled(workshop, model, SIZES, stages, *TARGET)
    out = workshop.path("device.out.safetensors")
    tool("pp-run", artifact, f"--inputs={inputs}", "--microbatches=2", f"--outputs={out}", env=emulated())
    wrong = golden.disagreements(expected, load_file(out))
    assert not wrong, "\n".join(wrong)


@NEEDED
def test_kernels_in_bfloat16_err_as_the_framework_does(workshop):
    out = workshop.path("device.bfloat16.safetensors")
    inputs, expected = workshop.golden("gpt.py:gpt_bfloat16", 2, SIZES)
    artifact = compiled(workshop, "gpt.py:gpt_bfloat16", SIZES, 1, *TARGET)
    tool("pp-run", artifact, f"--inputs={inputs}", "--microbatches=2", f"--outputs={out}", env=emulated())
    ours, theirs = golden.short_float_errors(expected, load_file(out), workshop.golden("gpt.py:gpt", 2, SIZES)[1])
    assert 0 < ours <= 1.5 * theirs


@pytest.mark.skipif(not PTXAS.exists(), reason="needs ptxas of the CUDA toolkit")
@pytest.mark.parametrize("architecture", ["sm_90a", *thorough(("sm_80", "sm_100"))])
@pytest.mark.parametrize("model", SOURCES)
def test_kernels_spill_nothing(workshop, model, architecture):
    check_spills(workshop, model, {}, architecture)


def check_spills(workshop, model, env, architecture, *flags):
    source = compiled(workshop, model, env, 1, f"--target=cuda:{architecture}", "--emit=assembly", *flags)
    done = subprocess.run([PTXAS, "-v", f"-arch={architecture}", source, "-o", workshop.path("device.cubin")],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", done.stderr)
    assert spills and all(spill == ("0", "0") for spill in spills)
    accesses = accesses_of(workshop.path("device.cubin"))
    assert accesses["LDG"] and not accesses.keys() & {"LDL", "STL"}, accesses  # no thread-local memory


def accesses_of(code):
    """Widths in bytes of the loads and stores in machine code, by kind."""
    found = collections.defaultdict(list)
    for accesses in accesses_by_kernel(code).values():
        for kind, widths in accesses.items():
            found[kind] += widths
    return found


def accesses_by_kernel(code):
    disassembler = pathlib.Path(sysconfig.get_path("purelib")) / "nvidia/cu13/bin/nvdisasm"
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for section in re.split(r"\n\s*\.section\s+\.text\.", call(disassembler, "-c", code))[1:]:
        name = section.partition(",")[0].strip('"')
        for kind, words in re.findall(r"\b((?:LD|ST)[GSL])((?:\.\w+)*) ", section):
            width = re.search(r"\.(128|64|[US]16|[US]8)\b", words)
            found[name][kind].append(int(width[1].lstrip("US")) // 8 if width else 4)
    return found


# By model: of the loads and stores that test_kernels_load_and_store_wide counts, the least share of 8 or 16 bytes each. The others
# are of statistics, one for each row, and of ids and losses.
WIDE = {"gpt.py:gpt_bfloat16": 0.75, "llama.py:llama_bfloat16": 0.86}


@pytest.mark.skipif(not PTXAS.exists(), reason="needs ptxas of the CUDA toolkit")
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("model", WIDE)
def test_kernels_load_and_store_wide(workshop, model, architecture):
    """Loads and stores in the machine code of kernels that read or write 16 bytes or more per thread. Scatters and sums over rows
    are exempt: each of their threads has one column."""
    check_spills(workshop, model, {}, architecture)
    accesses = accesses_by_kernel(workshop.path("device.cubin"))
    artifact = compiled(workshop, model, {}, 1, f"--target=cuda:{architecture}")
    narrow, widths = [], []
    for kernel in json.loads(tool("pp-run", artifact, "--info=json"))["kernels"]:
        threads = math.prod(kernel["grid"]) * math.prod(kernel["block"])
        for kind, bytes in (("LDG", kernel["read"]), ("STG", kernel["written"])):
            if kernel["form"] in ("rows", "elements") and bytes >= 16 * threads:
                widths.append(accesses[kernel["name"]][kind])
                if max(widths[-1]) < 8:
                    narrow.append((kernel["name"], kind, bytes / threads))
    assert len(widths) >= 12 and not narrow, narrow
    every = [width for some in widths for width in some]
    assert sum(width >= 8 for width in every) >= WIDE[model] * len(every), collections.Counter(every)


def bodies(workshop, model):
    """The functions of one layer, forward and backward, in which kernels are calls."""
    text = compiled(workshop, model, {}, 1, "--target=cuda", "--emit=host", cluster="h200").read_text()
    found = {name: body for name, body in re.findall(r"func\.func private @(h\d+\.\S*?)\((.*?)\n  }\n", text, re.S)}
    forward = next(body for name, body in found.items() if ".F" in name)
    backward = [body for name, body in found.items() if ".B" in name or ".I" in name or ".W" in name]
    assert backward
    return [forward, *backward]


@pytest.mark.parametrize("model", MOST_KERNELS)
def test_a_block_is_few_kernels(workshop, model):
    count = sum(body.count("call @kernel") for body in bodies(workshop, model))
    assert count <= MOST_KERNELS[model], count


@pytest.mark.parametrize("model", MOST_KERNELS)
def test_gelu_and_residuals_are_the_librarys(workshop, model):
    """The library computes them, and GELU's derivative, as it stores a product."""
    forward, backward = bodies(workshop, model)
    assert re.findall(r"rank\.contract.* epilogue (\w+)", forward) == ["add", "gelu_aux", "add"]
    assert re.findall(r"rank\.contract.* epilogue (\w+)", backward) == ["dgelu"]
