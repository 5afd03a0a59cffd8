"""The kernels that an artifact contains for when a library has no algorithm: they compute what JAX does. Also products of
8-bit floats, which not every device's library supports."""

import json
import re
import struct

import numpy as np
import pytest
from safetensors.numpy import load_file

import golden
from emulator import NEEDED, TARGET, emulated
from test_attention import ALL
from test_kernels import PTXAS, SIZES, check_spills, compiled
from tiers import thorough
from workshop import tool

pytestmark = NEEDED
KERNELS_ONLY = {"STAGEWRIGHT_ALTERNATIVES": "1"}
SHAPES = {"STAGEWRIGHT_FLOAT8": "D=64,L=3,B=32"}


def stepped(workshop, model, env, artifact, run):
    """(JAX's results, the artifact's results) on the same inputs."""
    inputs, expected = workshop.golden(model, 2, env)
    out = workshop.path("alternatives.out.safetensors")
    tool("pp-run", artifact, f"--inputs={inputs}", "--microbatches=2", f"--outputs={out}", env=emulated() | run)
    return expected, load_file(out)


@pytest.mark.parametrize("model", ["gpt.py:gpt", "mlp.py:mlp"])
def test_epilogues_without_the_library(workshop, model):
    """GELU, its kept argument, its derivative: kernels compute them from the stored products."""
    artifact = compiled(workshop, model, SIZES, 1, *TARGET)
    wrong = golden.disagreements(*stepped(workshop, model, SIZES, artifact, KERNELS_ONLY))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("env", [{}, KERNELS_ONLY], ids=["library", "kernels"])
def test_biases_of_a_split_product(workshop, env):
    """One product computes queries, keys and values; the library adds the bias to it, before the split."""
    artifact = compiled(workshop, "attention.py:packed", {}, 1, *TARGET)
    text = compiled(workshop, "attention.py:packed", {}, 1, *TARGET, "--emit=host").read_text()
    assert re.findall(r"rank\.contract.* epilogue (\w+)", text) == ["bias"]
    wrong = golden.disagreements(*stepped(workshop, "attention.py:packed", {}, artifact, env))
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("sizes", ["V=61,D=32,H=2,L=1,T=83,B=2", *thorough(("V=61,D=128,H=1,L=1,T=40,B=1",))])
def test_attention_without_the_library(workshop, sizes):
    """In 16 bits, where the library would be called first; the error is at most 1.5 times JAX's."""
    env = {"STAGEWRIGHT_GPT": sizes}
    artifact = compiled(workshop, "gpt.py:gpt_bfloat16", env, 1, *TARGET, ALL)
    expected, found = stepped(workshop, "gpt.py:gpt_bfloat16", env, artifact, KERNELS_ONLY)
    ours, theirs = golden.short_float_errors(expected, found, workshop.golden("gpt.py:gpt", 2, env)[1])
    assert ours <= 1.5 * theirs


@pytest.mark.parametrize("target, run", [(TARGET, {}), (TARGET, KERNELS_ONLY), (("--target=host",), {})],
                         ids=["library", "kernels", "host"])
@pytest.mark.parametrize("sizes", ["D=24,L=2,B=5", *thorough(("D=64,L=3,B=32",))])
def test_products_of_8_bits(workshop, sizes, target, run):
    """E4M3 times E4M3 in the forward, E4M3 and E5M2 in the backward; products with sizes that 16 does not divide are computed
    in float32. A sum in another order may round to another 8-bit value, so errors against float32 are compared."""
    env = {"STAGEWRIGHT_FLOAT8": sizes}
    artifact = compiled(workshop, "float8.py:float8", env, 1, *target)
    expected, found = stepped(workshop, "float8.py:float8", env, artifact, run)
    ours, theirs = golden.short_float_errors(expected, found, workshop.golden("float8.py:float32", 2, env)[1])
    assert 0 < ours <= 1.1 * theirs


