"""Operations of the random programs, one file per family. Each is a function of a Sheet (program.py) that chooses
operands and returns the text of an expression."""

OPERATIONS = {}  # {name: function}
WEIGHTS = {}     # {name: relative frequency}
FAMILIES = {}    # {name: the family's file}


def operation(weight=1.0):
    """Registers the decorated function under its name."""

    def register(function):
        name = function.__name__
        assert name not in OPERATIONS, name
        OPERATIONS[name], WEIGHTS[name] = function, weight
        FAMILIES[name] = function.__module__.rsplit(".", 1)[-1]
        return function

    return register


def same(value):
    """A condition: the same shape and type as another value."""
    return lambda v: v.shape == value.shape and v.dtype == value.dtype


from operations import (contractions, convolutions, elementwise, indexing, library, loops,  # noqa: E402,F401
                        nested, order, reductions, shapes, updates)
