"""Training runs through the C ABI, from C and from Python's ctypes: checkpoints equal pp-run's, and errors are texts."""

import ctypes
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file

from test_runs import MODEL, command, losses, newest, run, text  # noqa: F401
from workshop import BUILD, call

PLAN, STEPS = (2, "1f1b"), 6
FILES = ("params.safetensors", "state.safetensors")
I64, I32, TEXT, LIST = ctypes.c_int64, ctypes.c_int32, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)


class Options(ctypes.Structure):
    """sw_training_options of stagewright-rt/training.h."""
    _fields_ = [("size", ctypes.c_size_t), ("artifact", TEXT), ("inputs", TEXT), ("steps", I64), ("step", ctypes.c_void_p),
                ("has_init", I32), ("init", ctypes.c_uint32), ("repeat", I32), ("ignore_nan", I32), ("data", LIST),
                ("has_shuffle", I32), ("shuffle", ctypes.c_uint64), ("source", TEXT), ("source_seed", ctypes.c_uint64),
                ("step_values", LIST), ("same_seed", I32), ("resume", I32), ("checkpoints", TEXT), ("checkpoint_every", I64),
                ("keep", I64), ("metrics", TEXT), ("validation", TEXT), ("validation_data", LIST), ("validate_every", I64),
                ("validation_steps", I64)]


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", I32), ("rank", I32), ("shape", ctypes.POINTER(I64)), ("data", ctypes.c_void_p)]


class Value(ctypes.Structure):
    _fields_ = [("role", TEXT), ("name", TEXT), ("position", I64), ("tensor", Tensor)]


@pytest.fixture(scope="module")
def runtime():
    library = ctypes.CDLL(str(BUILD / "lib/libstagewright-rt.so"))
    run = ctypes.c_void_p
    for name, result, arguments in (
            ("error", TEXT, []), ("training_create", run, [ctypes.POINTER(Options)]), ("training_destroy", None, [run]),
            ("training_run", I64, [run, I64, ctypes.POINTER(ctypes.c_double)]), ("training_done", I64, [run]),
            ("training_save", ctypes.c_int, [run]), ("training_value_count", I64, [run]),
            ("training_describe", ctypes.c_int, [run, I64, ctypes.POINTER(Value)]),
            ("training_read", ctypes.c_int, [run, TEXT, TEXT, ctypes.POINTER(Tensor)])):
        function = getattr(library, f"sw_{name}")
        function.restype, function.argtypes = result, arguments
    return library


@pytest.fixture(scope="module")
def whole(workshop, text):
    """The folder of a run by pp-run."""
    folder = workshop.path("abi", "whole")
    run(workshop, text, *PLAN, folder, STEPS)
    return folder


def options(workshop, text, folder, **more):
    texts = [f"{name}".encode() for name in (f"ids={text}", f"tgt={text}+1")]
    module = workshop.module(MODEL)
    return Options(**{
        "size": ctypes.sizeof(Options), "artifact": str(workshop.artifact(MODEL, *PLAN)).encode(), "steps": STEPS,
        "inputs": str(module.with_suffix(".inputs.safetensors")).encode(), "checkpoints": str(folder).encode(),
        "data": (ctypes.c_char_p * 3)(*texts, None), **more})


def saved(folder):
    return [(newest(folder) / name).read_bytes() for name in FILES]


def error(runtime, failed):
    assert failed
    return runtime.sw_error().decode()


def test_a_program_in_c_trains_as_pp_run(workshop, text, whole):
    """Four steps, a checkpoint, and two more in a new object."""
    folder, inputs = workshop.path("abi", "c"), workshop.module(MODEL).with_suffix(".inputs.safetensors")
    lines = call(BUILD / "unit/train-in-c", workshop.artifact(MODEL, *PLAN), inputs, folder, 4, STEPS, f"ids={text}",
                 f"tgt={text}+1").splitlines()
    assert saved(folder) == saved(whole)
    assert [float.fromhex(line) for line in lines[:STEPS]] == losses(whole)
    known = [f"{role} {name} {int(np.frombuffer(value.tobytes(), np.uint8).astype(np.int64).sum())}"
             for role, file in zip(("parameter", "state"), FILES)
             for name, value in sorted(load_file(newest(whole) / file).items())]
    assert lines[STEPS:] == known


