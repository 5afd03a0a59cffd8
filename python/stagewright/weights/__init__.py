"""Parameters of a model from checkpoints of others, into the file that `pp-run --inputs` reads.

    stagewright weights model.mlir llama-2-7b/ --map=llama.map          # writes model.inputs.safetensors

Nothing is held in memory but one piece of one tensor, so that the size of a checkpoint does not matter.
"""

from stagewright.weights.convert import convert, default_output

__all__ = ["convert", "default_output"]
