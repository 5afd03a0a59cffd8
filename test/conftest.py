"""Which of the two tiers (tiers.py) runs: the ordinary tests, or with --thorough the others."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="run the thorough tests, and only them")


def pytest_configure(config):
    config.addinivalue_line("markers", "thorough: shows of more models, types, stages or runs what an ordinary test shows")


def pytest_collection_modifyitems(config, items):
    other = [item for item in items if bool(item.get_closest_marker("thorough")) != config.getoption("--thorough")]
    if other:
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if item not in set(other)]
    # The longest file first: with a file on each processor, the others fill what is left beside it.
    items.sort(key=lambda item: item.path.name != "test_model_suite.py")
