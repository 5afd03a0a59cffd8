"""The steps of the suite by name. A file of steps/ registers makers:

    @step("flax-linen/resnet", sample=True)
    def resnet(dtype):
        ...
        return function, arguments, options          # as `stagewright import jax` takes; options may be left out

The name is LIBRARY/MODEL, and steps/LIBRARY.py (with underscores) holds it. A maker makes the same step in each floating
type: the parameters and the batches have it, and what the step computes by default. It must also work for float64, which
the others are judged by. `refused` is a pattern of the error that the step is to have instead of an artifact."""

import dataclasses
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "Integration")]
sys.path.append(str(HERE.parent / "Integration" / "models"))  # last: one of its files is called as one of Python's

STEPS = {}
BOTH = ("float32", "bfloat16")


@dataclasses.dataclass(frozen=True)
class Entry:
    """A registered step. `sample`: whether the ordinary tests run it; `stages`: how it is cut, "auto" by the planner, "shards"
    not at all, but all layers are split over two devices."""
    name: str
    make: object
    dtypes: tuple = BOTH
    stages: tuple = ("1", "2", "auto", "shards")
    sample: bool = False
    refused: str = ""


def step(name, **about):
    """Registers the decorated maker."""
    def register(make):
        add(name, make, **about)
        return make
    return register


def add(name, make, **about):
    """Registers a maker that a table has made."""
    assert name not in STEPS, f"two steps are called {name}"
    STEPS[name] = Entry(name, make, **about)


def libraries():
    """The names of all libraries that have steps."""
    return sorted(path.stem.replace("_", "-") for path in (HERE / "steps").glob("[a-z]*.py"))


def load(library):
    """The steps of a library, which is imported."""
    importlib.import_module(f"steps.{library.replace('-', '_')}")
    return {name: entry for name, entry in STEPS.items() if name.startswith(library + "/")}


def find(name):
    return load(name.split("/")[0])[name]
