"""Replacements for functions in which torchax differs from PyTorch; and refusals, each with a way out."""

from __future__ import annotations

import contextlib
import math

import jax
import jax.numpy as jnp
import torch
import torch.utils.checkpoint
from torch.nn import functional as F
from torchax.tensor import Tensor
from torchax.view import View

DROPOUTS = (F.dropout, torch.dropout, torch.dropout_, F.dropout1d, F.dropout2d, F.dropout3d, torch.feature_dropout,
            torch.feature_dropout_, F.alpha_dropout, torch.alpha_dropout, torch.alpha_dropout_,
            F.feature_alpha_dropout, torch.feature_alpha_dropout, torch.feature_alpha_dropout_)
ATTENTION = F.scaled_dot_product_attention
_FEATURES = (F.dropout1d, F.dropout2d, F.dropout3d, torch.feature_dropout, torch.feature_dropout_)
# Operators with random results, and the random functions that torchax computes without these operators. A comparison with
# PyTorch gives both sides the same values.
RANDOM = {torch.rand, torch.randn, torch.randint, *(getattr(torch.ops.aten, name) for name in (
    "rand", "randn", "rand_like", "randn_like", "randint", "randint_like", "randperm", "bernoulli", "bernoulli_",
    "multinomial", "normal", "normal_", "uniform_", "exponential_", "random_", "log_normal_", "cauchy_",
    "geometric_"))}


def is_random(function):
    return getattr(function, "overloadpacket", function) in RANDOM


def install(environment):
    """Replaces torchax's functions by those below."""
    @environment.define(torch.ops.aten.detach, torch.ops.aten.detach.default, torch.Tensor.detach, torch.detach,
                        torch.ops.aten.alias)
    def detach(x):
        return jax.lax.stop_gradient(x)

    def hook(*_):
        environment.refuse("a hook on a tensor", "do in the forward, or in the loss, what the hook does")

    def grad(*_, **__):
        environment.refuse("torch.autograd in the forward", "return the loss alone; write a gradient penalty in JAX")

    environment.define(torch.Tensor.register_hook, torch.Tensor.register_post_accumulate_grad_hook,
                       is_jax_function=False)(hook)
    environment.define(torch.autograd.grad, torch.Tensor.backward, is_jax_function=False)(grad)
    environment.define(torch.Tensor.retain_grad, torch.Tensor.requires_grad_, is_jax_function=False)(lambda x, *_: x)
    for function in DROPOUTS:
        environment.define(function, is_jax_function=False)(_dropout(environment, function))
    environment.define(ATTENTION, torch.ops.aten.scaled_dot_product_attention,
                       is_jax_function=False)(_attention(environment))
    environment.define(F.batch_norm, torch.batch_norm, is_jax_function=False)(_batch_norm(environment))
    environment.define(F.grouped_mm, torch.ops.aten._grouped_mm)(_grouped_product(environment))
    environment.define(torch.ops.aten.histc)(_histogram)
    environment.define(F.instance_norm, is_jax_function=False)(_instance_norm(environment))


def _dropout(environment, function):
    def dropout(input, p=0.5, training=True, inplace=False):
        p = float(p)
        if environment.still or not training or p == 0:
            return input
        if "alpha" in function.__name__:
            environment.refuse(f"{function.__name__}", "use torch.nn.functional.dropout")
        x = input.jax()
        shape = x.shape[:2] + (1,) * (x.ndim - 2) if function in _FEATURES else x.shape
        kept = jax.random.bernoulli(environment.get_and_rotate_prng_key(), 1 - p, shape)
        x = jnp.where(kept, x / (1 - p) if p < 1 else 0, 0).astype(x.dtype)
        if inplace or function.__name__.endswith("_"):
            return assign(input, x)
        return Tensor(x, environment)
    return dropout


def assign(tensor, array):
    """Writes into a tensor, or into the base of a view."""
    if isinstance(tensor, View):
        tensor.update(array)
    else:
        tensor._elem = array
    return tensor


