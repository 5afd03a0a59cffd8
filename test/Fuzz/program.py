"""A random program: statements in the order of evaluation, and the text of each statement.

A statement is an operation's name, the seed of its choices and the names of its operands. The function that chose the operands
generates the text from these each time. A program whose inputs became smaller therefore stays valid, unless an operand no
longer fits, which raises `Unsuitable`. The minimiser (minimise.py) relies on this.
"""

from __future__ import annotations

import dataclasses
import random

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# Types by the letters used in the programs; F and H become float64 in a reference (judge.py).
TYPES = {"F": jnp.float32, "H": jnp.bfloat16, "I": jnp.int32, "B": jnp.bool_}
LETTERS = {np.dtype(t).name: letter for letter, t in TYPES.items()}
LARGEST = 4096  # elements of one value


class Unsuitable(Exception):
    """An operation has no operand that fits, or a recorded one no longer does."""


@dataclasses.dataclass(frozen=True)
class Value:
    """A value of a program. `rough`: computed from bfloat16 values, so that rounding may decide comparisons of it."""
    text: str
    shape: tuple
    dtype: str
    rough: bool = False

    def __str__(self):
        return self.text

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: int(np.prod(self.shape)))
    floating = property(lambda self: self.dtype in "FH")


@dataclasses.dataclass
class Input:
    """An argument: its role in the step, and its initial values."""
    role: str       # parameter, batch, constant or seed
    shape: tuple
    dtype: str = "F"
    scale: float = 1.0
    high: int = 0   # integers are below this


@dataclasses.dataclass
class Statement:
    target: str
    operation: str
    seed: int
    operands: list
    scope: int = 0


@dataclasses.dataclass
class Program:
    """A program as generated, shrunk and run."""
    inputs: dict            # {name: Input}; parameters that an operation makes are added when it is written
    statements: list
    terms: list             # values whose weighted sums are the loss
    outputs: list           # other values that the step returns
    stages: int = 1
    replicas: int = 1       # devices of the first stage, which share each microbatch
    schedule: str = ""
    shards: int = 1         # devices of each stage over which parameters are split where possible
    scopes: bool = True
    training: bool = True
    seed: int = 0


class Sheet:
    """The context of one statement: chooses operands and parameters, or takes the recorded ones.

    `rng` makes the operation's own choices, reproducible from the seed.
    """

    def __init__(self, values, inputs, seed, recorded=None, chooser=None):
        self.values, self.inputs, self.rng = values, inputs, random.Random(seed)
        self.recorded = None if recorded is None else list(recorded)
        self.chooser, self.operands, self.added = chooser, [], {}
        self.rough = False

    def value(self, fits=lambda v: True, dtypes="FH", ndim=(0, 9), sharp=False, least=1, most=LARGEST):
        """An operand. `sharp`: the operation compares it, so it must not be rough."""
        def suits(v):
            return (v.dtype in dtypes and ndim[0] <= v.ndim <= ndim[1] and not (sharp and v.rough) and
                    least <= v.size <= most and fits(v))
        if self.recorded is not None:
            if not self.recorded or self.recorded[0] not in self.values:
                raise Unsuitable("an operand is gone")
            name = self.recorded.pop(0)
            if not suits(self.values[name]):
                raise Unsuitable(f"{name} does not fit")
        else:
            names = [n for n, v in self.values.items() if suits(v)]
            if not names:
                raise Unsuitable("nothing fits")
            # Mostly recent values: this gives long chains and some shared values.
            name = names[-1] if self.chooser.random() < 0.35 else self.chooser.choice(names[-6:]) \
                if self.chooser.random() < 0.7 else self.chooser.choice(names)
        self.operands.append(name)
        self.rough |= self.values[name].rough
        return self.values[name]

    def parameter(self, shape, dtype="F", scale=1.0):
        """A parameter of this shape: a new one, sometimes one that another operation also reads."""
        shape = tuple(int(n) for n in shape)
        if self.recorded is not None:
            if not self.recorded:
                raise Unsuitable("a parameter is gone")
            name = self.recorded.pop(0)
            if name in self.inputs and (self.inputs[name].shape, self.inputs[name].dtype) != (shape, dtype):
                raise Unsuitable(f"{name} has another shape")
        else:
            same = [n for n, i in self.inputs.items() if i.role == "parameter" and (i.shape, i.dtype) == (shape, dtype)]
            name = self.chooser.choice(same) if same and self.chooser.random() < 0.3 else \
                next(n for n in (f"w{k}" for k in range(4, 999)) if n not in self.inputs)
        if name not in self.inputs:
            self.inputs[name] = self.added[name] = Input("parameter", shape, dtype, scale)
        self.operands.append(name)
        return Value(_reading(name, "parameter"), shape, dtype)

    def key(self):
        """The random key; raises Unsuitable if the program has none."""
        name = next((n for n, i in self.inputs.items() if i.role == "seed"), None)
        if name is None or self.recorded is not None and self.recorded[:1] != [name]:
            raise Unsuitable("there is no key")
        if self.recorded is not None:
            self.recorded.pop(0)
        self.operands.append(name)
        return name

    def value_or_parameter(self, shape, dtype):
        """An operand of this shape and type, or a parameter if there is none."""
        def fits(v):
            return v.shape == tuple(shape) and v.dtype == dtype
        if self.recorded is None:
            found = any(fits(v) for v in self.values.values())
        else:
            found = bool(self.recorded) and self.recorded[0] in self.values
        return self.value(fits) if found else self.parameter(shape, dtype)

    def number(self, low=-1.5, high=1.5):
        return f"{self.rng.uniform(low, high):.2f}"

    def pick(self, *some):
        return self.rng.choice(some)

    def maybe(self, probability=0.5):
        return self.rng.random() < probability


