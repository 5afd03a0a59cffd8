"""A module and its loss as a JAX function: the tensors it takes, their names, and the buffers it changes."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import torch
from torch.nn.utils.stateless import _reparametrize_module
from torchax.tensor import Tensor

from stagewright.errors import ImportFailure
from stagewright.frontend.evaluate import FOLD_LIMIT
from stagewright.torch.environment import Environment, constant
from stagewright.torch.layers import Scopes

_WIDE = (torch.float64, torch.complex64, torch.complex128)


class Program:
    """Tensors of a module by their names in its state_dict (tied ones by their first name), and the batch.

    `trained` are the parameters with gradients, `changed` the buffers that a forward in training mode writes (running
    statistics), `known` small buffers of integers, whose values the program may read, `fixed` all others.
    """

    def __init__(self, module, loss, batch, options):
        self.module, self.loss = module, loss
        self.scopes = Scopes(module, options.get("layers"))
        self.environment = Environment()
        self.tensors = dict(module.named_parameters())
        buffers = dict(module.named_buffers())
        self.tensors.update(buffers)
        self.trained = [name for name, p in module.named_parameters() if p.requires_grad]
        self.changed, self.known = [], []
        self.fixed = [name for name in self.tensors if name not in self.trained]
        self.batch = {name: value for name, value in batch.items() if isinstance(value, torch.Tensor)}
        self.plain = {name: value for name, value in batch.items() if name not in self.batch}
        self._check()
        self.known = [name for name in buffers if not buffers[name].dtype.is_floating_point and
                      buffers[name].numel() <= FOLD_LIMIT]
        self.fixed = [name for name in self.fixed if name not in self.known]
        self.arrays = {name: constant(tensor) for name, tensor in self.tensors.items()}
        self.seeded, self.remarks = False, []

    def _check(self):
        for what, tensors in (("tensor", self.tensors), ("batch argument", self.batch)):
            for name, tensor in tensors.items():
                if tensor.dtype in _WIDE and not jax.config.jax_enable_x64:
                    raise ImportFailure(f"{what} '{name}' is of type {tensor.dtype}, which is not supported: convert "
                                        "it to torch.float32 (module.float())")
                if tensor.dtype == torch.int64 and tensor.numel() and (
                        int(tensor.max()) > 2**31 - 1 or int(tensor.min()) < -2**31):
                    raise ImportFailure(f"{what} '{name}' holds {int(tensor.abs().max())}, which does not fit the 32 "
                                        "bits that integers have here")
        for path, module in self.module.named_modules():
            if module._backward_hooks or module._backward_pre_hooks:
                raise ImportFailure(f"module '{path}' has a backward hook, which is not seen: do in the forward, or "
                                    "in the loss, what the hook does")
            if isinstance(module, torch.nn.modules.batchnorm._BatchNorm) and module.training and \
                    module.track_running_stats and module.momentum is None:
                raise ImportFailure(f"module '{path}' averages all batches (momentum=None), which needs their number: "
                                    "give it a momentum")
        for name, parameter in self.module.named_parameters():
            if parameter._backward_hooks or getattr(parameter, "_post_accumulate_grad_hooks", None):
                raise ImportFailure(f"parameter '{name}' has a hook, which is not seen: do in the forward, or in the "
                                    "loss, what the hook does")

    def discover(self):
        """Runs the program on shapes to find which buffers change, and whether it draws random numbers."""
        seen = {}

        def run(arrays, batch):
            seen.update(after=self.evaluate(arrays, batch, None)[1], drawn=self.environment.drawn)
            return ()
        arrays = {name: self.arrays[name] for name in (*self.trained, *self.fixed)}
        jax.eval_shape(run, arrays, {name: constant(t) for name, t in self.batch.items()})
        self.seeded = seen["drawn"] > 0
        for name in seen["after"]:
            if name in self.known:
                if not name.endswith("num_batches_tracked"):
                    raise ImportFailure(f"buffer '{name}' of type {self.tensors[name].dtype} changes in the forward; "
                                        "only floating-point buffers can: keep it as one")
            elif name in self.trained:
                raise ImportFailure(f"parameter '{name}' is written in the forward: make it a buffer")
            else:
                self.fixed.remove(name)
                self.changed.append(name)

    def leave_out(self, names):
        """Makes parameters that the loss does not depend on constants; torch's optimizers skip them."""
        self.trained = [name for name in self.trained if name not in names]
        self.fixed += names
        if names:
            self.remarks.append(f"the loss does not depend on {len(names)} parameters; they stay as they are "
                                f"('{names[0]}')")

    def evaluate(self, arrays, batch, key, still=False, recorded=None):
        """(loss, {name: new value} of the buffers that the forward wrote)."""
        environment = self.environment
        with environment.translating(key, still, recorded):
            given = {name: Tensor(arrays[name] if name in arrays else self.arrays[name], environment)
                     for name in self.tensors}
            before = {name: tensor._elem for name, tensor in given.items()}
            environment.counterparts.update((id(self.tensors[name]), tensor) for name, tensor in given.items())
            batch = {name: Tensor(value, environment) for name, value in batch.items()}
            after = dict(given)
            with self.scopes.naming(environment), _reparametrize_module(self.module, after, tie_weights=True):
                loss = environment.located(lambda: self.loss(self.module, **batch, **self.plain))
            if not isinstance(loss, torch.Tensor) or loss.dim() != 0:
                raise ImportFailure(f"the loss must be a tensor without dimensions, but it is {_described(loss)}")
            loss = environment.t2j_iso(loss)
            written = {name: environment.t2j_iso(after[name]) for name in before}
        return loss, {name: value for name, value in written.items() if value is not before[name]}

    def step(self, stateful):
        """The function (parameters, constants, [seed,] batch...) -> (loss, gradients), and its arguments.

        With `stateful`, the changed buffers are among the parameters; their "gradient" is the old value minus the new one.
        """
        changed = self.changed if stateful else []

        def step(parameters, constants, *rest):
            key, values = (rest[0], rest[1:]) if self.seeded else (None, rest)
            batch = dict(zip(self.batch, values, strict=True))
            others = {**constants, **{name: parameters[name] for name in changed}}

            def loss(trained):
                return self.evaluate({**others, **trained}, batch, key)
            trained = {name: parameters[name] for name in self.trained}
            (value, written), gradients = jax.value_and_grad(loss, has_aux=True)(trained)
            gradients = {name: _wide(g) for name, g in gradients.items()}
            # Not `old - new`: the importer would take that for updated parameters, which a step must not return.
            gradients.update({name: -(written[name] - parameters[name]) for name in changed})
            if stateful or not self.changed:
                return _wide(value), gradients
            return (_wide(value), {name: written[name] for name in self.changed}), gradients

        self._describe(step)
        return step, self.arguments(changed)

    def validation(self):
        """The loss alone, with the module in eval(), as a function of the step's arguments."""
        def loss(parameters, constants, *rest):
            batch = dict(zip(self.batch, rest[self.seeded:], strict=True))
            training = [module for module in self.module.modules() if module.training]
            self.module.eval()
            try:
                return _wide(self.evaluate({**constants, **parameters}, batch, None)[0])
            finally:
                for module in training:
                    module.training = True
        self._describe(loss)
        return loss

    def arguments(self, changed=()):
        parameters = {name: self.arrays[name] for name in (*self.trained, *changed)}
        constants = {name: self.arrays[name] for name in (*self.fixed, *self.changed) if name not in parameters}
        seed = (jax.random.key(0),) if self.seeded else ()
        return parameters, constants, *seed, *(constant(tensor) for tensor in self.batch.values())

    def _describe(self, step):
        """The names of arguments and the location of the loss, for the importer."""
        names = ["params", "constants", *(("seed",) if self.seeded else ()), *self.batch]
        kind = inspect.Parameter.POSITIONAL_ONLY
        step.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
        step.__wrapped__ = self.loss


def _wide(value):
    return value.astype(jnp.promote_types(value.dtype, jnp.float32))


def _described(value):
    return f"of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else f"a {type(value).__name__}"
