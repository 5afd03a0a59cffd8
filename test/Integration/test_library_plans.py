"""`pp-run --dry-run --plans`: cuDNN reports its plans for the attention and convolutions of an artifact, for GPUs that this
machine does not have."""

import ctypes
import re
import subprocess

import pytest

from emulator import REQUIRED, TARGET
from test_kernels import compiled
from workshop import BUILD, tool

PLUGIN = BUILD / "lib/libstagewright-cudnn.so"
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


def has_cudnn():
    try:
        ctypes.CDLL("libcudnn.so.9")
    except OSError:
        return False
    return True


MISSING = [*([] if PLUGIN.exists() else [f"no plug-in for cuDNN at '{PLUGIN}'"]), *([] if has_cudnn() else ["no libcudnn.so.9"])]
if MISSING and REQUIRED:
    raise RuntimeError(f"tests of GPU code are required (STAGEWRIGHT_GPU_TESTS), but there is {' and '.join(MISSING)}")
CUDNN = pytest.mark.skipif(bool(MISSING), reason=f"there is {' and '.join(MISSING)}")


def refused(*arguments, **env):
    done = subprocess.run([BUILD / "bin/pp-run", *arguments], capture_output=True, text=True, env={"PATH": "/usr/bin", **env})
    assert done.returncode == 1
    return done.stderr


@pytest.fixture(scope="module")
def attending(workshop):
    return compiled(workshop, "gpt.py:gpt_bfloat16", {"STAGEWRIGHT_GPT": "V=256,D=128,H=2,L=1,T=1024,B=2"}, 1, *TARGET,
                    "--score-bytes=0")


@CUDNN
def test_attention_has_plans_on_every_architecture(attending):
    """A deterministic gradient needs a workspace for the scores, except on the newest architecture."""
    text = tool("pp-run", attending, "--dry-run", f"--plans={','.join(ARCHITECTURES)}")
    sizes = "bf16 2 x 2 x 1024 x 1024 x 64, causal"
    plans = {(architecture, kind): (name, int(bytes_)) for architecture, kind, name, bytes_ in
             re.findall(rf"^(\w+)  attention (\w+), {sizes}: (\S+), workspace (\d+) bytes$", text, re.M)}
    assert plans.keys() == {(architecture, kind) for architecture in ARCHITECTURES for kind in ("forward", "gradient")}
    assert all(name.startswith("eng") for name, _ in plans.values())
    scores = 2 * 2 * 1024 * 1024 * 2
    assert all((plans[it, "gradient"][1] >= scores) == (it != "sm_100") for it in ARCHITECTURES)


@CUDNN
def test_convolutions_have_plans(workshop):
    artifact = compiled(workshop, "convnet.py:convnet", {}, 1, *TARGET)
    text = tool("pp-run", artifact, "--dry-run", "--plans=sm_90")
    calls = re.findall(r"^sm_90  convolution (gradient of the \w+, )?f32 [\dx ]+ by [\dx ]+: \S+, workspace \d+ bytes$", text, re.M)
    assert {"", "gradient of the filters, "} <= set(calls), text


def test_a_step_without_such_calls_asks_nobody(workshop):
    artifact = compiled(workshop, "mlp.py:mlp", {}, 1, *TARGET)
    assert tool("pp-run", artifact, "--dry-run", "--plans=sm_90").endswith(
        "the step has no attention and no convolution that the library is asked for\n")


def test_what_cannot_be_asked_is_an_error(attending):
    assert "--plans requires --dry-run" in refused(attending, "--plans=sm_90")
    assert "'h100' is not an architecture; expected a list such as sm_80,sm_90" in refused(attending, "--dry-run", "--plans=h100")


@CUDNN
def test_other_architectures_and_libraries_are_errors(attending):
    assert "no device of sm_75 is described; expected sm_80, sm_90 or sm_100" in refused(
        attending, "--dry-run", "--plans=sm_75")
    error = refused(attending, "--dry-run", "--plans=sm_90", STAGEWRIGHT_CUDNN_LIBRARY="/nowhere/libcudnn.so.9")
    assert "cannot open '/nowhere/libcudnn.so.9'" in error and "nvidia-cudnn-cu13 of PyPI" in error
