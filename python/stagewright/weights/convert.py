"""Converts checkpoints to the inputs of a step: all names, shapes and types are compared before anything is written."""

from __future__ import annotations

import difflib
import pathlib

import numpy as np

from stagewright.errors import WeightsFailure
from stagewright.weights.mapping import Map
from stagewright.weights.model import arguments_of
from stagewright.weights.tensors import File, files_of, write

SHOWN = 5  # max names in an error


class Checkpoint:
    """All tensors of several files: {name: (dtype, shape)}."""

    def __init__(self, paths):
        self.tensors, self._files = {}, {}
        for path in dict.fromkeys(file for path in paths for file in files_of(path)):
            file = File(path)
            for name, about in file.tensors.items():
                if name in self._files:
                    raise WeightsFailure(f"both '{self._files[name].path}' and '{path}' have a tensor '{name}'")
                self.tensors[name], self._files[name] = about, file

    def array(self, name):
        return self._files[name].array(name)


def default_output(model):
    """The path to which `stagewright import` writes the inputs of the module `model`."""
    return f"{str(model).removesuffix('.mlir')}.inputs.safetensors"


def convert(model, checkpoints, output=None, *, map=None, ignore=(), tell=lambda name, done, total: None):
    """Writes the parameters of `model` (a module of `stagewright import`) from `checkpoints`.

    `output` (by default MODEL.inputs.safetensors) keeps its other arguments. `map` is the path of a file as described in
    stagewright.weights.mapping; `ignore` are patterns of tensors that may stay unused. Returns (number of parameters, bytes,
    {(from, to): number of converted tensors}). If it raises WeightsFailure, nothing was written.
    """
    output = pathlib.Path(output or default_output(model))
    parameters = [argument for argument in arguments_of(model) if argument.role == "parameter"]
    if not parameters:
        raise WeightsFailure(f"'{model}' has no parameters; import it again with --role=NAME=parameter")
    table = _read_map(map)
    table.ignored += ignore
    checkpoint = Checkpoint(checkpoints)
    chosen = _choose(parameters, checkpoint, table)
    tensors, casts = _kept(output, parameters), {}
    for parameter, expression in chosen:
        found = expression.dtype(checkpoint)
        if found != parameter.dtype:
            casts[found, parameter.dtype] = casts.get((found, parameter.dtype), 0) + 1
        tensors[str(parameter.position)] = (parameter.dtype, parameter.shape, _pieces(expression, checkpoint, parameter.dtype))
    names = {str(parameter.position): parameter.name for parameter in parameters}
    total = 0

    def hear(key, done, size):
        nonlocal total
        total = size
        tell(names.get(key, f"argument {key}"), done, size)
    write(output, tensors, hear)
    return len(parameters), total, casts


def _read_map(path):
    if path is None:
        return Map()
    try:
        return Map(pathlib.Path(path).read_text(), path)
    except OSError as error:
        raise WeightsFailure(f"cannot read '{path}': {error.strerror}") from error


def _choose(parameters, checkpoint, table):
    """(parameter, expression) for all parameters; the error lists what is missing or of a wrong shape or type, else
    what is unused."""
    chosen, problems, used = [], [], set()
    for parameter in parameters:
        expression, where = table.expression(parameter.name, checkpoint)
        names = list(expression.names())
        used.update(names)
        place = f" ({where})" if where else ""
        if missing := [name for name in names if name not in checkpoint.tensors]:
            problems.append(f"parameter {parameter.name}: no tensor '{missing[0]}'{place}{_nearest(missing[0], checkpoint)}")
            continue
        try:
            shape, dtype = expression.shape(checkpoint), expression.dtype(checkpoint)
        except WeightsFailure as failure:
            problems.append(f"parameter {parameter.name}: {failure}{place}")
            continue
        if shape != parameter.shape:
            problems.append(f"parameter {parameter.name} has the shape {parameter.shape}, {' and '.join(names[:2])} "
                            f"{'gives' if len(names) == 1 else 'give'} {shape}{place}{_turned(shape, parameter.shape)}")
        elif _kind(dtype) != _kind(parameter.dtype):
            problems.append(f"parameter {parameter.name} is of {parameter.dtype}, {names[0]} of {dtype}{place}")
        chosen.append((parameter, expression))
    if problems:
        raise WeightsFailure(f"{_counted(len(problems), 'parameter')} of {len(parameters)} cannot be filled; a line of a map "
                             "(--map=FILE) assigns a tensor to a parameter:" + _listed(problems))
    if left := sorted(name for name in checkpoint.tensors if name not in used and not table.ignores(name)):
        raise WeightsFailure(f"no parameter uses {_counted(len(left), 'tensor')} of the checkpoint; if they are not needed, leave "
                             "them out by --ignore=PATTERN or a line `ignore PATTERN` of the map:" + _listed(left))
    return chosen


def _kind(dtype):
    """The kind of a type: floating-point, integer or boolean; conversions stay within a kind."""
    return dtype.kind if dtype.kind in "iub" else "f"


def _counted(count, what):
    return f"{count} {what}{'s' * (count != 1)}"


def _listed(lines):
    more = [f"and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
    return "".join(f"\n  {line}" for line in [*lines[:SHOWN], *more])


def _nearest(name, checkpoint):
    found = difflib.get_close_matches(name, checkpoint.tensors, 2, 0.5)
    return f"; is it {' or '.join(repr(n) for n in found)}?" if found else ""


def _turned(found, wanted):
    return "; write T(...)" if len(found) == 2 and found[::-1] == wanted else ""


def _pieces(expression, checkpoint, dtype):
    return lambda: (np.asarray(piece).astype(dtype, copy=False) for piece in expression.pieces(checkpoint))


def _kept(output, parameters):
    """The other arguments in an inputs file."""
    if not output.exists():
        return {}
    file, mine = File(output), {str(parameter.position) for parameter in parameters}
    return {name: (dtype, shape, lambda name=name: [file.array(name)])
            for name, (dtype, shape) in file.tensors.items() if name not in mine}
