"""Compares loss, gradients and changed buffers with torch's own, on the example batch and without dropout, before anything is
written: this finds differences between torchax and torch."""

from __future__ import annotations

import contextlib
import copy

import jax
import numpy as np
import torch
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from stagewright.errors import ImportFailure
from stagewright.torch.environment import constant, first_line
from stagewright.torch.rules import ATTENTION, DROPOUTS, is_random, replaced

# Allowed norm of a difference: relative to the gradient, relative to the largest gradient, and absolute. This covers another
# order of summation.
RELATIVE, ABSOLUTE, LEAST = 2e-5, 1e-7, 1e-12
# If that is exceeded, this multiple of torch's own error against float64 is allowed too: one element near the kink of a ReLU
# can change a gradient by more.
TIMES = 4.0
_FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


class _Still(TorchFunctionMode):
    """Disables dropout."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func in DROPOUTS:
            return args[0] if args else kwargs["input"]
        return (_attention if func is ATTENTION else func)(*args, **(kwargs or {}))


class _Recorder(TorchDispatchMode):
    """Records random numbers, or replays recorded ones."""

    def __init__(self, given=None):
        super().__init__()
        self.drawn, self.given = [], given and iter(given)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        if is_random(func):
            if self.given is not None:
                result.copy_(torch.from_numpy(np.array(next(self.given), np.float64)))
            self.drawn.append(constant(result))
        return result


def _attention(query, key, value, attn_mask=None, dropout_p=0.0, *args, **kwargs):
    return ATTENTION(query, key, value, attn_mask, 0.0, *args, **kwargs)


class Reference:
    """Torch's results: `loss`, `gradients` (None if the loss does not depend on a parameter), `written` buffers, and the random
    numbers that were `drawn`."""

    def __init__(self, program, dtype=None, drawn=None):
        module, batch, exact = program.module, program.batch, contextlib.nullcontext()
        if dtype is not None:
            module, exact = copy.deepcopy(module).to(dtype), _wider(dtype)
            batch = {k: v.to(dtype) if v.is_floating_point() else v for k, v in batch.items()}
        buffers = {name: b.detach().clone() for name, b in module.named_buffers()}
        recorder = _Recorder(drawn)
        with torch.random.fork_rng(devices=[]), torch.enable_grad(), exact, replaced(
                (F, "dropout", lambda input, *_, **__: input), (F, ATTENTION.__name__, _attention)), recorder, _Still():
            torch.manual_seed(0)
            try:
                loss = program.loss(module, **batch, **program.plain)
            except Exception as error:
                raise ImportFailure(f"torch itself cannot run the step: {first_line(error)}") from error
        if not isinstance(loss, torch.Tensor) or loss.dim() != 0 or not loss.requires_grad:
            raise ImportFailure("the loss must be a tensor without dimensions that depends on the module's parameters")
        self.loss, self.drawn = _numbers(loss), recorder.drawn
        self.gradients = _gradients(loss, dict(module.named_parameters()))
        self.gradients = {name: self.gradients[name] for name in program.trained}
        self.written = {}
        for name, buffer in module.named_buffers():
            if not torch.equal(buffer, buffers[name]):
                self.written[name] = _numbers(buffer)
            with torch.no_grad():
                buffer.copy_(buffers[name])

    def values(self):
        named = {"loss": self.loss, **{f"gradient of '{n}'": g for n, g in self.gradients.items() if g is not None}}
        return {**named, **{f"buffer '{n}'": b for n, b in self.written.items()}}


@contextlib.contextmanager
def _wider(dtype):
    """Context in which new tensors of the program have this type, and autocast is off."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with replaced((torch.autocast, "__enter__", lambda self: self), (torch.autocast, "__exit__", lambda *_: None)):
            yield
    finally:
        torch.set_default_dtype(before)


def _gradients(loss, parameters):
    """{name: gradient or None}. Does not use autograd.grad, which reentrant checkpointing does not support."""
    before = {name: p.grad for name, p in parameters.items()}
    try:
        for parameter in parameters.values():
            parameter.grad = None
        try:
            loss.backward()
        except Exception as error:
            raise ImportFailure(f"torch itself cannot run the backward: {first_line(error)}") from error
        return {name: None if p.grad is None else _numbers(p.grad) for name, p in parameters.items()}
    finally:
        for name, parameter in parameters.items():
            parameter.grad = before[name]


def _numbers(tensor):
    return tensor.detach().to(torch.float64).numpy()


def compare(program, reference):
    """Raises ImportFailure if the program's loss, gradients or buffers differ from the reference's."""
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
        exact = _exact(program, reference.drawn) or theirs
        own = {name: np.linalg.norm(theirs[name] - exact[name]) for name in theirs}
        wrong = _differences(ours, {name: exact[name] for name in theirs}, own)
    if wrong:
        name, (difference, norm, allowed) = max(wrong.items(), key=lambda w: w[1][0] / (w[1][1] or 1))
        others = f" (and {len(wrong) - 1} more values)" if len(wrong) > 1 else ""
        raise ImportFailure(f"the {name} differs from torch's autograd by {difference:.3g} of {norm:.3g}, {allowed:.3g} "
                            f"is allowed{others}: an operator in or behind that module is not translated correctly; "
                            "write it in other operators of torch, or detach what it computes")


def _exact(program, drawn):
    """Torch's results in float64, or in float32 if an operator has no wider form; None if neither runs."""
    for dtype in (torch.float64, torch.float32):
        with contextlib.suppress(ImportFailure, RuntimeError):
            return Reference(program, dtype, drawn).values()
    return None


def compare_validation(program, function):
    """The same comparison for the loss alone with the module in eval(), which disables dropout."""
    training = [module for module in program.module.modules() if module.training]
    program.module.eval()
    try:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            theirs = program.loss(program.module, **program.batch, **program.plain).item()
    finally:
        for module in training:
            module.training = True
    ours = float(jax.jit(function, compiler_options=_FAST)(*program.arguments(program.changed)))
    narrow = any(program.tensors[name].dtype.itemsize < 4 for name in program.trained)
    if not abs(ours - theirs) <= (5e-2 if narrow else 1e-4) * abs(theirs) + ABSOLUTE:
        raise ImportFailure(f"the loss of the module in eval() is {ours:.7g}, torch's {theirs:.7g}: leave the option "
                            "'validation' out, or write the operators that run only in eval() with others")


def _differences(ours, theirs, own):
    """{name: (norm of the difference, norm, allowed difference)} of those that exceed the limit."""
    norms = {name: float(np.linalg.norm(value)) for name, value in theirs.items()}
    largest = max((n for name, n in norms.items() if name.startswith("gradient")), default=0.0)
    wrong = {}
    for name, norm in norms.items():
        difference = float(np.linalg.norm(ours[name] - theirs[name]))
        allowed = max(RELATIVE * norm + ABSOLUTE * (largest if name.startswith("gradient") else 1.0) + LEAST,
                      TIMES * own.get(name, 0.0))
        if not difference <= allowed:
            wrong[name] = difference, norm, allowed
    return wrong
