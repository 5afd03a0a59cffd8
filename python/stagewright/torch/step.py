"""Imports a PyTorch training step, and converts trained checkpoints back."""

from __future__ import annotations

import torch

from stagewright.errors import ImportFailure
from stagewright.frontend.jax_step import call_model, described, import_jax
from stagewright.torch.compare import Reference, compare, compare_validation
from stagewright.torch.optimizer import Update
from stagewright.torch.program import Program

OPTIONS = {
    "layers": "the modules that are layers: names of classes, or paths with wildcards",
    "optimizer": "one of torch.optim, over the module's parameters",
    "clip_grad_norm": "the norm that all gradients together are clipped to before the optimizer's step",
    "clip_grad_value": "the value that each element of a gradient is clipped to",
    "masters": "whether the optimizer works on copies of the parameters in float32 (default false)",
    "validation": "whether to write the loss of the module in eval() to MODEL.validation.mlir (default false)",
}
PASSED = ("batch_dim", "combine", "microbatches", "cluster", "unroll_limit", "roles", "update")


def import_step(module, loss, batch, path, **options):
    """Writes the step of `loss(module, **batch)` to `path`, and its arguments next to it, as import_jax does.

    `batch` is a dictionary of one microbatch: tensors are arguments of the step, other values are constants. The options are
    those of OPTIONS and, of import_jax, {passed}. Loss and gradients are compared with torch's own before anything is written.
    The module is not modified. Returns the signature; raises ImportFailure.
    """
    for key in options:
        if key not in OPTIONS and key not in PASSED:
            raise ImportFailure(f"unknown option '{key}'; the options are {', '.join((*OPTIONS, *PASSED))}")
    if not isinstance(module, torch.nn.Module) or not callable(loss) or not isinstance(batch, dict):
        raise ImportFailure("a step is (module, loss, batch): a torch.nn.Module, a function, a dictionary; not "
                            f"({', '.join(type(part).__name__ for part in (module, loss, batch))})")
    if "update" in options and options.get("optimizer") is not None:
        raise ImportFailure("options 'optimizer' and 'update' are two optimizers: give one of them")
    passed = {key: options[key] for key in PASSED if key in options}
    module = getattr(module, "_orig_mod", module)  # the module inside torch.compile
    program = Program(module, loss, batch, options)
    reference = Reference(program)
    program.leave_out([name for name, gradient in reference.gradients.items() if gradient is None])
    program.discover()
    compare(program, reference)
    if options.get("optimizer") is not None:
        made = Update(program, options["optimizer"], options.get("clip_grad_norm"), options.get("clip_grad_value"),
                      options.get("masters", False))
        passed["update"] = (made, made.state, made.rates)
    else:
        _require_optimizer(options, "clip_grad_norm", "clip_grad_value", "masters")
    stateful = options.get("optimizer") is not None
    step, arguments = program.step(stateful)
    if options.get("validation"):
        passed["validation"] = program.validation()
        compare_validation(program, passed["validation"])
    if stateful and program.changed:
        passed["combine"] = {**{f"grads/{name}": "mean" for name in program.changed}, **passed.get("combine", {})}
    elif program.changed:
        program.remarks.append(f"the forward writes {len(program.changed)} buffers ('{program.changed[0]}'), which are "
                               "results here; with the option 'optimizer' they are carried from step to step")
    roles = {"constants": "constant", **passed.pop("roles", {})}
    signature = import_jax(step, arguments, path, roles=roles, source="torch", **passed)
    signature.remarks[:0] = program.remarks
    return signature


def _require_optimizer(options, *names):
    for name in names:
        if options.get(name):
            raise ImportFailure(f"option '{name}' needs the option 'optimizer'")


import_step.__doc__ = import_step.__doc__.format(passed=", ".join(PASSED))


def load_step(specification):
    """`FILE.py:NAME` -> (module, loss, batch, options)."""
    returns = "(module, loss, batch[, options])"
    made, name, file = call_model(specification, returns)
    if not isinstance(made, tuple) or len(made) not in (3, 4) or not isinstance(made[0], torch.nn.Module) or \
            not callable(made[1]) or not isinstance(made[2], dict) or (made[3:] and not isinstance(made[3], dict)):
        raise ImportFailure(f"'{name}' of '{file}' must return {returns}: a torch.nn.Module, a function, a dictionary "
                            f"and a dictionary, but it returned {described(made)}")
    return (*made[:3], dict(made[3]) if made[3:] else {})


def state_dict(folder, module):
    """The argument for `module.load_state_dict` from a checkpoint's folder: trained parameters, and buffers that the
    training changed, under all of their names, and the module's own values for everything else."""
    from stagewright import checkpoints

    _, tensors, _ = checkpoints.read(folder)
    names = {}
    for name, tensor in (*module.named_parameters(remove_duplicate=False),
                         *module.named_buffers(remove_duplicate=False)):
        names.setdefault(id(tensor), []).append(name)
    found = module.state_dict()
    for key, array in tensors["parameter"].items():
        name = key.removeprefix("params/")
        same = next((group for group in names.values() if name in group), None)
        if same is None:
            raise ImportFailure(f"'{folder}' has '{key}', but the module has no '{name}'")
        for other in set(same) & set(found):
            found[other] = _tensor(array)
    return found


def _tensor(array):
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view("int16").copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())
