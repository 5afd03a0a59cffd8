"""The steps of the suite by name. A file of steps/ registers makers:

    @step("flax-linen/resnet", sample=True)
    def resnet(dtype):
        ...
        return function, arguments, options          # as for `stagewright import jax`; options may be left out

The name is LIBRARY/MODEL, and steps/LIBRARY.py (with underscores) holds it. A maker makes the same step in each floating
type: that of its parameters, batches and, by default, computation. It must also work in float64, the reference for float32.
`refused` is a pattern of the error that the step must give instead of an artifact."""

import dataclasses
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Integration")]
sys.path.append(str(HERE.parent / "Integration" / "models"))  # last: one of its files has the name of a standard module

STEPS = {}
BOTH = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True)
class Entry:
    """A registered step. `sample`: whether the ordinary tests run it; `stages`: the ways to compile it: a number of stages,
    "auto" for the planner's choice, "shards" for one stage with all layers split over two devices, "groups" for two of
    these, "gpu" for one stage on an emulated GPU."""
    name: str
    make: object
    dtypes: tuple = BOTH
    stages: tuple = ("1", "2", "auto", "shards", "groups", "gpu")
    sample: bool = False
    refused: str = ""


def step(name, **about):
    """Registers the decorated maker."""
    def register(make):
        add(name, make, **about)
        return make
    return register


def add(name, make, **about):
    """Registers a maker made from a table."""
    assert name not in STEPS, f"two steps are called {name}"
    STEPS[name] = Entry(name, make, **about)


def libraries():
    """The names of all libraries that have steps."""
    return sorted(path.stem.replace("_", "-") for path in (HERE / "steps").glob("[a-z]*.py"))


def load(library):
    """Imports the steps of a library and returns them."""
    importlib.import_module(f"steps.{library.replace('-', '_')}")
    return {name: entry for name, entry in STEPS.items() if name.startswith(library + "/")}


def find(name):
    return load(name.split("/")[0])[name]
