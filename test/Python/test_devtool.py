"""Which kinds of tests `./dev test` runs."""

import pathlib
import sys
import types

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
from devtool import tests  # noqa: E402


@pytest.fixture
def ran(monkeypatch, tmp_path):
    """Names of the kinds that run, each with one test that passes."""
    names = []
    monkeypatch.setattr(tests.setup, "everything", lambda preset: None)
    monkeypatch.setattr(tests, "BUILD", tmp_path)
    monkeypatch.setattr(tests, "KINDS", {kind: lambda *_, kind=kind, **more: names.append(kind) or tests.Count(passed=1) for kind in tests.KINDS})
    return names


@pytest.mark.parametrize("given, wanted", [
    (dict(), ["unit", "lit", "python", "consumer", "wheel", "fuzz"]), (dict(filter="partition"), ["unit", "lit", "python"]),
    (dict(filter="partition", kinds=["lit", "wheel"]), ["lit", "wheel"]),
])
def test_a_filter_runs_the_kinds_that_it_selects_from(ran, given, wanted):
    options = types.SimpleNamespace(**{"kinds": [], "filter": None, "preset": "release", "programs": 1, "seed": None, **given})
    assert tests.run(options) == 0
    assert ran == wanted
