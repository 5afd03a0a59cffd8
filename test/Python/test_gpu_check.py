"""scripts/gpu-check without a GPU: it reports that, it resumes, it ends what takes too long, and its bundle is complete.

The emulator (test/Cuda) replaces the GPU, and only records calls here: this shows that the code runs, not that its numbers are
right."""

import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", ROOT / "build"))
CHECK = ROOT / "scripts/gpu-check"
sys.path[:0] = [str(ROOT / "scripts/gpu"), str(ROOT / "test/Integration")]

import report  # noqa: E402
import rows  # noqa: E402
import runner  # noqa: E402


def check(*arguments, path="/nowhere"):
    return subprocess.run([sys.executable, CHECK, *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "PATH": str(path)})


def fake_gpu(folder):
    """A folder with an nvidia-smi that finds one GPU."""
    program = folder / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'Recorder, 80000 MiB, 580.00'\n")
    program.chmod(0o755)
    return folder


def uncompiled(folder):
    """A bundle without compiled cases."""
    import cases
    import dataclasses
    folder.mkdir()
    table = [{**dataclasses.asdict(case), "problem": "no road to a device"} for case in cases.ALL]
    (folder / "cases.json").write_text(json.dumps(table))
    (folder / "bin").mkdir()
    (folder / "bin/pp-run").symlink_to("/bin/true")
    return folder


def test_without_a_gpu_nothing_is_checked(tmp_path):
    done = check("--out", tmp_path / "report")
    assert done.returncode == 77
    assert "no NVIDIA GPU here" in done.stdout and "nothing was checked" in done.stdout
    assert not (tmp_path / "report").exists()


def test_what_is_not_there_is_named(tmp_path):
    done = check("--section", "magic")
    assert done.returncode == 2 and "there is no section 'magic'; there are about, first, step" in done.stderr
    done = check("--known", tmp_path / "none.json")
    assert done.returncode == 2 and "there is no report" in done.stderr
    done = check("--bundle", tmp_path, path=fake_gpu(tmp_path))
    assert done.returncode == 1 and "is not a bundle; make one with gpu-check --pack" in done.stdout
    done = check("--predict", tmp_path, "--out", tmp_path)
    assert done.returncode == 1 and "has no report.json" in done.stderr


def test_sections_resume_and_cases_that_did_not_compile_are_skipped(tmp_path):
    bundle, first, last = uncompiled(tmp_path / "bundle"), tmp_path / "first", tmp_path / "last"
    path, flags = fake_gpu(tmp_path), ("--bundle", tmp_path / "bundle", "--scratch", tmp_path / "scratch")
    done = check(*flags, "--out", first, "--section", "about", path=path)
    assert done.returncode == 0 and "0 passed, 0 failed" in done.stdout
    done = check(*flags, "--out", first, "--seconds", 10, path=path)
    assert done.returncode == 75 and "left for the next call: first, step, numerics" in done.stdout
    before = json.loads((first / "report.json").read_text())["sections"]["about"]
    # As on another machine, with an empty folder.
    done = check(*flags, "--out", last, "--known", first / "report.json", path=path)
    found = json.loads((last / "report.json").read_text())
    assert done.returncode == 76 and "more was skipped than checked" in done.stdout, done.stdout
    assert found["sections"]["about"] == before and all(state["ended"] for state in found["sections"].values())
    verdicts = {name: {line["verdict"] for _, line in report.all_rows({name: state})} for name, state in found["sections"].items()}
    assert verdicts["numerics"] == {"skipped"} and verdicts["executor"] == {"skipped"} and found["counts"]["passed"] == 0
    text = (last / "report.md").read_text()
    assert "| gpt-4 |  | gpt-4 was not compiled: no road to a device | skipped |" in text
    assert len(list(last.iterdir())) <= 8


SLOW = """
import time
from rows import told
def slow():
    time.sleep({seconds})
    return [told("slow", "awake")]
def items(machine):
    yield "quick", lambda: [told("quick", 1)]
    yield "slow", slow
    yield "last", lambda: [told("last", 3)]
"""


