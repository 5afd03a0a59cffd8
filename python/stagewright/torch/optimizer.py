"""A torch.optim optimizer as the step's update: its own step() runs on JAX arrays.

The optimizers below compute a fixed function of parameters, gradients, state and rate; their state starts as zeros. Rates are
arguments of the update, so that a schedule can set each step's rate.
"""

from __future__ import annotations

import collections
import copy
import math

import jax.numpy as jnp
import torch
from torchax.tensor import Tensor

from stagewright.errors import ImportFailure
from stagewright.torch.environment import Environment, assign, constant

SUPPORTED = (torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD, torch.optim.RMSprop, torch.optim.RAdam)
_WAY = "write it as a function of JAX and give it as the option 'update'"


class Update:
    """The function, state and rates of an optimizer over the parameters of a program.

    If given, first `clip_value`, then `clip_norm` is applied to the gradients, as in torch.nn.utils. With `masters` the state
    holds float32 parameters, which the optimizer updates; the step's own parameters are rounded from them.
    """

    def __init__(self, program, optimizer, clip_norm=None, clip_value=None, masters=False):
        self.program, self.optimizer = program, optimizer
        self.clip_norm, self.clip_value, self.masters = clip_norm, clip_value, masters
        self._check()
        names = {id(tensor): name for name, tensor in program.tensors.items()}
        self.groups = []
        for number, group in enumerate(optimizer.param_groups):
            for parameter in group["params"]:
                if id(parameter) not in names:
                    raise ImportFailure(f"a parameter of shape {list(parameter.shape)} in group {number} of the "
                                        "optimizer is not one of the module's: make the optimizer from module.parameters()")
            self.groups.append([names[id(p)] for p in group["params"] if names[id(p)] in program.trained])
        self.environment = Environment()
        _define(self.environment)
        self.rates = [jnp.float32(float(group["lr"])) for group in optimizer.param_groups]
        self.rates = self.rates if len(self.rates) > 1 else self.rates[0]
        self.state = self._state()

    def _check(self):
        optimizer, kind = self.optimizer, type(self.optimizer)
        if kind not in SUPPORTED:
            raise ImportFailure(f"optimizer {kind.__name__} is not supported, only "
                                f"{', '.join(k.__name__ for k in SUPPORTED)}: use one of them, or {_WAY}")
        if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
            raise ImportFailure(f"the optimizer has hooks around its step, which are not seen: {_WAY}")
        for number, group in enumerate(optimizer.param_groups):
            if group.get("differentiable"):
                raise ImportFailure(f"group {number} of the optimizer has differentiable=True: leave it out")
            if group.get("momentum") and group.get("dampening"):
                raise ImportFailure(f"group {number} of the optimizer has dampening {group['dampening']}, which its "
                                    f"first step leaves out: use dampening=0, or {_WAY}")

    def _state(self):
        """{name: {state: zeros}}, or the optimizer's existing state; with masters, also the parameters."""
        tensors = {name: torch.nn.Parameter(torch.zeros(self.program.tensors[name].shape, dtype=self._type(name)))
                   for group in self.groups for name in group}
        for tensor in tensors.values():
            tensor.grad = torch.zeros_like(tensor)
        trial = self._copy(tensors, [group["lr"] for group in self.optimizer.param_groups], {}, capturable=False)
        type(trial).step(trial)
        state = {}
        for name, tensor in tensors.items():
            held = self.optimizer.state.get(self.program.tensors[name], {})
            state[name] = {key: constant(held[key] if key in held else torch.zeros_like(value))
                           for key, value in trial.state[tensor].items() if isinstance(value, torch.Tensor)}
            if self.masters:
                state[name]["master"] = self.program.arrays[name].astype(jnp.float32)
        return {name: held for name, held in state.items() if held}

    def _type(self, name):
        return torch.float32 if self.masters else self.program.tensors[name].dtype

    def _copy(self, tensors, rates, state, capturable=True):
        """A copy of the optimizer for other tensors."""
        made = copy.copy(self.optimizer)
        made.state = collections.defaultdict(dict, state)
        made.param_groups = [
            {**group, "params": [tensors[name] for name in names], "lr": rate, "foreach": False, "fused": None,
             **({"capturable": capturable} if "capturable" in group else {})}
            for group, names, rate in zip(self.optimizer.param_groups, self.groups, rates)]
        return made

    def __call__(self, parameters, gradients, state, lr):
        """(parameters, state) after a step."""
        program, environment = self.program, self.environment
        changed = {name: parameters[name] - gradients[name].astype(parameters[name].dtype) for name in program.changed}
        rates = lr if isinstance(lr, (list, tuple)) else [lr]
        with environment.computing():
            tensors, held = {}, {}
            for name in program.trained:
                values = dict(state.get(name, {}))
                value = values.pop("master", parameters[name])
                tensors[name] = Tensor(value, environment)
                tensors[name].grad = Tensor(gradients[name].astype(value.dtype), environment)
                held[tensors[name]] = {key: Tensor(v, environment) for key, v in values.items()}
            if self.clip_value is not None:
                torch.nn.utils.clip_grad_value_(tensors.values(), self.clip_value, foreach=False)
            if self.clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(tensors.values(), self.clip_norm, foreach=False)
            made = self._copy(tensors, [Tensor(rate, environment) for rate in rates], held)
            type(made).step(made)
            after = {name: tensor.jax() for name, tensor in tensors.items()}
            new = {name: {key: made.state[tensors[name]][key].jax() for key in values if key != "master"}
                   for name, values in state.items()}
        for name, values in state.items():
            if "master" in values:
                new[name]["master"] = after[name]
        after = {name: value.astype(parameters[name].dtype) for name, value in after.items()}
        return {**after, **changed}, new


def _define(environment):
    """Operators on numbers that are tensors here: rates and the step number."""
    T = torch.Tensor

    @environment.define(T.__rpow__, is_jax_function=False)
    def power(step, base):
        """torch computes 1 - beta ** step in float64; float32 would lose half of the digits in the first steps."""
        made = Tensor(jnp.power(jnp.float32(base), step.jax()), environment)
        made.complement = -jnp.expm1(step.jax() * math.log(base)) if base > 0 else 1 - made.jax()
        return made

    @environment.define(T.__rsub__, is_jax_function=False)
    def subtract_from(x, y):
        return Tensor(x.complement if y == 1 and hasattr(x, "complement") else y - x.jax(), environment)

    @environment.define(T.addcdiv_, is_jax_function=False)
    def addcdiv_(x, a, b, *, value=1):
        x, a, b, value, into = *environment.t2j_iso((x, a, b, value)), x
        return assign(into, (x + value * (a / b)).astype(x.dtype))

    @environment.define(T.add_, is_jax_function=False)
    def add_(x, y, *, alpha=1):
        x, y, alpha, into = *environment.t2j_iso((x, y, alpha)), x
        return assign(into, (x + y * alpha).astype(x.dtype))
