"""scripts/gpu-check where there is no GPU: it says so, and what it carries is what pp-run needs."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "scripts/gpu-check"
sys.path.insert(0, str(ROOT / "scripts/gpu"))


def check(*arguments, path="/nowhere"):
    return subprocess.run([sys.executable, CHECK, *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "PATH": str(path)})


def fake_gpu(folder):
    """A folder with an nvidia-smi that finds one GPU."""
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'Recorder, 80000 MiB, 580.00'\n")
    program.chmod(0o755)
    return folder


def test_without_a_gpu_nothing_is_checked(tmp_path):
    done = check("--out", tmp_path / "report")
    assert done.returncode == 77
    assert "no NVIDIA GPU here" in done.stdout and "nothing was checked" in done.stdout
    assert not (tmp_path / "report").exists()


def test_unknown_sections_are_named(tmp_path):
    done = check("--section", "magic")
    assert done.returncode == 2 and "there is no section 'magic'; there are about, numerics" in done.stderr


def test_a_folder_that_is_no_bundle_is_named(tmp_path):
    done = check("--bundle", tmp_path, path=fake_gpu(tmp_path))
    assert done.returncode == 1 and "is no bundle; make one with gpu-check --pack" in done.stdout


def test_sections_resume_and_cases_that_did_not_compile_are_skipped(tmp_path):
    import cases
    import dataclasses
    bundle, out = tmp_path / "bundle", tmp_path / "report"
    bundle.mkdir()
    rows = [{**dataclasses.asdict(case), "problem": "no road to a device"} for case in cases.ALL]
    (bundle / "cases.json").write_text(json.dumps(rows))
    path = fake_gpu(tmp_path)
    first = check("--bundle", bundle, "--out", out, "--seconds", 0, path=path)
    assert first.returncode == 75 and "sections are left; call again" in first.stdout
    last = check("--bundle", bundle, "--out", out, path=path)
    done = json.loads((out / "report.json").read_text())
    assert last.returncode == 0 and list(done) == ["about", "numerics", "executor", "step", "profile", "sanitizer", "kill"]
    assert {row[2] for row in done["numerics"]["rows"]} == {"skipped"}
    text = (out / "report.md").read_text()
    assert "gpt-4 | gpt-4 was not compiled: no road to a device" in text and "0 passed, 0 failed" in text


def test_the_verdict_is_the_tolerance_of_the_tests():
    numpy = pytest.importorskip("numpy")
    sys.path.insert(0, str(ROOT / "test/Integration"))
    import sections
    golden = {"0": numpy.ones(4, numpy.float32), "1": numpy.full(4, 2, numpy.float32)}
    near = {"0": golden["0"] * numpy.float32(1 + 1e-6), "1": golden["1"]}
    far = {"0": golden["0"] * numpy.float32(1.1), "1": golden["1"]}
    assert sections.compare(golden, near, None)[1] == "passed"
    assert sections.compare(golden, far, None)[1] == "failed"
    # In 16 bits: at most 1.5 times the framework's error against its float32.
    exact = {"0": golden["0"], "1": golden["1"] + numpy.float32(0.01)}
    assert sections.compare(golden, golden, exact)[1] == "passed"
    assert sections.compare(golden, far, exact)[1] == "failed"


def test_pp_run_needs_nothing_that_is_not_carried():
    import pack
    build = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", ROOT / "build"))
    program = build / "bin/pp-run"
    if not program.exists():
        pytest.skip("pp-run is not built")
    carried = pack.libraries(program)
    assert any(name.startswith("libstagewright-rt") for name in carried)
    assert not [name for name in carried if "MLIR" in name or "LLVM" in name or "cuda" in name]
