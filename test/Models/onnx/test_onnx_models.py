"""Exported models: outputs equal onnxruntime's and gradients PyTorch's, in JAX and compiled for stages."""

import os
import pathlib
import subprocess
import sys

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import exports
import stagewright.onnx
from stagewright import ImportFailure
from stagewright.onnx.step import step_of

ROOT = pathlib.Path(exports.__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", ROOT / "build"))
MICROBATCHES = 2


@pytest.fixture(scope="module", params=exports.MODELS, ids=lambda make: make.__name__)
def export(request, tmp_path_factory):
    return exports.Export(request.param, tmp_path_factory.mktemp(request.param.__name__))


def relative(found, golden):
    return float(np.linalg.norm(np.asarray(found, np.float64) - golden) / np.linalg.norm(np.asarray(golden, np.float64)))


def check_gradients(found, golden, tolerance):
    """Errors within `tolerance` of the gradient's norm, or of a thousandth of the largest norm."""
    names = {name.removeprefix("params/"): array for name, array in found.items()}
    largest = max(np.linalg.norm(array) for array in golden.values())
    for name, array in names.items():
        error = np.linalg.norm(np.asarray(array, np.float64) - golden[name])
        assert error <= tolerance * max(np.linalg.norm(golden[name]), 1e-3 * largest), name


def test_outputs_equal_those_of_onnxruntime(export):
    model = stagewright.onnx.load(export.file)
    found = jax.jit(lambda values, inputs: model(values, **inputs))({**model.parameters, **model.frozen}, export.inputs)
    for name, golden in zip(("loss", "logits"), export.runtime_outputs()):
        assert found[name].shape == golden.shape and relative(found[name], golden) < 1e-5
        np.testing.assert_allclose(found[name], golden, 1e-5, 1e-5 * np.abs(golden).max())


def test_gradients_equal_those_of_torch(export):
    function, arguments, _ = step_of(stagewright.onnx.load(export.file), "loss", export.inputs)
    loss, gradients = jax.jit(function)(*arguments)
    golden_loss, golden = export.torch_gradients(export.inputs)
    assert relative(loss, golden_loss) < 1e-5
    check_gradients(gradients, golden, 1e-4)


def test_every_parameter_is_trained(export):
    """Tied weights are one parameter. All parameters that torch trains are trained, and no others."""
    model = stagewright.onnx.load(export.file)
    trained = {name: parameter for name, parameter in export.module.named_parameters(remove_duplicate=False)
               if parameter.requires_grad}
    ours = {id(trained[name]) for name in model.parameters}  # every name is one of torch's
    _, golden = export.torch_gradients(export.inputs)
    assert ours >= {id(trained[name]) for name in golden} and len(ours) == len(model.parameters)


@pytest.mark.parametrize("stages", (1, 2))
def test_compiled_for_stages(export, stages, tmp_path):
    """Loss and gradients over different microbatches."""
    np.savez(tmp_path / "examples.npz", **export.inputs)
    run(sys.executable, "-m", "stagewright", "import", "onnx", export.file, "--loss=loss", "--inputs",
        tmp_path / "examples.npz", "-o", tmp_path / "step.mlir")
    run(BUILD / "bin/pp-compile", tmp_path / "step.mlir", f"--cluster=local:{stages}", f"--stages={stages}",
        f"--microbatches={MICROBATCHES}", "-o", tmp_path / "step.swx")
    batches = [export.inputs, {name: np.flip(array, -1).copy() for name, array in export.inputs.items()}]
    arrays = load_file(tmp_path / "step.inputs.safetensors")
    model = stagewright.onnx.load(export.file)
    first = len(model.parameters) + len(model.frozen)
    for position, name in enumerate(export.inputs, first):
        kind = arrays[str(position)].dtype
        arrays[str(position)] = np.stack([batch[name].astype(kind) for batch in batches])
    save_file(arrays, tmp_path / "inputs.safetensors")
    run(BUILD / "bin/pp-run", tmp_path / "step.swx", f"--inputs={tmp_path}/inputs.safetensors",
        f"--outputs={tmp_path}/out.safetensors")
    found = load_file(tmp_path / "out.safetensors")
    losses, gradients = zip(*(export.torch_gradients(batch) for batch in batches))
    assert relative(found["0"], np.mean(losses)) < 1e-5
    check_gradients({name: found[str(i)] for i, name in enumerate(sorted(model.parameters), 1)},
                    {name: np.mean([g[name] for g in gradients], 0) for name in gradients[0]}, 1e-4)


def test_layers_are_the_models_blocks(tmp_path):
    """The scopes of nodes are the paths of modules, with a list's name before each number (`h.3`)."""
    made = exports.Export(exports.architectures.gpt2, tmp_path)
    stagewright.onnx.import_step(made.file, str(tmp_path / "step.mlir"), loss="loss")
    text = (tmp_path / "step.mlir").read_text()
    for block in range(4):
        assert f"jit(step)/jvp(module)/transformer/h.{block}/attn/" in text
    assert "transpose(jvp(module))/transformer/h.3/mlp/c_fc/" in text


def test_files_of_the_exporters_optimizer_are_not_trained_unasked(tmp_path):
    """The optimizer folds weights and masks into initializers that the file no longer distinguishes."""
    made = exports.Export(exports.architectures.gpt2, tmp_path, optimize=True)
    with pytest.raises(ImportFailure, match="and the file does not say from which; export with optimize=False, or name"):
        stagewright.onnx.import_step(made.file, str(tmp_path / "step.mlir"), loss="loss")
    stagewright.onnx.import_step(made.file, str(tmp_path / "step.mlir"))  # inference needs no such distinction
    stagewright.onnx.import_step(made.file, str(tmp_path / "step.mlir"), loss="loss", frozen=["val_*", "embedding_1"])


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
    assert done.returncode == 0, done.stdout + done.stderr
