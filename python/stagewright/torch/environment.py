"""torchax's environment, corrected: a PyTorch program runs as JAX with PyTorch's meaning, or is refused.

Differences from torchax: every tensor that the program creates is a JAX tensor, on a device named `cpu`, like the program's own
tensors; PyTorch tensors that it holds become constants; `torch.no_grad()`, `detach` and autocast take effect; every random
number uses one key with its own index folded in; what cannot be translated (`rules.py`) is an error.
"""

from __future__ import annotations

import contextlib
import os
import warnings

import jax
import jax.numpy as jnp
import torch
import torch._dynamo  # noqa: F401  its tables must be made before functions are replaced
import torchax.amp
import torchax.device_module
import torchax.tensor
from jax.extend import source_info_util
from torchax.ops import mappings, ops_registry
from torchax.tensor import OperatorNotFound, Tensor
from torchax.view import View
from torch.utils import _pytree as pytree

from stagewright.errors import ImportFailure
from stagewright.frontend.evaluate import FOLD_LIMIT
from stagewright.torch.rules import assign, install, is_random, refusing

# The policy of torch.autocast on the CPU, by operator name.
_AUTOCAST = {op.overloadpacket.__name__: policy for op, policy in torchax.amp.autocast_policy.items()}
_AUTOCAST["__matmul__"] = _AUTOCAST["matmul"]
# torchax reports an accelerator called "jax", whose streams torch.compile then queries for every program.
torchax.device_module.is_available = lambda: False
# The location of an operation is in the program's own files, not in these packages.
for _package in (torch, torchax):
    source_info_util.register_exclusion(os.path.dirname(_package.__file__))
source_info_util.register_exclusion(os.path.dirname(__file__))

_CASTS = (torch.Tensor.to, torch.ops.aten.lift_fresh.default, torch.ops.aten._to_copy, torch.ops.aten._to_copy.default)
_MOVES = (torch.Tensor.cpu, torch.Tensor.cuda)


