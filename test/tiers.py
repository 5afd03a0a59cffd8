"""Two tiers of Python tests: those of every run, and those that check the same for more models, types, stages and runs."""

import pytest

THOROUGH = pytest.mark.thorough


def thorough(cases):
    """Cases of a parametrized test that only a thorough run has, each a value or a tuple of values."""
    return [pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=THOROUGH) for case in cases]
