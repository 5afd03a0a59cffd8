"""The operators, one file per kind. Importing the package fills the table of stagewright.onnx.registry."""

from stagewright.onnx.operators import (activations, arithmetic, attention, control, convolutions,  # noqa: F401
                                        indexing, logic, losses, normalisation, pooling, products, quantization,
                                        recurrent, reductions, resize, scatter, sequences, shapes, types)
