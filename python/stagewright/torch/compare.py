"""Loss and gradients beside those of torch's autograd, on the example batch and without dropout, before anything is
written: whatever torchax computes otherwise ends here."""

from __future__ import annotations

import copy

import jax
import numpy as np
import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from stagewright.errors import ImportFailure
from stagewright.torch.environment import constant
from stagewright.torch.rules import ATTENTION, DROPOUTS, RANDOM, replaced

# Norm of a difference, relative to the gradient and to the largest gradient: what another order of summation explains.
RELATIVE, ABSOLUTE = 2e-5, 1e-7
# Where that is not kept, torch's own error against float64 is the measure, and ours may be so many times as large: at the
# kink of a ReLU one element decides.
TIMES = 4.0
_FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


class _Still(TorchFunctionMode):
    """Leaves dropout out and notes random numbers."""

    def __init__(self):
        super().__init__()
        self.drawn = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in DROPOUTS:
            return args[0] if args else kwargs["input"]
        result = _attention(*args, **(kwargs or {})) if func is ATTENTION else func(*args, **(kwargs or {}))
        if func in RANDOM:
            self.drawn.append(constant(result))
        return result


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, *args, **kwargs):
    return ATTENTION(query, key, value, attn_mask, 0.0, *args, **kwargs)


class Reference:
    """What torch computes: `loss`, `gradients` (None where the loss does not depend on a parameter), `written`
    buffers, and the random numbers that were `drawn`."""

    def __init__(self, program, double=False):
        module, batch = program.module, program.batch
        if double:
            module = copy.deepcopy(module).double()
            batch = {k: v.double() if v.is_floating_point() else v for k, v in batch.items()}
        tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        buffers = {name: b.detach().clone() for name, b in module.named_buffers()}
        parameters = {name: tensors[name] for name in program.trained}
        still = _Still()
        with torch.random.fork_rng(devices=[]), torch.enable_grad(), replaced(
                (F, "dropout", lambda input, *_, **__: input), (F, ATTENTION.__name__, _attention)), still:
            torch.manual_seed(0)
            loss = program.loss(module, **batch, **program.plain)
        if not isinstance(loss, torch.Tensor) or loss.dim() != 0 or not loss.requires_grad:
            raise ImportFailure("the loss must be a tensor without dimensions that depends on the module's parameters")
        gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
        self.loss, self.drawn = _numbers(loss), still.drawn
        self.gradients = {name: None if g is None else _numbers(g) for name, g in zip(parameters, gradients)}
        self.written = {}
        for name, buffer in module.named_buffers():
            if not torch.equal(buffer, buffers[name]):
                self.written[name] = _numbers(buffer)
            with torch.no_grad():
                buffer.copy_(buffers[name])

    def values(self):
        named = {"loss": self.loss, **{f"gradient of '{n}'": g for n, g in self.gradients.items() if g is not None}}
        return {**named, **{f"buffer '{n}'": b for n, b in self.written.items()}}


def _numbers(tensor):
    return tensor.detach().to(torch.float64).numpy()


def compare(program, reference):
    """Raises ImportFailure where the program's loss, gradients or buffers are not the reference's."""
    arrays = {name: program.arrays[name] for name in (*program.trained, *program.fixed, *program.changed)}
    batch = {name: constant(tensor) for name, tensor in program.batch.items()}

    def step(trained, others, batch):
        def loss(trained):
            return program.evaluate({**others, **trained}, batch, jax.random.key(0), True, reference.drawn)
        return jax.value_and_grad(loss, has_aux=True)(trained)

    trained = {name: arrays.pop(name) for name in program.trained}
    (loss, written), gradients = jax.jit(step, compiler_options=_FAST)(trained, arrays, batch)
    ours = {"loss": loss, **{f"gradient of '{n}'": g for n, g in gradients.items()},
            **{f"buffer '{n}'": b for n, b in written.items()}}
    ours = {name: np.asarray(value, np.float64) for name, value in ours.items()}
    theirs = reference.values()
    theirs = {name: value for name, value in theirs.items() if not name.endswith("num_batches_tracked'")}
    for name in theirs:
        ours.setdefault(name, np.zeros(()))
    wrong = _differences(ours, theirs, {})
    if wrong:
        exact = Reference(program, double=True).values()
        own = {name: np.linalg.norm(theirs[name] - exact[name]) for name in theirs}
        wrong = _differences(ours, {name: exact[name] for name in theirs}, own)
    if wrong:
        name, (difference, norm, allowed) = max(wrong.items(), key=lambda w: w[1][0] / (w[1][1] or 1))
        others = f" (and {len(wrong) - 1} more values)" if len(wrong) > 1 else ""
        raise ImportFailure(f"the {name} differs from torch's autograd by {difference:.3g} of {norm:.3g}, {allowed:.3g} is "
                            f"allowed{others}: an operator in or behind that module is not translated rightly; write "
                            "it in other operators of torch, or detach what it computes")


def _differences(ours, theirs, own):
    """{name: (norm of the difference, norm, what is allowed)} where more than that is found."""
    norms = {name: float(np.linalg.norm(value)) for name, value in theirs.items()}
    largest = max((n for name, n in norms.items() if name.startswith("gradient")), default=0.0)
    wrong = {}
    for name, norm in norms.items():
        difference = float(np.linalg.norm(ours[name] - theirs[name]))
        allowed = max(RELATIVE * norm + ABSOLUTE * (largest if name.startswith("gradient") else 1.0),
                      TIMES * own.get(name, 0.0))
        if not difference <= allowed:
            wrong[name] = difference, norm, allowed
    return wrong
