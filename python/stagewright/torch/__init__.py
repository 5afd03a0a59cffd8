"""PyTorch: converts a module and its loss to a step, through torchax and the importer of JAX steps.

    stagewright.torch.import_step(module, loss, batch, "model.mlir", **options)
    module.load_state_dict(stagewright.torch.state_dict("run/step-000000000100", module))

Needs the extra `[torch]`: the versions of torch and torchax pinned there.
"""

from stagewright.torch.step import OPTIONS, import_step, state_dict

__all__ = ["OPTIONS", "import_step", "state_dict"]