def test_products_of_8_bits_are_the_librarys(workshop):
    """All of them if H100s are among the targets; none for A100s alone, whose library has none."""
    def operands(target):
        text = compiled(workshop, "float8.py:float8", SHAPES, 1, f"--target={target}", "--emit=host",
                        cluster="h200").read_text()
        return re.findall(r"rank\.contract.*ins\(.*: memref<[\dx]+x(\w+)(?:, strided.*?)?>, memref<[\dx]+x(\w+)", text)
    eight = operands("cuda:sm_80,sm_90a")
    assert all(kind.startswith("f8") for pair in eight for kind in pair)
    assert {"f8E4M3FN", "f8E5M2"} == {kind for pair in eight for kind in pair}
    assert set(operands("cuda:sm_80")) == {("f32", "f32")}


def test_a_plan_with_products_of_8_bits_is_proved(workshop):
    artifact = compiled(workshop, "float8.py:float8", SHAPES, 2, "--target=cuda:sm_90a", cluster="h200")
    text = tool("pp-run", artifact, "--dry-run")
    assert re.search(r"^fallbacks    16 launches", text, re.M), text


@pytest.mark.skipif(not PTXAS.exists(), reason="needs ptxas of the CUDA toolkit")
@pytest.mark.parametrize("architecture", ["sm_90a", *thorough(("sm_80", "sm_100"))])
def test_kernels_of_8_bits_spill_nothing(workshop, architecture):
    check_spills(workshop, "float8.py:float8", SHAPES, architecture)


def write_bytes(path, tensors):
    """Writes a safetensors file of bytes, because numpy has no 8-bit floats."""
    header, data = {}, b""
    for name, (kind, array) in tensors.items():
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read_bytes(path, name):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + size])[name]
    first, last = entry["data_offsets"]
    return entry["dtype"], np.frombuffer(data[8 + size + first:8 + size + last], np.uint8).reshape(entry["shape"])


@pytest.mark.parametrize("target", [("--target=host",), TARGET], ids=["host", "device"])
def test_arrays_of_8_bits_are_given_sent_and_taken(tmp_path, target):
    import jax
    import jax.numpy as jnp
    from stagewright import import_jax

    def step(p, x):
        with jax.named_scope("layer0"):
            h = jnp.tanh(x.astype(jnp.float32) @ p[0]).astype(jnp.float8_e4m3fn)
        with jax.named_scope("layer1"):
            return (h.astype(jnp.float32) @ p[1]).astype(jnp.float8_e5m2)

    rng = np.random.default_rng(0)
    weights = [rng.standard_normal((24, 24)).astype(np.float32) for _ in range(2)]
    x = jnp.asarray(rng.standard_normal((2, 4, 24)).astype(np.float32)).astype(jnp.float8_e4m3fn)
    module, artifact, given, out = (tmp_path / name for name in ("step.mlir", "step.swx", "in", "out"))
    import_jax(step, (weights, x[0]), str(module), roles={0: "parameter"})
    tool("pp-compile", module, *target, "--cluster=local:2", "--stages=2", "--microbatches=2", "-o", artifact)
    manifest = json.loads(tool("pp-run", artifact, "--info=json"))
    assert [channel["bytes"] for channel in manifest["channels"]] == [4 * 24]
    write_bytes(given, {"0": ("F32", weights[0]), "1": ("F32", weights[1]), "2": ("F8_E4M3", np.asarray(x).view(np.uint8))})
    tool("pp-run", artifact, f"--inputs={given}", "--microbatches=2", f"--outputs={out}", env=emulated())
    kind, found = read_bytes(out, str(manifest["results"][0]["position"]))
    wanted = np.concatenate([np.asarray(jax.jit(step)(weights, part)).view(np.uint8) for part in x])
    assert kind == "F8_E5M2"
    np.testing.assert_array_equal(found, wanted)
