"""scripts/gpu-check on the emulator (test/Cuda): its cases, made smaller, run in the sections `numerics` and `processes`, with
JAX's values and the tests' tolerances. Kernels, products, graphs, messages and sums are executed."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import pytest

from emulator import NEEDED, REQUIRED, emulated
from tiers import THOROUGH
from workshop import BUILD

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts/gpu")]

import cases  # noqa: E402
import pack  # noqa: E402

pytestmark = NEEDED

TINY = ("tiny-gpt-2", "tiny-bfloat16-2")
# Cases of every test run: both types, attention by the graph library and our own, float8, replicas, sums by NCCL, convolutions,
# an optimizer, a zero-bubble schedule, grouped attention. The thorough tier has the others.
QUICK = (*TINY, "tiny-attention-1", "float8-2", "twins-2", "replicas-3", "convnet-2", "adamw-2", "gpt-zero-bubble-4", "llama-2")
# Sizes on a GPU, and smaller ones for the emulator, which interprets 10 million multiplications a second.
SIZES = {cases.SMALL: "V=64,D=32,H=2,L=4,T=16,B=2", cases.WIDE: "V=96,D=48,H=3,L=4,T=24,B=2",
         cases.LONG: "V=64,D=32,H=2,L=2,T=32,B=2", cases.GPT2: "V=96,D=48,H=3,L=3,T=32,B=2",
         "D=512,L=4,B=256": "D=64,L=4,B=32"}


def smaller(case):
    flags = (*case.flags, "--score-bytes=0") if case.sizes == cases.LONG else case.flags
    more = ("numerics", *(("otherwise",) if case.name in TINY else ())) if case.groups != ("processes",) else ()
    groups = tuple(dict.fromkeys((*more, *case.groups)))
    reference = case.reference or (cases.FLOAT if case.model == cases.HALF else "")
    return dataclasses.replace(case, sizes=SIZES.get(case.sizes, case.sizes), flags=flags, groups=groups, reference=reference)


def packed(folder, names):
    """The bundle of these cases, in a folder that also has a substitute for nvidia-smi."""
    if not (BUILD / "bin/bench-graph").exists():
        (pytest.fail if REQUIRED else pytest.skip)("bench-graph is not built")
    table = [smaller(case) for case in cases.ALL if case.name in names]
    assert len(table) == len(names)
    assert pack.make(folder / "bundle", BUILD, ROOT, table=table) == 0
    smi = folder / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'None, 0 MiB, 0'\n")
    smi.chmod(0o755)
    return folder / "bundle"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    return packed(tmp_path_factory.mktemp("gpu"), QUICK)


def check(bundle, out, *flags):
    environment = {**os.environ, "PATH": f"{bundle.parent}:{os.environ['PATH']}", "JAX_PLATFORMS": "cpu",
                   **emulated()}
    done = subprocess.run([sys.executable, bundle / "gpu-check", "--out", out, "--scratch", out / "scratch", *flags],
                          capture_output=True, text=True, env=environment)
    return done, json.loads((out / "report.json").read_text())


def lines(report, section):
    return [row for item in report["sections"][section]["items"].values() for row in item["rows"]]


@pytest.fixture(scope="module")
def checked(bundle, tmp_path_factory):
    """(folder, finished process, report) of the sections `numerics` and `processes`."""
    folder = tmp_path_factory.mktemp("checked")
    return folder, *check(bundle, folder, "--section", "numerics", "--section", "processes")


def expect_equal_to_jax(report, names):
    """Every run that the cases require has passed."""
    rows = lines(report, "numerics") + lines(report, "processes")
    table = [smaller(case) for case in cases.ALL if case.name in names]
    wanted = {f"{case.name}, {how}" for case in table for group, hows in (
        ("numerics", ("graph", "no graph")), ("processes", ("processes, graph", "processes, no graph")),
        ("otherwise", ("two runs", "kernels in the place of libraries"))) if group in case.groups for how in hows}
    assert {row["what"] for row in rows if row["verdict"] == "passed"} == wanted, [row for row in rows if row["verdict"] == "failed"]
    return {row["what"]: row for row in rows}


def test_steps_on_the_emulator_equal_jax(checked):
    _, done, report = checked
    found = expect_equal_to_jax(report, QUICK)
    assert done.returncode == 0, done.stdout
    assert "22 results" in found["tiny-gpt-2, graph"]["seen"]
    assert found["tiny-bfloat16-2, graph"]["asked"].startswith("error at most 1.5 times JAX's")


@THOROUGH
def test_the_other_cases_equal_jax(tmp_path):
    names = [case.name for case in cases.ALL if case.name not in QUICK]
    _, report = check(packed(tmp_path, names), tmp_path / "out", "--section", "numerics", "--section", "processes")
    expect_equal_to_jax(report, names)


@THOROUGH
def test_wrong_numbers_fail(bundle, checked):
    """The golden values of an earlier run, changed by 0.1 %, make the check fail."""
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
    assert len(found) == 6 and {row["verdict"] for row in found} == {verdict} and all(seen in row["seen"] for row in found)