def test_wrong_calls_from_c_return_their_reason(workshop):
    artifact = workshop.artifact(MODEL, *PLAN)
    found = dict(line.split(": ", 1) for line in call(BUILD / "unit/train-in-c", artifact).splitlines())
    size = ctypes.sizeof(Options)
    assert found == {
        "no options": "sw_training_options is null",
        "no size": f"sw_training_options has 0 bytes, expected {size}; host and runtime differ in version",
        "no artifact": "sw_training_options has no 'artifact'; give the file that pp-compile wrote",
        "missing artifact": found["missing artifact"],
        "no inputs": "no arguments for the step; give them with --inputs=FILE, or initialise them with --init=SEED",
        "missing inputs": found["missing inputs"],
        "no run": "the training run is null", "save no run": "the training run is null",
        "read no run": "the training run is null", "describe no run": "the training run is null",
        "no step": "the training run is null"}
    assert "'/nowhere/step.swx'" in found["missing artifact"] and "No such file" in found["missing artifact"]
    assert "/nowhere/inputs.safetensors" in found["missing inputs"] and "No such file" in found["missing inputs"]


def test_ctypes_trains_as_pp_run(workshop, text, whole, runtime):
    """Either also resumes the other's run."""
    folder = workshop.path("abi", "ctypes")
    training = runtime.sw_training_create(options(workshop, text, folder, checkpoint_every=2))
    assert training, runtime.sw_error()
    found = (ctypes.c_double * 3)()
    assert runtime.sw_training_run(training, 3, found) == 3 and runtime.sw_training_done(training) == 3
    assert list(found) == losses(whole)[:3]
    assert runtime.sw_training_save(training) == 0
    assert sorted(p.name[-2:] for p in folder.glob("step-*")) == ["02", "03"]
    known = {**load_file(newest(folder) / FILES[0]), **load_file(newest(folder) / FILES[1])}
    assert runtime.sw_training_value_count(training) == len(known)
    value = Value()
    for i in range(len(known)):
        assert runtime.sw_training_describe(training, i, value) == 0
        read = np.empty(value.tensor.shape[:value.tensor.rank], known[value.name.decode()].dtype)
        value.tensor.data = read.ctypes.data
        assert runtime.sw_training_read(training, value.role, value.name, value.tensor) == 0
        assert np.array_equal(read, known[value.name.decode()])
    runtime.sw_training_destroy(training)
    subprocess.run([*command(workshop, text, *PLAN, folder, 5), "--resume"], check=True, capture_output=True)
    training = runtime.sw_training_create(options(workshop, text, folder, resume=1))
    assert runtime.sw_training_done(training) == 5 and runtime.sw_training_run(training, 1, None) == 1
    assert runtime.sw_training_save(training) == 0
    runtime.sw_training_destroy(training)
    assert saved(folder) == saved(whole)


def test_errors_have_their_place(workshop, text, whole, runtime):
    create = runtime.sw_training_create

    def refused(**more):
        return error(runtime, not create(options(workshop, text, workshop.path("abi", "errors"), **more)))

    assert refused(steps=0) == "the number of steps is 0, expected at least 1"
    assert refused(resume=1).endswith("errors' has no checkpoint; without --resume the run begins at step 1")
    assert "has a checkpoint of step 6 already" in refused(checkpoints=str(whole).encode())
    assert refused(checkpoints=str(whole).encode(), resume=1) == \
        "the checkpoint is of step 6, and --steps is 6; nothing is left to run"
    assert refused(data=(ctypes.c_char_p * 2)(b"words=/nowhere/x.npy", None)) == \
        "--data: no batch argument is called 'words'; they are 'ids', 'tgt'"
    # A source in a library is served by the pp-run beside the runtime, not by this program.
    assert "neighbours.so:none': cannot read the graph 'none'" in refused(
        data=None, source=f"{BUILD / 'lib/neighbours.so'}:none".encode())


def test_errors_of_a_run_have_their_place(workshop, text, runtime):
    training = runtime.sw_training_create(options(workshop, text, "", checkpoints=None, steps=1))
    assert training, runtime.sw_error()
    assert error(runtime, runtime.sw_training_save(training) < 0).startswith("the run has no folder for checkpoints")
    assert "expected at least 0" in error(runtime, runtime.sw_training_run(training, -1, None) < 0)
    assert runtime.sw_training_run(training, 1, None) == 1
    assert error(runtime, runtime.sw_training_run(training, 1, None) < 0) == "all 1 steps of the run are done"
    value = Value()
    assert runtime.sw_training_describe(training, 0, value) == 0
    wrong = Tensor(value.tensor.dtype, 1, (I64 * 1)(7), ctypes.cast(ctypes.create_string_buffer(64), ctypes.c_void_p))
    assert "has shape [7], expected [" in error(runtime, runtime.sw_training_read(training, value.role, value.name, wrong) < 0)
    assert error(runtime, runtime.sw_training_read(training, b"state", b"nothing", wrong) < 0).startswith(
        "the step has no state 'nothing'; it has ")
    assert "sw_tensor is null" == error(runtime, runtime.sw_training_read(training, value.role, value.name, None) < 0)
    assert "there is no value number 1000" in error(runtime, runtime.sw_training_describe(training, 1000, value) < 0)
    runtime.sw_training_destroy(training)
