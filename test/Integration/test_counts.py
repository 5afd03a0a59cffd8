"""Regressions in instruction counts of compiler, planner and simulator, against the table in bench/counts.json."""

import json
import pathlib
import sys

import pytest
from workshop import BUILD

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from bench.benches import counts  # noqa: E402

TABLE = json.loads(counts.FILE.read_text())


def why_not():
    """Why counts cannot be compared: the table is for release builds and certain versions of libraries."""
    cache = BUILD / "CMakeCache.txt"
    if not cache.exists() or "CMAKE_BUILD_TYPE:STRING=Release" not in cache.read_text():
        return f"{BUILD} is no release build"
    if "avx2" not in pathlib.Path("/proc/cpuinfo").read_text():
        return "the processor has no AVX2"
    other = {name: version for name, version in counts.versions().items() if TABLE["versions"].get(name) != version}
    return f"counted with other versions of {', '.join(other)}: ./dev bench counts --update" if other else ""


def test_a_count_drifts_when_it_leaves_three_percent_to_either_side():
    table = {"compile": 1000, "action": 1000}
    assert counts.drifted({"compile": 1030, "action": 970}, table) == []
    assert counts.drifted({"compile": 1031, "action": 969}, table) == [
        "compile: 1031 instructions, the table has 1000 (+3.1 %)",
        "action: 969 instructions, the table has 1000 (-3.1 %)"]


def test_instructions_are_those_of_the_table(tmp_path):
    if reason := why_not():
        pytest.skip(reason)
    found = counts.measure(counts.Counter(BUILD, sys.executable, tmp_path))
    wrong = counts.drifted(found, TABLE["instructions"])
    assert not wrong, "\n".join([*wrong, "if that is meant: ./dev bench counts --update"])
