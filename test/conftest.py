"""Selects the tier (tiers.py): the ordinary tests, or the others with --thorough."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="run the thorough tests, and only them")


def pytest_configure(config):
    # Golden values take JAX longer to compile than to compute: a step that several files of tests use is compiled once.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(pathlib.Path(__file__).resolve().parent.parent / "build/cache/jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    config.addinivalue_line("markers", "thorough: checks for more models, types, stages or runs what an ordinary test checks")


def pytest_collection_modifyitems(config, items):
    other = [item for item in items if bool(item.get_closest_marker("thorough")) != config.getoption("--thorough")]
    if other:
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if item not in set(other)]
    # The longest file first: with one file per processor, the other processors run the rest meanwhile.
    items.sort(key=lambda item: item.path.name != "test_model_suite.py")
