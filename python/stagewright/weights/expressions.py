"""Expressions on the right side of a map's line: a tensor of a checkpoint, or one made from several.

    NAME                               a tensor by its name
    T(x)                               x with its two dimensions exchanged
    transpose(x, 2, 0, 1)              x with its dimensions in this order
    reshape(x, 8, -1)                  x in another shape, in memory order
    slice(x, axis, first, last)        part of x
    concat(x, y, ..., axis)            tensors joined along a dimension
    stack(x, y, ...)                   tensors joined along a new dimension 0

Every expression knows its type and shape without reading data, and yields its data in pieces, one after another in memory.
"""

from __future__ import annotations

import math
import re

import numpy as np

from stagewright.errors import WeightsFailure

TOKEN = re.compile(r"\s*(?:([(),])|([^\s(),]+))")


def _need(condition, text):
    if not condition:
        raise WeightsFailure(text)


class Tensor:
    """A tensor of a checkpoint by name."""

    def __init__(self, name):
        self.name = name

    def names(self):
        yield self.name

    def shape(self, checkpoint):
        return checkpoint.tensors[self.name][1]

    def dtype(self, checkpoint):
        return checkpoint.tensors[self.name][0]

    def pieces(self, checkpoint):
        yield checkpoint.array(self.name)

    def array(self, checkpoint):
        return checkpoint.array(self.name)


class Made:
    """Base of tensors made from others."""

    def __init__(self, *parts):
        self.parts = parts

    def names(self):
        for part in self.parts:
            yield from part.names()

    def dtype(self, checkpoint):
        kinds = list(dict.fromkeys(part.dtype(checkpoint) for part in self.parts))
        _need(len(kinds) == 1, f"{' and '.join(self.names())} are of the types {' and '.join(map(str, kinds))}; one is needed")
        return kinds[0]

    def pieces(self, checkpoint):
        yield self.array(checkpoint)


class Transpose(Made):
    def __init__(self, part, *order):
        super().__init__(part)
        self.order = order

    def _order(self, rank):
        order = self.order or (1, 0)
        _need(sorted(order) == list(range(rank)), f"{next(self.names())} has {rank} dimensions; " + (
              f"transpose() needs each number from 0 to {rank - 1} once, got {order}" if self.order else
              "T() takes a tensor of two, for others write transpose(x, ...)"))
        return order

    def shape(self, checkpoint):
        shape = self.parts[0].shape(checkpoint)
        return tuple(shape[d] for d in self._order(len(shape)))

    def array(self, checkpoint):
        array = self.parts[0].array(checkpoint)
        return array.transpose(self._order(array.ndim))


class Reshape(Made):
    def __init__(self, part, *sizes):
        super().__init__(part)
        self.sizes = sizes

    def shape(self, checkpoint):
        shape, sizes = self.parts[0].shape(checkpoint), self.sizes
        known = math.prod(size for size in sizes if size != -1)
        if sizes.count(-1) == 1 and known and math.prod(shape) % known == 0:
            sizes = tuple(math.prod(shape) // known if size == -1 else size for size in sizes)
        _need(all(size >= 0 for size in sizes) and math.prod(sizes) == math.prod(shape),
              f"{next(self.names())} of shape {shape} does not become {self.sizes}, which has another number of elements")
        return tuple(sizes)

    def array(self, checkpoint):
        return self.parts[0].array(checkpoint).reshape(self.shape(checkpoint))


class Slice(Made):
    def __init__(self, part, axis, first, last):
        super().__init__(part)
        self.axis, self.first, self.last = axis, first, last

    def shape(self, checkpoint):
        shape = self.parts[0].shape(checkpoint)
        _need(0 <= self.axis < len(shape) and 0 <= self.first <= self.last <= shape[self.axis],
              f"{next(self.names())} of shape {shape} has no part {self.first} to {self.last} of dimension {self.axis}")
        return (*shape[:self.axis], self.last - self.first, *shape[self.axis + 1:])

    def array(self, checkpoint):
        return self.parts[0].array(checkpoint)[(slice(None),) * self.axis + (slice(self.first, self.last),)]


class Concat(Made):
    def __init__(self, *parts):
        super().__init__(*parts[:-1])
        self.axis = parts[-1]

    def shape(self, checkpoint):
        shapes = [part.shape(checkpoint) for part in self.parts]
        axis, first = self.axis, shapes[0]
        _need(0 <= axis < len(first), f"{next(self.names())} of shape {first} has no dimension {axis}")
        rests = {(*shape[:axis], *shape[axis + 1:]) for shape in shapes}
        _need(len(rests) == 1 and len({len(shape) for shape in shapes}) == 1,
              f"{', '.join(self.names())} have the shapes {', '.join(map(str, shapes))}, which differ in more than "
              f"dimension {axis}")
        return (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1:])

    def pieces(self, checkpoint):
        if self.axis:
            yield self.array(checkpoint)
        else:
            for part in self.parts:
                yield from part.pieces(checkpoint)

    def array(self, checkpoint):
        return np.concatenate([part.array(checkpoint) for part in self.parts], self.axis)


