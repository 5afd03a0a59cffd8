"""Imports an ONNX file as a step: inference, or, if a loss is among its outputs, the gradients of its parameters."""

from __future__ import annotations

import inspect
import re

import jax
import numpy as np

from stagewright.errors import ImportFailure
from stagewright.onnx.model import Model


def step_of(model, loss=None, inputs=None):
    """(function, arguments, roles) for stagewright.import_jax; the arguments are parameters, frozen ones, inputs."""
    if loss and loss not in model.outputs:
        raise ImportFailure(f"{model.place}: there is no output '{loss}'; the outputs are {', '.join(model.outputs)}")
    outputs = [loss] if loss else model.outputs
    read = model.read_by(outputs)
    examples = _examples(model, inputs or {}, read)
    trees = {name: {k: v for k, v in tree.items() if k in read}
             for name, tree in (("params", model.parameters), ("frozen", model.frozen))}
    trees = {name: tree for name, tree in trees.items() if tree or name == "params"}
    names = _identifiers(examples, trees)

    def step(*arguments):
        given = {name: array for tree in arguments[:len(trees)] for name, array in tree.items()}
        results = model.evaluate(given, dict(zip(examples, arguments[len(trees):])), outputs)
        return _scalar(model, loss, results[0]) if loss else dict(zip(model.outputs, results))

    kind = inspect.Parameter.POSITIONAL_ONLY
    step.__signature__ = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    step.__code__ = step.__code__.replace(co_filename=model.place, co_firstlineno=1)  # the location in errors
    roles = {name: role for name, role in (("params", "parameter"), ("frozen", "constant")) if name in trees}
    arguments = (*trees.values(), *examples.values())
    if loss:
        _check_parameters(model, loss, trees["params"])
        step = jax.value_and_grad(step)
    return step, arguments, roles


def import_step(path, output, *, loss=None, dims=None, frozen=(), inputs=None, **options):
    """Writes `output` (a module with @step) and `<output without .mlir>.inputs.safetensors` for an ONNX file.

    `loss` names a scalar output: the step then returns it and the gradients of the parameters; without it, the step computes
    all outputs (inference). `dims` and `frozen` are those of Model; `inputs` holds example arrays by name, by default random
    numbers and ones. The other options are those of stagewright.import_jax. Returns the signature, with remarks on the file. If
    it raises ImportFailure, nothing was written.
    """
    from stagewright.frontend.jax_step import import_jax

    model = Model(path, dims=dims, frozen=frozen)
    function, arguments, roles = step_of(model, loss, inputs)
    options["roles"] = {**roles, **options.get("roles", {})}
    signature = import_jax(function, arguments, output, **{"source": "onnx", **options})
    signature.remarks[:0] = model.remarks
    return signature


def _examples(model, inputs, read):
    """Examples of the inputs that are read: the given ones, else the model's."""
    for name, array in inputs.items():
        if name not in model.inputs:
            raise ImportFailure(f"{model.place}: there is no input '{name}'; the inputs are {', '.join(model.inputs)}")
        if np.shape(array) != (wanted := model.inputs[name].shape):
            raise ImportFailure(f"{model.place}: the example of input '{name}' has the shape {np.shape(array)}, the "
                                f"file says {wanted}")
    return {name: np.asarray(inputs.get(name, array)).astype(array.dtype) for name, array in model.inputs.items()
            if name in read}


def _identifiers(examples, trees):
    """Names of the arguments: those of the inputs, with `_` for characters that Python identifiers cannot have."""
    names = list(trees)
    for name in examples:
        name = re.sub(r"\W", "_", name)
        name = f"_{name}" if not name.isidentifier() else name
        while name in names:
            name += "_"
        names.append(name)
    return names


def _check_parameters(model, loss, parameters):
    if not parameters:
        raise ImportFailure(f"{model.place}: output '{loss}' reads no parameters to train; export the model with its "
                            "weights as initializers of floating point")
    if unclear := [name for name in model.unclear if name in parameters]:
        more = f" and {len(unclear) - 1} more" if len(unclear) > 1 else ""
        raise ImportFailure(f"{model.place}: PyTorch's exporter made initializer '{unclear[0]}'{more} from parameters "
                            "or from constants, and the file does not say from which; export with optimize=False, or "
                            "name those that are not trained with --freeze")


def _scalar(model, loss, value):
    if value.size != 1 or not jax.numpy.issubdtype(value.dtype, np.floating):
        raise ImportFailure(f"{model.place}: output '{loss}' is {value.dtype}{list(value.shape)}, but a loss is one "
                            "number of floating point; reduce it in the model, or write the loss in JAX on stagewright.onnx.load")
    return value.reshape(())