def _reading(name, role):
    return f'p["{name}"]' if role == "parameter" else name


def input_values(inputs):
    return {n: Value(_reading(n, i.role), i.shape, i.dtype) for n, i in inputs.items() if i.role != "seed"}


NAMESPACE = {"jax": jax, "jnp": jnp, "lax": lax, "np": np, **TYPES}


def infer(text, values, inputs, operands):
    """(shape, letter) of an expression, by JAX; raises Unsuitable if a program may not have it."""
    names = [n for n in dict.fromkeys(operands) if n in values and n not in inputs or
             n in inputs and inputs[n].role != "parameter"]
    structs = [jax.random.key(0) if n in inputs and inputs[n].role == "seed" else
               jax.ShapeDtypeStruct(values[n].shape, TYPES[values[n].dtype]) for n in names]
    p = {n: jax.ShapeDtypeStruct(i.shape, TYPES[i.dtype]) for n, i in inputs.items() if i.role == "parameter"}
    try:
        out = jax.eval_shape(eval(f"lambda p, {', '.join(names)}: {text}", NAMESPACE), p, *structs)
    except (TypeError, ValueError, IndexError, ZeroDivisionError, jax.errors.JAXTypeError) as error:
        raise Unsuitable(str(error).split("\n")[0]) from error
    letter = LETTERS.get(np.dtype(out.dtype).name) if hasattr(out, "dtype") else None
    if letter is None or np.prod(out.shape, dtype=int) > LARGEST:
        raise Unsuitable("a result of a type or size that no program has")
    return tuple(out.shape), letter


def write(statement, operations, values, inputs, chooser=None):
    """(text, value) of a statement. A `chooser` chooses operands, which are recorded in the statement."""
    sheet = Sheet(values, inputs, statement.seed, None if chooser else statement.operands, chooser)
    try:
        text = operations[statement.operation](sheet)
        if sheet.recorded:
            raise Unsuitable("operands are left")
        shape, dtype = infer(text, values, inputs, sheet.operands)
    except Unsuitable:
        for name in sheet.added:
            inputs.pop(name)
        raise
    statement.operands = sheet.operands
    rough = dtype != "I" and (sheet.rough or dtype == "H" or any(
        (values[n].dtype if n in values else inputs[n].dtype) == "H" for n in sheet.operands
        if n in values or n in inputs))
    return text, Value(statement.target, shape, dtype, rough)
