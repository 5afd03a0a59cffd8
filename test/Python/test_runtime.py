"""stagewright.load on artifacts with hand-written rank programs (test/Unit/Runtime/Fixtures)."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", pathlib.Path(__file__).parents[2] / "build"))
PIPELINE = BUILD / "unit/fixtures/pipeline.swx"
SLICES = BUILD / "unit/fixtures/slices.swx"
sys.path.insert(0, str(BUILD / "python"))

if os.environ.get("STAGEWRIGHT_PYTHON") == "OFF":
    pytest.skip("the binding was not asked for (STAGEWRIGHT_PYTHON=OFF)", allow_module_level=True)
import _stagewright_runtime  # noqa: E402, F401
if not PIPELINE.exists():
    pytest.skip("the artifacts by hand were not built (unit-tests)", allow_module_level=True)

import stagewright  # noqa: E402


def arguments(microbatches=4, fault=0):
    w = np.array([1, 2, 3, 4], np.float32)
    x = np.add.outer(10 * np.arange(microbatches), np.arange(4)).astype(np.float32)
    return [w, x, np.int32(fault)]


def expected(w, x, _):
    weight = np.arange(1, len(x) + 1, dtype=np.float32)
    return [np.float32((w * x * weight[:, None]).sum() / len(x)), (x * weight[:, None]).sum(0) / len(x),
            (w * x).reshape(-1)]


@pytest.mark.parametrize("microbatches", [1, 4, 9])
def test_results_come_by_position(microbatches):
    step = stagewright.load(PIPELINE, microbatches=microbatches, check_memory=True)
    given = arguments(microbatches)
    for got, want in zip(step.run(given), expected(*given), strict=True):
        assert got.dtype == np.float32 and got.shape == want.shape
        np.testing.assert_array_equal(got, want)
    assert step.seconds > 0


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_give_the_results_of_one(threads):
    step = stagewright.load(PIPELINE, threads_per_rank=threads)
    given = arguments()
    for got, want in zip(step.run(given), expected(*given), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_dilated_rank_is_slower_and_computes_the_same(tmp_path):
    plain, slow = stagewright.load(PIPELINE), stagewright.load(PIPELINE, trace=True, dilate={1: 20000})
    for before, after in zip(plain.run(arguments()), slow.run(arguments()), strict=True):
        assert before.tobytes() == after.tobytes()
    slow.write_trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    spent = [event["dur"] for event in events if event["ph"] == "X" and event["name"].startswith("1F")]
    assert len(spent) == 4 and min(spent) > 1000  # us; without dilation, some tenths of a us


def test_a_factor_below_one_is_an_error():
    with pytest.raises(RuntimeError, match="dilate has '1:0.5', but the factor is 0.5, expected 1 to 1000000"):
        stagewright.load(PIPELINE, dilate={1: 0.5})


def test_a_rank_without_threads_is_an_error():
    with pytest.raises(ValueError, match="the number of threads per rank is 0, expected 1 to 1024"):
        stagewright.load(PIPELINE, threads_per_rank=0)


def test_arguments_stay_and_may_be_set_one_by_one():
    step = stagewright.load(PIPELINE)
    w, x, fault = arguments()
    step.set({0: w, 1: x, 2: fault})
    first = step.run()
    second = step.run({0: 2 * w})
    assert second[0] == 2 * first[0]
    assert step.manifest["schedule"] == "1f1b" and step.arena_bytes == 1664


def test_transposed_arrays_are_copied_in_order():
    step = stagewright.load(SLICES)
    p = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    x = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    gradient, joined, last = step.run([p, np.asfortranarray(x)])
    np.testing.assert_array_equal(gradient, 2 * p)
    np.testing.assert_array_equal(joined, np.concatenate(list(x @ p[0]), axis=1))
    np.testing.assert_array_equal(last, x[1] @ p[1])


def test_arrays_of_the_other_byte_order_are_converted():
    step = stagewright.load(PIPELINE)
    w, x, fault = arguments()
    swapped = [a.astype(a.dtype.newbyteorder("S")) for a in (w, x, np.asarray(fault))]
    assert swapped[0].tobytes() != w.tobytes()
    for got, want in zip(step.run(swapped), expected(w, x, fault), strict=True):
        np.testing.assert_array_equal(got, want)


def test_trace_and_profile(tmp_path):
    step = stagewright.load(PIPELINE, trace=True, profile=True)
    step.run(arguments())
    step.write_trace(tmp_path / "t.json")
    step.write_profile(tmp_path / "p.json")
    assert '"0F0"' in (tmp_path / "t.json").read_text()
    assert '"w.B"' in (tmp_path / "p.json").read_text()


@pytest.mark.parametrize("change, kind, text", [
    (lambda a: a[:2], ValueError, "the step takes 3 arguments, but got 2"),
    (lambda a: {0: a[0][:3]}, RuntimeError, r"argument 0 \('params/w'\) has shape \[3\], expected \[4\]"),
    (lambda a: {0: a[0].astype(np.float64)}, RuntimeError, r"argument 0 \('params/w'\) has type f64, expected f32"),
    (lambda a: {0: a[0].astype(complex)}, TypeError, "argument 0 has type complex128, which no step takes"),
    (lambda a: {7: a[0]}, RuntimeError, "there is no argument 7; the step has 4"),
    (lambda a: [a[0], a[1], np.int32(1)], RuntimeError, "rank 1: asked to fail at microbatch 2"),
])
def test_errors(change, kind, text):
    step = stagewright.load(PIPELINE)
    with pytest.raises(kind, match=text):
        step.run(change(arguments()))


def test_one_thread_at_a_time():
    """While one thread runs the step, others are refused; afterwards it is free again."""
    step = stagewright.load(PIPELINE, microbatches=20_000)
    given = arguments(20_000)
    step.set(given)
    refused, done = [], threading.Event()

    def again_and_again():
        while not done.is_set():
            try:
                step.run()
            except RuntimeError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=again_and_again) for _ in range(2)]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 60
    while not refused and time.monotonic() < deadline:
        time.sleep(0.01)
    done.set()
    for thread in threads:
        thread.join()
    assert set(refused) == {"the step is running in another thread"}
    assert len(step.run(given)) == 3


def test_errors_of_loading():
    with pytest.raises(RuntimeError, match="No such file or directory"):
        stagewright.load("nowhere.swx")
    with pytest.raises(RuntimeError, match=r"has version 99, this runtime reads \d+"):
        stagewright.load(BUILD / "unit/fixtures/newer.swx")
    with pytest.raises(ValueError, match="the number of microbatches is 0"):
        stagewright.load(PIPELINE, microbatches=0)


def test_nothing_heavy_is_loaded():
    code = (f"import sys; sys.path[:0] = {[str(BUILD / 'python'), str(pathlib.Path(stagewright.__file__).parents[1])]}\n"
            f"import stagewright; stagewright.load({str(PIPELINE)!r})\n"
            "maps = open('/proc/self/maps').read()\n"
            "assert not any(name in maps for name in ('libMLIR', 'libLLVM', 'jaxlib')), maps\n"
            "assert not {'jax', 'torch', 'torch_mlir'} & set(sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True)


def test_constants_in_the_artifact_are_not_asked_for(tmp_path):
    made = pathlib.Path(__file__).parents[1] / "Target/Inputs/constants.py"
    model, artifact = tmp_path / "model.mlir", tmp_path / "step.swx"
    model.write_text(subprocess.run([sys.executable, made], capture_output=True, text=True, check=True).stdout)
    subprocess.run([BUILD / "bin/pp-compile", model, "--cluster=local:1", "--microbatches=2", "--quiet", "-o", artifact],
                   check=True)
    step = stagewright.load(artifact)
    x = np.random.default_rng(0).random([2, 4, 32], np.float32)
    weight = np.arange(1024, dtype=np.float32).reshape(32, 32)
    np.testing.assert_allclose(step.run([x])[0], (x @ weight).reshape(8, 32), rtol=1e-5)
    step.set({1: 0 * weight})
    assert not step.run()[0].any()