class Stack(Made):
    def shape(self, checkpoint):
        shapes = [part.shape(checkpoint) for part in self.parts]
        _need(len(set(shapes)) == 1, f"{', '.join(self.names())} have the shapes "
              f"{', '.join(map(str, dict.fromkeys(shapes)))}; stacked tensors must have the same shape")
        return (len(shapes), *shapes[0])

    def pieces(self, checkpoint):
        for part in self.parts:
            yield from part.pieces(checkpoint)

    def array(self, checkpoint):
        return np.stack([part.array(checkpoint) for part in self.parts])


# By name: the class, the min number of tensors, whether it takes more, the number of integers (None: one or more).
FUNCTIONS = {"T": (Transpose, 1, False, 0), "transpose": (Transpose, 1, False, None), "reshape": (Reshape, 1, False, None),
             "slice": (Slice, 1, False, 3), "concat": (Concat, 1, True, 1), "stack": (Stack, 1, True, 0)}


def parse(text):
    """Parses `text`; raises WeightsFailure if it is not an expression."""
    tokens, at = [], 0
    text = text.strip()
    while at < len(text):
        match = TOKEN.match(text, at)
        tokens.append(match[1] or match[2])
        at = match.end()
    expression = _expression(tokens, text)
    _need(not tokens, f"'{' '.join(tokens)}' follows where '{text}' should end")
    _need(not isinstance(expression, int), f"'{text}' is a number, expected the name of a tensor or a function")
    return expression


def _expression(tokens, text):
    _need(tokens and tokens[0] not in "(),", f"'{text}' lacks a name {f'before {tokens[0]!r}' if tokens else 'at its end'}")
    name = tokens.pop(0)
    if not tokens or tokens[0] != "(":
        return int(name) if re.fullmatch(r"-?\d+", name) else Tensor(name)
    _need(name in FUNCTIONS, f"'{name}' is not a function; there are {', '.join(FUNCTIONS)}")
    tokens.pop(0)
    parts = [_expression(tokens, text)]
    while tokens and tokens[0] == ",":
        tokens.pop(0)
        parts.append(_expression(tokens, text))
    _need(tokens and tokens.pop(0) == ")", f"'{text}' lacks a ')'")
    kind, least, more, count = FUNCTIONS[name]
    numbers = [part for part in parts if isinstance(part, int)]
    tensors = [part for part in parts if not isinstance(part, int)]
    right = (len(tensors) >= least if more else len(tensors) == least) and parts == [*tensors, *numbers] and (
        len(numbers) >= 1 if count is None else len(numbers) == count)
    _need(right, f"{name}() in '{text}' takes {'tensors' if more else 'one tensor'} and then "
          + {0: "no numbers", None: "numbers"}.get(count, f"{count} number{'s' * (count != 1)}" if count else ""))
    return kind(*parts)
