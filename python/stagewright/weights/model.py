"""The arguments of a step, read from the text of its module."""

from __future__ import annotations

import re
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from stagewright.errors import WeightsFailure

TYPES = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
         "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
         "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8, "i1": np.bool_,
         "ui64": np.uint64, "ui32": np.uint32, "ui16": np.uint16, "ui8": np.uint8}
HEADER = re.compile(r"\bfunc\.func (?:public |private )?@step\(")
ARGUMENT = re.compile(r"%\w+: tensor<((?:\d+x)*)(\w+)>")
TEXT = r'"((?:[^"\\]|\\.)*)"'


@dataclass(frozen=True)
class Argument:
    """An argument of the step: `position` is its key in an inputs file."""
    position: int
    name: str
    role: str
    dtype: np.dtype
    shape: tuple


def arguments_of(path):
    """The arguments of @step in a module that `stagewright import` wrote."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise WeightsFailure(f"cannot read '{path}': {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise WeightsFailure(f"'{path}' is not MLIR; give the module that `stagewright import` wrote") from error
    start = HEADER.search(text)
    if not start:
        raise WeightsFailure(f"'{path}' has no function @step; give the module that `stagewright import` wrote")
    header = text[start.end():_closing(text, start.end(), path)]
    found = list(ARGUMENT.finditer(header))
    arguments = []
    for number, match in enumerate(found):
        about = header[match.end():found[number + 1].start() if number + 1 < len(found) else len(header)]
        if match[2] not in TYPES:
            raise WeightsFailure(f"'{path}': argument {number} of @step has elements of {match[2]}, expected one of " + ", ".join(TYPES))
        shape = tuple(int(size) for size in match[1].split("x")[:-1])
        arguments.append(Argument(number, _attribute(about, "name") or f"argument{number}", _attribute(about, "role"),
                                  np.dtype(TYPES[match[2]]), shape))
    return arguments


def _closing(text, start, path):
    """The position of the parenthesis that closes the one opened before `start`; those in quotes are ignored."""
    depth = 1
    for match in re.compile(rf"{TEXT}|[()]").finditer(text, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.start()
    raise WeightsFailure(f"'{path}': the header of @step does not end; is the file cut off?")


def _attribute(text, name):
    match = re.search(rf"pipeline\.{name} = {TEXT}", text)
    return re.sub(r"\\(.)", r"\1", match[1]) if match else ""