class Environment(torchax.tensor.Environment):
    """One translation. `modules` are the paths of the running modules, innermost last."""

    def __init__(self):
        super().__init__()
        self.modules = []
        self.counterparts = {}  # id of a PyTorch tensor -> the tensor that replaces it
        self.still = False  # no dropout
        self.key, self.drawn, self.recorded = None, 0, None
        install(self)

    @contextlib.contextmanager
    def translating(self, key=None, still=False, recorded=None):
        """Context in which PyTorch's functions work on JAX arrays. `still` disables dropout; `recorded` values replace random
        numbers."""
        self.key, self.drawn, self.still = key, 0, still
        self.recorded = None if recorded is None else iter(recorded)
        device, self.modules[:] = (Tensor.device, View.device), ()
        Tensor.device = View.device = property(lambda _: torch.device("cpu"))
        try:
            with warnings.catch_warnings(), torch.compiler.set_stance("force_eager"), refusing(self), self:
                warnings.filterwarnings("ignore", "Explicitly requested dtype")  # 64-bit integers are 32-bit here
                yield
        finally:
            Tensor.device, View.device = device
            self.counterparts.clear()

    @contextlib.contextmanager
    def computing(self):
        """Context in which PyTorch's functions work on JAX arrays, without gradients."""
        with warnings.catch_warnings(), torch.no_grad(), self:
            warnings.filterwarnings("ignore", "Explicitly requested dtype")
            yield

    # The interface that torchax calls.

    def _should_use_torchax_tensor(self, device):
        return True

    def _is_same_device(self, the_tensor, new_device):
        return isinstance(the_tensor, (Tensor, View))

    def get_and_rotate_prng_key(self, generator=None):
        if generator is not None:
            self.refuse("a torch.Generator", "leave the generator out: numbers then come from the step's seed")
        self.drawn += 1
        if self.key is None:  # shapes only
            return jax.random.key(0)
        return jax.random.fold_in(self.key, self.drawn)

    def t2j_iso(self, torchtensors):
        return pytree.tree_map_only(torch.Tensor, self._array, torchtensors)

    def _array(self, tensor):
        """The array of a tensor; a PyTorch tensor becomes a constant, unless it has a counterpart."""
        tensor = self.counterparts.get(id(tensor), tensor)
        if isinstance(tensor, (Tensor, View)):
            return tensor.jax()
        if tensor.requires_grad and torch.is_grad_enabled():
            self.refuse(f"a tensor of shape {list(tensor.shape)} that requires a gradient and is not a parameter of the "
                        "module", "register it with the module as a torch.nn.Parameter, or detach it")
        return tensor.item() if tensor.ndim == 0 else constant(tensor)

    def dispatch(self, func, types, args, kwargs):
        kwargs = dict(kwargs or {})
        if self.recorded is not None and is_random(func):
            return self._replayed(func, args)
        if func in torchax.tensor.TENSOR_CONSTRUCTORS:
            op = self._get_op_or_decomp(func)
            return self._call(func, op, args, {k: v for k, v in kwargs.items() if k != "requires_grad"})
        args, kwargs = pytree.tree_map_only(torch.Tensor, lambda t: self.counterparts.get(id(t), t), (args, kwargs))
        tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if tensors and not any(isinstance(t, (Tensor, View)) for t in tensors):
            return func(*args, **kwargs)  # PyTorch itself computes values that depend on no argument
        if func in _CASTS:
            return self._settled(self._torch_Tensor_to(args, kwargs))
        if func in _MOVES:
            return args[0]
        return self._call(func, self._get_op_or_decomp(func), args, kwargs)

    def _call(self, func, op, args, kwargs):
        if not op.is_view_op:
            args, kwargs = self.v2t_iso((args, kwargs))
        if torch.is_autocast_enabled("cpu"):
            policy = _AUTOCAST.get(getattr(getattr(func, "overloadpacket", func), "__name__", None))
            if policy is not None:
                args, kwargs = _cast(policy, args, kwargs, torch.get_autocast_dtype("cpu"))
        if op.needs_env:
            kwargs["env"] = self
        if not op.is_jax_function:
            with self._dispatch_mode:  # composite operators are decomposed in C++
                result = op.func(*args, **kwargs)
            return self._settled(result) if op.is_view_op and result is not args[0] else result
        args, kwargs = self.t2j_iso((args, kwargs))
        result = None if op.needs_env else _folded(op.func, args, kwargs)
        if result is None:
            result = op.func(*args, **kwargs)
        if not torch.is_grad_enabled():
            result = pytree.tree_map_only(jax.Array, jax.lax.stop_gradient, result)
        return self.j2t_iso(result)

    def _settled(self, result):
        """A view taken without gradients becomes a separate value, no longer connected to its base."""
        if isinstance(result, (Tensor, View)) and not torch.is_grad_enabled():
            return Tensor(jax.lax.stop_gradient(result.jax()), self)
        return result

    def _replayed(self, func, args):
        """The recorded value that PyTorch drew at this position."""
        value = next(self.recorded, None)
        if value is None:
            self.refuse(f"random numbers of '{func.__name__}' at another place than in PyTorch",
                        "draw them from torch.rand or torch.randn of a fixed shape")
        name = getattr(func, "overloadpacket", func).__name__
        return assign(args[0], value) if name.endswith("_") else Tensor(value, self)

    def define(self, *functions, needs_env=False, is_jax_function=True):
        """Registers the decorated function as the implementation of PyTorch functions and operators."""
        def register(function):
            for func in functions:
                self._ops[func] = ops_registry.Operator(func, function, is_jax_function, True, needs_env, False)
            return function
        return register

    def located(self, run):
        """Runs the program; an error names the running module."""
        try:
            return run()
        except ImportFailure:
            raise
        except Exception as error:
            raise ImportFailure(f"module '{self.modules[-1] if self.modules else ''}' cannot be imported: "
                                f"{_reason(error)}") from error

    def refuse(self, what, way):
        raise ImportFailure(f"module '{self.modules[-1] if self.modules else ''}' uses {what}, which cannot be "
                            f"imported: {way}")


def constant(tensor):
    """A PyTorch tensor as a separate array."""
    return mappings.t2j(tensor.detach().clone(), use_dlpack=False)


def _cast(policy, args, kwargs, dtype):
    def is_float(leaf):
        return isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    if policy == torchax.amp.CastPolicy.PROMOTE:
        types = [leaf.dtype for leaf in pytree.tree_leaves(args) if is_float(leaf)]
        dtype = max(types, key=lambda d: d.itemsize, default=dtype)
    elif policy == torchax.amp.CastPolicy.FP32:
        dtype = torch.float32
    return pytree.tree_map(lambda leaf: leaf.to(dtype) if is_float(leaf) else leaf, (args, kwargs))


def _folded(function, args, kwargs):
    """The result as a known value, if it is a small array of integers, or scalar, and computed from small known arrays; else
    None. Programs branch on such values."""
    leaves = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, jax.Array)]
    if any(isinstance(leaf, jax.core.Tracer) or leaf.size > FOLD_LIMIT for leaf in leaves):
        return None
    with jax.ensure_compile_time_eval():
        result = function(*args, **kwargs)
    made = [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, jax.Array)]
    small = all(a.size <= FOLD_LIMIT and (a.ndim == 0 or not jnp.issubdtype(a.dtype, jnp.inexact)) for a in made)
    return result if small else None


def _reason(error):
    if isinstance(error, OperatorNotFound):
        return f"{str(error).removesuffix(' has no lowering')} has no form in JAX: write it in other operators"
    if isinstance(error, (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)):
        return ("it asks for a value that depends on the batch (.item(), if, a shape from data): use torch.where, or "
                "give the value as a plain number of the batch")
    return first_line(error)


def first_line(error):
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