def _attention(environment):
    def attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
        q, k, v, mask = environment.t2j_iso((query, key, value, attn_mask))
        if enable_gqa:
            k, v = (jnp.repeat(a, q.shape[-3] // a.shape[-3], -3) for a in (k, v))
        scores = q @ jnp.swapaxes(k, -1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else float(scale))
        if is_causal:
            causal = jnp.tril(jnp.ones(scores.shape[-2:], bool))
            scores = jnp.where(causal, scores, -jnp.inf)
        elif mask is not None and mask.dtype == bool:
            # A row without any key gives zeros, as in PyTorch.
            scores = jnp.where(mask, scores, jnp.finfo(scores.dtype).min)
        elif mask is not None:
            scores = scores + mask
        weights = jax.nn.softmax(scores, -1)
        if mask is not None and mask.dtype == bool:
            weights = jnp.where(mask, weights, 0)
        if dropout_p > 0:
            weights = _dropout(environment, F.dropout)(Tensor(weights, environment), dropout_p).jax()
        return Tensor(weights @ v, environment)
    return attention


def _grouped_product(environment):
    def grouped_product(input, weight, offs=None, bias=None, out_dtype=None):
        if input.ndim != 2 or weight.ndim != 3 or offs is None or bias is not None or out_dtype is not None:
            environment.refuse("a grouped product of this form", "use rows of shape (tokens, width), weights of shape "
                               "(experts, width, width of the result) and offsets, without bias and out_dtype")
        sizes = jnp.diff(offs, prepend=jnp.zeros_like(offs[:1]))
        return jax.lax.ragged_dot(input, weight, sizes.astype(jnp.int32))
    return grouped_product


def _histogram(input, bins=100, min=0, max=0):
    """Histogram without the loops of jnp.histogram: mixtures of experts use it to count the tokens of each expert."""
    x = input.reshape(-1)
    low, high = (jnp.min(x), jnp.max(x)) if min == max == 0 else (min, max)
    place = jnp.minimum(jnp.floor((x - low) / (high - low) * bins).astype(jnp.int32), bins - 1)
    inside = (x >= low) & (x <= high)
    return jnp.sum((place[:, None] == jnp.arange(bins)) & inside[:, None], 0).astype(input.dtype)


def _batch_norm(environment):
    def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5,
                   cudnn_enabled=None):
        x = input.jax()
        wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        axes = (0, *range(2, x.ndim))
        shape = [1, -1] + [1] * (x.ndim - 2)
        if training or running_mean is None:
            mean = wide.mean(axes)
            variance = jnp.square(wide - mean.reshape(shape)).mean(axes)
        else:
            mean, variance = (a.jax() for a in (running_mean, running_var))
        if training and running_mean is not None:
            count = x.size // x.shape[1]
            for running, found in ((running_mean, mean), (running_var, variance * (count / max(count - 1, 1)))):
                old, found = running.jax(), jax.lax.stop_gradient(found)
                assign(running, ((1 - momentum) * old + momentum * found).astype(old.dtype))
        y = (wide - mean.reshape(shape)) * jax.lax.rsqrt(variance.reshape(shape) + eps)
        weight, bias = environment.t2j_iso((weight, bias))
        y = y if weight is None else y * weight.reshape(shape)
        y = y if bias is None else y + bias.reshape(shape)
        return Tensor(y.astype(x.dtype), environment)
    return batch_norm


def _instance_norm(environment):
    def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True,
                      momentum=0.1, eps=1e-5):
        if running_mean is not None:
            environment.refuse("instance norm with running statistics", "set track_running_stats=False")
        x = input.jax()
        axes, shape = tuple(range(2, x.ndim)), [1, -1] + [1] * (x.ndim - 2)
        mean = x.mean(axes, keepdims=True)
        y = (x - mean) * jax.lax.rsqrt(jnp.square(x - mean).mean(axes, keepdims=True) + eps)
        weight, bias = environment.t2j_iso((weight, bias))
        y = y if weight is None else y * weight.reshape(shape)
        return Tensor(y if bias is None else y + bias.reshape(shape), environment)
    return instance_norm


@contextlib.contextmanager
def replaced(*places):
    """Context in which attributes, given as (object, name, value), are replaced."""
    before = [(owner, name, owner.__dict__.get(name, contextlib)) for owner, name, _ in places]
    try:
        for owner, name, value in places:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in before:
            delattr(owner, name) if value is contextlib else setattr(owner, name, value)


def refusing(environment):
    """Context in which operations that JAX would not see, and would silently drop, are errors. Reentrant checkpointing, a
    custom autograd function of PyTorch, is replaced by the function that it wraps: the compiler chooses what to recompute."""
    def apply(cls, *args, **kwargs):
        if cls is torch.utils.checkpoint.CheckpointFunction:
            function, _, *rest = args
            return function(*rest)
        environment.refuse(f"the custom torch.autograd.Function '{cls.__qualname__}'",
                           "its backward is not seen; write the forward in PyTorch's operators, with "
                           "x + (y - x).detach() for a straight-through gradient (the value of y, the gradient of x)")

    def data(*_):
        environment.refuse("'.data'", "use .detach() to read, or torch.no_grad() around an assignment")

    return replaced((torch.autograd.Function, "apply", classmethod(apply)),
                    *((owner, "data", property(data, data)) for owner in (Tensor, View)),
                    *((F, f.__name__, _always(environment, f)) for f in (F.dropout, ATTENTION)))


def _always(environment, function):
    """A replacement for `function` of torch.nn.functional that passes each call to the environment: a function mode does not
    see calls from other functions of torch.nn.functional."""
    def call(*args, **kwargs):
        return environment.dispatch(function, (), args, kwargs)
    return call
