"""Converts parameters from other checkpoints into the file that `pp-run --inputs` reads.

    stagewright weights model.mlir llama-2-7b/ --map=llama.map          # writes model.inputs.safetensors

Only the data of one parameter is in memory at a time, so the size of a checkpoint does not matter.
"""

from stagewright.weights.convert import convert, default_output

__all__ = ["convert", "default_output"]