@pytest.fixture
def section(tmp_path, monkeypatch):
    """A function that runs a text as a section for at most `limit` seconds; the state is kept between calls."""
    import sections
    bundle, scratch = uncompiled(tmp_path / "bundle"), tmp_path / "scratch"
    scratch.mkdir()
    state = {"items": {}, "cuts": {}, "ended": False, "seconds": 0}
    monkeypatch.setitem(runner.SECTIONS, "about", sections.Section("about", "check_written", "", 1000))
    driver = tmp_path / "driver.py"
    # As the script does it, but with another module for the section.
    driver.write_text(f"""
import sys
sys.path[:0] = [{str(ROOT / 'scripts/gpu')!r}, {str(ROOT / 'test/Integration')!r}, {str(tmp_path)!r}]
import json, pathlib, sections
sections.SECTIONS["about"] = sections.Section("about", "check_written", "", 1000)
import runner
arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
runner.work(pathlib.Path({str(bundle)!r}), pathlib.Path({str(tmp_path)!r}), pathlib.Path({str(scratch)!r}), "about",
            json.loads(arguments["--done"]), arguments["--told"])
""")

    def run(text, limit):
        (tmp_path / "check_written.py").write_text(text)
        runner.run_section([str(driver)], state, "about", limit, scratch)
        return state
    return run


def test_an_item_whose_time_is_up_is_left_and_goes_on(section):
    start = time.monotonic()
    state = section(SLOW.format(seconds=60), 3)
    assert time.monotonic() - start < 20
    assert list(state["items"]) == ["quick"] and state["cuts"] == {"slow": 1} and not state["ended"]
    state = section(SLOW.format(seconds=0), 20)
    assert list(state["items"]) == ["quick", "slow", "last"] and state["ended"]
    assert {line["verdict"] for _, line in report.all_rows({"about": state})} == {"told"}


def test_an_item_that_is_cut_off_twice_has_failed(section):
    section(SLOW.format(seconds=60), 2)
    state = section(SLOW.format(seconds=60), 2)
    assert state["items"]["slow"]["rows"][0]["seen"] == "did not end within 2 s" and not state["ended"]
    assert list(section(SLOW.format(seconds=60), 20)["items"]) == ["quick", "slow", "last"]


def test_an_item_that_dies_fails_alone(section):
    text = SLOW.format(seconds=0).replace("time.sleep(0)", "import os; os.kill(os.getpid(), 11)")
    state = section(text, 20)
    assert state["items"]["slow"]["rows"][0]["seen"].startswith("status -11") and not state["ended"]
    assert list(section(text, 20)["items"]) == ["quick", "slow", "last"]
    state = section("import no_such_module", 20)
    assert state["ended"] and "no_such_module" in state["items"]["start"]["rows"][0]["seen"]


def test_an_error_is_a_row_of_its_own(section):
    state = section(SLOW.format(seconds=0).replace("time.sleep(0)", "raise RuntimeError('the step is wrong')"), 20)
    assert state["ended"] and state["items"]["slow"]["rows"] == [rows.failed("slow", "the step is wrong")]


def test_the_verdict_is_the_tolerance_of_the_tests():
    numpy = pytest.importorskip("numpy")
    import check_numerics
    golden = {"0": numpy.ones(4, numpy.float32), "1": numpy.full(4, 2, numpy.float32)}
    near = {"0": golden["0"] * numpy.float32(1 + 1e-6), "1": golden["1"]}
    far = {"0": golden["0"] * numpy.float32(1.1), "1": golden["1"]}
    assert check_numerics.compare(golden, near, None)[2]
    assert not check_numerics.compare(golden, far, None)[2] and not check_numerics.compare(golden, {"0": golden["0"]}, None)[2]
    # In 16 bits: at most 1.5 times the framework's error against its float32.
    exact = {"0": golden["0"], "1": golden["1"] + numpy.float32(0.01)}
    assert check_numerics.compare(golden, golden, exact)[2]
    assert not check_numerics.compare(golden, far, exact)[2]


