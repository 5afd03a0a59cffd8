"""The part of scripts/gpu-check that can run without a GPU: what is packed for the processor's twins of the kernels (target
cuda:host) goes the road of the section `numerics`, with JAX's values and the tests' tolerances."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import pytest

from tiers import THOROUGH
from workshop import BUILD

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/gpu")]

import cases  # noqa: E402
import pack  # noqa: E402


TINY, ALSO = ("tiny-gpt-2", "tiny-bfloat16-2"), ("tiny-attention-1", "adamw-2")
# An optimizer too, of a model whose kernels run in seconds as fibers.
SMALLER = {"adamw-2": {"model": "training.py:mlp_sgd"}}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    if not (BUILD / "bin/bench-graph").exists():
        pytest.skip("bench-graph is not built")
    folder = tmp_path_factory.mktemp("gpu")
    table = [dataclasses.replace(case, groups=("numerics", "sanitizer", "otherwise")) for case in cases.ALL if case.name in TINY]
    table += [dataclasses.replace(case, groups=("numerics",), **SMALLER.get(case.name, {})) for case in cases.ALL if case.name in ALSO]
    assert len(table) == len(TINY) + len(ALSO)
    assert pack.make(folder / "bundle", BUILD, ROOT, table=table, device="cuda:host") == 0
    smi = folder / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'None, 0 MiB, 0'\n")
    smi.chmod(0o755)
    return folder / "bundle"


def check(bundle, out, *flags):
    environment = {**os.environ, "PATH": f"{bundle.parent}:{os.environ['PATH']}", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, bundle / "gpu-check", "--out", out, "--scratch", out / "scratch", *flags],
                          capture_output=True, text=True, env=environment)
    return done, json.loads((out / "report.json").read_text())


def lines(report, section):
    return [row for item in report["sections"][section]["items"].values() for row in item["rows"]]


@pytest.fixture(scope="module")
def checked(bundle, tmp_path_factory):
    """(folder, what was done, report) of the section `numerics`."""
    folder = tmp_path_factory.mktemp("checked")
    return folder, *check(bundle, folder, "--section", "numerics")


@THOROUGH
def test_a_bundle_checks_numerics_against_jax(checked):
    _, done, report = checked
    assert done.returncode == 0, done.stdout
    found = lines(report, "numerics")
    assert {row["what"] for row in found} == {f"{name}, {how}" for names, hows in (
        ((*TINY, *ALSO), ("graph", "no graph")), (TINY, ("two runs", "kernels in the place of libraries"))) for name in names for how in hows}
    assert {row["verdict"] for row in found} == {"passed"}
    by_name = {row["what"]: row for row in found}
    assert "22 results" in by_name["tiny-gpt-2, graph"]["seen"]
    assert by_name["tiny-bfloat16-2, graph"]["asked"].startswith("error at most 1.5 times JAX's")
    # Loss, gradients, new parameters and state, after three steps.
    assert by_name["adamw-2, graph"]["seen"].startswith("31 results") and "after the last step" in by_name["adamw-2, graph"]["asked"]


@THOROUGH
def test_wrong_numbers_fail(bundle, checked):
    """Golden values of a run before that are off by a part in a thousand."""
    numpy, files = pytest.importorskip("numpy"), pytest.importorskip("safetensors.numpy")
    folder = checked[0]
    for path in (folder / "scratch").glob("golden-*.safetensors"):
        files.save_file({key: numpy.array(value * numpy.float32(1.001)) for key, value in files.load_file(path).items()}, path)
    done, report = check(bundle, folder, "--section", "numerics")
    assert done.returncode == 1
    compared = [row for row in lines(report, "numerics") if "tiny-gpt-2" in row["what"] and "two runs" not in row["what"]]
    assert len(compared) == 3 and {row["verdict"] for row in compared} == {"failed"}


FAKE = """#!/bin/sh
# Runs the step as it was told to, then reports as compute-sanitizer does.
case "$1" in *memcheck) tool=memcheck;; *) tool=racecheck;; esac
shift 3; "$@" >/dev/null || exit 1
{answer}
"""


@pytest.mark.parametrize("answer, verdict, seen", [
    ('echo "========= ERROR SUMMARY: 0 errors"', "passed", "ERROR SUMMARY: 0 errors"),
    ('echo "========= Invalid __global__ read of size 4 bytes"; echo "=========     at kernel_7+0x90"; '
     'echo "========= ERROR SUMMARY: 1 error"; exit 9', "failed", "in kernel_7"),
    ('echo "========= Error: device not supported"; exit 1', "skipped", "refuses this device"),
    ("exit 0", "failed", "no summary")])
def test_what_a_sanitizer_says_is_read(bundle, tmp_path, answer, verdict, seen):
    program = bundle.parent / "compute-sanitizer"
    program.write_text(FAKE.format(answer=answer))
    program.chmod(0o755)
    _, report = check(bundle, tmp_path, "--section", "sanitizer")
    found = lines(report, "sanitizer")
    assert len(found) == 4 and {row["verdict"] for row in found} == {verdict} and all(seen in row["seen"] for row in found)
