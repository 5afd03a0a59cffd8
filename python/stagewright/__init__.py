"""Stagewright's Python side: import models, run compiled steps.

    stagewright.import_jax(function, example_arguments, "model.mlir")    a JAX step -> MLIR + example arguments
    stagewright.torch.import_step(module, loss, batch, "model.mlir")     the same for PyTorch
    stagewright.onnx.import_step("model.onnx", "model.mlir", loss=...)   the same for an ONNX file
    stagewright.replicate(2), stagewright.split(2)                       annotations of layers in a JAX model
    stagewright.load("step.swx")                                         a compiled step -> a callable on numpy arrays
    stagewright.Run("step.swx", "model.inputs.safetensors", ...)         many steps on batches from Python

Heavy packages are imported on first use: running a compiled step needs neither JAX nor MLIR.
"""

from stagewright.annotations import replicate, split
from stagewright.errors import ImportFailure, RunFailure

__all__ = ["ImportFailure", "Run", "RunFailure", "import_jax", "load", "replicate", "split"]


def import_jax(*args, **kwargs):
    from stagewright.frontend.jax_step import import_jax as function
    return function(*args, **kwargs)


def load(*args, **kwargs):
    from stagewright.runtime import load as function
    return function(*args, **kwargs)


def __getattr__(name):
    if name == "Run":
        from stagewright.training import Run
        return Run
    if name in ("onnx", "torch"):
        import importlib
        return importlib.import_module(f"stagewright.{name}")
    raise AttributeError(f"module 'stagewright' has no attribute '{name}'")


import_jax.__doc__ = "See stagewright.frontend.jax_step.import_jax."
load.__doc__ = "See stagewright.runtime.load."
