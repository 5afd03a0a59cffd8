"""Imports ONNX models: their operators are evaluated in JAX, and the JAX importer does the rest.

    stagewright.onnx.import_step("model.onnx", "model.mlir", loss="loss")    a file -> MLIR + example arguments
    stagewright.onnx.load("model.onnx")                                      a file -> a function for JAX

The first is for models whose file is complete, the second for your own losses and optimizers; its function then goes through
stagewright.import_jax like any JAX function.
"""

from stagewright.errors import ImportFailure


def _package():
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportFailure("the package onnx is not installed; install it with pip install "
                            "'stagewright[onnx]'") from error


def load(path, **options):
    _package()
    from stagewright.onnx.model import Model
    return Model(path, **options)


def import_step(path, output, **options):
    _package()
    from stagewright.onnx.step import import_step as function
    return function(path, output, **options)


load.__doc__ = "See stagewright.onnx.model.Model."
import_step.__doc__ = "See stagewright.onnx.step.import_step."