def test_models_do_not_stand_for_the_standard_library(tmp_path):
    """A model's file is named numbers.py."""
    (tmp_path / "models").mkdir()
    (tmp_path / "models/numbers.py").write_text("raise ImportError('this is a model')")
    (tmp_path / "models/common.py").write_text("SIZE = 3")
    (tmp_path / "models/model.py").write_text("import numbers, common\ndef made():\n    return numbers.Number, common.SIZE")
    code = (f"import sys, types, pathlib; sys.path.insert(0, {str(ROOT / 'scripts/gpu')!r}); import golden_step;"
            f"print(golden_step.load(types.SimpleNamespace(bundle=pathlib.Path({str(tmp_path)!r})), 'model.py:made', {{}}))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and "numbers.Number" in done.stdout, done.stderr


def test_pp_run_needs_nothing_that_is_not_carried():
    import pack
    if not (BUILD / "bin/pp-run").exists():
        pytest.skip("pp-run is not built")
    carried = pack.libraries(BUILD / "bin/pp-run")
    assert any(name.startswith("libstagewright-rt") for name in carried)
    assert not [name for name in carried if "MLIR" in name or "LLVM" in name or "cuda" in name]


@pytest.fixture
def emulated(tmp_path):
    """(environment of the emulator, a small artifact, its inputs)."""
    numpy, files = pytest.importorskip("numpy"), pytest.importorskip("safetensors.numpy")
    library, artifact = BUILD / "unit/fixtures/cuda-emulator.so", BUILD / "unit/fixtures/device.swx"
    if not (BUILD / "bin/bench-graph").exists() or not artifact.exists():
        pytest.skip("bench-graph and the fixtures are not built")
    files.save_file({"0": numpy.zeros((4, 4), numpy.float32), "1": numpy.zeros((4, 4, 4), numpy.float32)}, tmp_path / "in")
    return {**os.environ, "STAGEWRIGHT_CUDA_LIBRARY": library, "STAGEWRIGHT_CUBLASLT_LIBRARY": library}, artifact, tmp_path / "in"


def test_the_graph_by_hand_has_the_work_of_ours(emulated, tmp_path):
    environment, artifact, inputs = (emulated)
    environment["STAGEWRIGHT_EMULATOR_LOG"] = tmp_path / "log"
    done = subprocess.run([BUILD / "bin/bench-graph", artifact, inputs, "2", "3"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert {side: len(times) for side, times in found["seconds"].items()} == {"ours": 2, "graph": 2, "streams": 2, "line": 2}
    assert set(found["different_results"].values()) == {0}
    # Three captures with the same kernels and products: the hand-written graph does no other work.
    captures = [part.partition("captured ")[0] for part in (tmp_path / "log").read_text().split("capture stream")[1:]]
    works = [sorted(line.split(" ", 1)[0] + line.partition("kernel")[2].partition(" ")[0] for line in part.splitlines()
                    if line.split(" ", 1)[0] in ("launch", "matmul", "fill", "copy")) for part in captures]
    assert len(works) == 3 and works[0] and works[0] == works[1] == works[2]


def test_a_graph_by_hand_needs_one_gpu_and_a_device_target(emulated):
    environment, _, inputs = (emulated)
    done = subprocess.run([BUILD / "bin/bench-graph", BUILD / "unit/fixtures/pipeline.swx", inputs, "2", "3"], env=environment,
                          capture_output=True, text=True)
    assert done.returncode == 1 and "has no target CUDA" in done.stderr


def test_profiles_of_a_gpu_have_a_class_and_times_that_can_be(emulated, tmp_path):
    environment, artifact, inputs = (emulated)
    done = subprocess.run([BUILD / "bin/pp-run", artifact, f"--inputs={inputs}", f"--profile={tmp_path / 'p.json'}", "--steps=3",
                           "--devices=0,0"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    profile = json.loads((tmp_path / "p.json").read_text())
    assert profile["device_class"] == "cuda" and profile["actions"]
    # The emulator's times are not real: actions may lie after the end of the step.
    assert min(profile["step"].values()) >= 0


def fat_binary(*codes):
    """A fat binary of (kind, architecture, bytes of code)."""
    import struct
    body = b"".join(struct.pack("<HHIQIIHHIIIQQQ", kind, 257, 72, len(code), 0, 0, 0, 0, of, 0, 0, 0, 0, 0)[:72].ljust(72, b"\0") + code
                    for kind, of, code in codes)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def test_a_slim_library_keeps_the_code_of_one_architecture():
    import slim
    first = fat_binary((2, 80, b"a" * 64), (2, 90, b"b" * 32), (1, 90, b"text" * 4))
    data = bytearray(b"ELF" + first + b"between" + fat_binary((2, 90, b"c" * 16)) + slim.MAGIC + b"no header")
    size = len(data)
    assert slim.keep_only(data, 90) == 48 and len(data) == size
    assert b"b" * 32 in data and b"c" * 16 in data and b"between" in data and b"no header" in data
    assert b"a" * 4 not in data and b"text" not in data
    assert slim.keep_only(bytearray(first), 100) == 0


def test_predictions_are_held_against_the_step_without_stamps(tmp_path, monkeypatch):
    import predict
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans/gpt-1.mlir").write_text("")
    (tmp_path / "bin").mkdir()
    # Answers as pp-sim does, from the given profile.
    program = tmp_path / "bin/pp-sim"
    program.write_text(f"""#!{sys.executable}
import json, sys
profile = json.load(open(sys.argv[2].partition("=")[2]))
assert "plain" not in profile
print(json.dumps(dict(measured=dict(step_s=profile["step"]["seconds"], predicted_s=profile["actions"]["0F"] * 4, error=0.5))))
""")
    program.chmod(0o755)

    def verdict(plain):
        line = {**rows.told("gpt-1", 1), "profile": {"actions": {"0F": 0.25}, "step": {"seconds": 2.0}, "plain": plain}}
        report.write(tmp_path, {"profile": {"items": {"gpt-1": {"rows": [line], "seconds": 1}}, "cuts": {}, "ended": True, "seconds": 1}})
        status = predict.add(tmp_path, tmp_path, tmp_path)
        known = report.load(tmp_path / "report.json")
        assert list(known) == ["profile", "predict"] and "## predict" in (tmp_path / "report.md").read_text()
        return status, known["predict"]["items"]["gpt-1"]["rows"][0]["verdict"]
    assert verdict(1.04) == (0, "passed") and verdict(1.06) == (1, "failed")


def test_sides_take_turns_and_the_ratio_decides(monkeypatch):
    import check_step
    import peers
    order = []

    class Side:
        def __init__(self, name, seconds):
            self.name, self.seconds = name, seconds

        def turn(self, count):
            order.append(self.name)
            return [self.seconds] * count
    case = {"name": "one", "sizes": "V=8,D=4,H=1,L=2,T=16,B=2", "microbatches": 1}
    monkeypatch.setattr(peers, "matrix_limit", lambda: 1e9)
    monkeypatch.setattr(check_step, "Ours", lambda machine, name, *flags: Side(name + "".join(flags), 0.01 - 0.002 * len(flags)))
    assert check_step.any_order(None, "one")[0]["seen"] == "0.800 (8.000 ms and 10.000 ms)"
    assert order == ["one", "one--any-order"] * 3
    order.clear()
    monkeypatch.setattr(check_step, "Ours", lambda machine, name: Side("ours", 0.01))
    slow = check_step.beside(None, case, "peer", lambda: Side("peer", 0.02))
    assert order == ["ours", "peer"] * check_step.ROUNDS
    assert slow[0]["verdict"] == "passed" and slow[0]["seen"].startswith("0.500 (0.500 to 0.500 in 5 rounds; ours 10.000 ms")
    assert check_step.beside(None, case, "peer", lambda: Side("peer", 0.009))[0]["verdict"] == "failed"
    # Per token: 6 for each of the 12 L D^2 + D V weights, and 12 L D T for attention.
    operations = 6 * (12 * 2 * 4 * 4 + 4 * 8) * 32 + 12 * 2 * 4 * 16 * 32
    assert peers.flops(case) == operations
    assert f"{operations / 0.01 / 1e9 * 100:.1f} % of the limit" in slow[3]["seen"]
