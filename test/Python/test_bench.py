"""The parts of the benchmarks that only compute: ratios and their refusal, turns, tables."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from bench.benches import checkpoints, growth  # noqa: E402
from bench.harness import ratio, report, session, turns  # noqa: E402


def once(values):
    return [[value] for value in values]


def test_steady_sides_have_the_ratio_of_their_medians():
    found = ratio.compare(once([1.0, 1.01, 0.99, 1.0, 1.02]), once([2.0, 2.01, 1.99, 2.0, 2.02]))
    assert found.value == pytest.approx(0.5) and not found.refused
    assert found.least == pytest.approx(0.99 / 1.99)
    assert found.low <= found.value <= found.high


def test_a_turn_counts_by_its_median_and_the_least_step_of_all_is_kept():
    found = ratio.compare([[1.0, 9.0, 1.1]] * 5, [[2.2, 2.2, 2.2], *[[2.2, 2.2, 1.5]] * 4])
    assert found.ours_median == 1.1 and found.peer_median == 2.2
    assert found.ours_least == 1.0 and found.peer_least == 1.5


def test_a_slow_minute_that_meets_both_sides_does_not_widen_the_interval():
    machine = [1.0, 1.0, 1.0, 1.0, 1.0, 1.5, 1.5]
    assert ratio.compare(once([0.5 * s for s in machine]), once(machine)).spread == pytest.approx(0)


def test_sides_that_wander_apart_have_no_ratio_but_a_reason_with_numbers():
    found = ratio.compare(once([1.0, 1.6, 0.8, 1.3, 1.9, 0.7, 1.1]), once([2.0, 1.1, 2.4, 1.7, 1.2, 2.9, 2.1]))
    assert found.value is None and found.least is None
    assert f"{found.low:.3f} to {found.high:.3f}" in found.refused and "wider than ±5 %" in found.refused
    assert found.json()["value"] is None and found.json()["refused"] == found.refused


def test_the_allowed_spread_is_what_refuses():
    sides = once([1.0, 1.1, 0.9, 1.05, 0.95]), once([2.0, 1.9, 2.1, 2.05, 1.95])
    width = ratio.compare(*sides, spread=1.0).spread
    assert ratio.compare(*sides, spread=width * 1.01).value and not ratio.compare(*sides, spread=width * 0.99).value


def test_few_rounds_say_nothing_about_the_spread():
    found = ratio.compare(once([1.0] * 4), once([2.0] * 4))
    assert found.value is None and "4 rounds are too few" in found.refused


def test_the_interval_is_the_same_every_time_and_grows_with_the_noise():
    calm, wild = [1.0, 1.01, 0.99, 1.02, 0.98, 1.0], [1.0, 1.1, 0.9, 1.2, 0.8, 1.0]
    assert ratio.interval(calm, [1.0] * 6) == ratio.interval(calm, [1.0] * 6)
    (low, high), (wide_low, wide_high) = ratio.interval(calm, [1.0] * 6), ratio.interval(wild, [1.0] * 6)
    assert wide_low < low <= 1 <= high < wide_high


def test_sides_with_different_numbers_of_turns_cannot_be_compared():
    with pytest.raises(ValueError, match="2 and 1 turns"):
        ratio.compare(once([1.0, 1.0]), once([1.0]))


class Side:
    """Takes its times from a list, and records in `order` when it was called."""

    def __init__(self, name, seconds, order):
        self.name, self.seconds, self.order = name, seconds, order

    def turn(self, steps):
        self.order.append((self.name, steps))
        return [self.seconds(len(self.order))] * steps


def test_sides_take_turns_and_a_turn_has_the_steps_that_its_seconds_hold():
    order = []
    sides = [Side("ours", lambda _: 0.1, order), Side("peer", lambda _: 0.4, order)]
    taken = turns.take(sides, lambda _: None, "x", 5, 15, 1.0)
    assert order == [("ours", 1), ("peer", 1)] + 5 * [("ours", 10), ("peer", 2)]
    assert taken == {"ours": [[0.1] * 10] * 5, "peer": [[0.4] * 2] * 5}


def test_more_rounds_are_taken_while_the_spread_is_wide_but_not_without_end():
    order = []
    sides = [Side("ours", lambda turn: 0.1 * (1 + turn % 7), order), Side("peer", lambda turn: 0.1 * (1 + turn % 5), order)]
    assert len(turns.take(sides, lambda _: None, "x", 5, 15, 0.01)["ours"]) == 15


def test_a_limit_is_kept_missed_or_not_known():
    result = report.Result("x")
    assert [result.want("a", value, 0.65) for value in (0.65, 0.66, None)] == ["0.65: kept", "0.65: missed",
                                                                             "0.65: not known"]
    assert [one["kept"] for one in result.wanted] == [True, False, None]


def test_a_refused_ratio_stands_in_no_table():
    found = ratio.compare(once([1.0] * 3), once([2.0] * 3))
    row = report.ratio_row("a", found, "")
    assert row[3] == row[5] == "refused"


def test_results_are_written_as_json_and_as_a_table(tmp_path):
    result = report.Result("x", [report.Table("What it is", ["", "time"], [["a", report.time(0.0123)]])], {"key": 0.5})
    result.write(tmp_path, "a machine")
    assert json.loads((tmp_path / "x.json").read_text())["ratios"] == {"key": 0.5}
    assert "| a | 12.3 ms |" in (tmp_path / "x.md").read_text()


@pytest.mark.parametrize("seconds, text", [(12.34, "12.3 s"), (0.5, "500 ms"), (2e-6, "2.00 us"), (5e-9, "5 ns")])
def test_times_have_three_digits_and_a_unit(seconds, text):
    assert report.time(seconds) == text


def test_growth_is_that_of_the_last_tenth_over_the_second():
    result = report.Result("growth")
    looks = [(500, 3)] * 10 + [(1000, 3)] * 30 + [(1020, 4)] * 60
    row = growth.row(result, "a run", looks)
    assert row[3] == "2.00 %" and [one["kept"] for one in result.wanted] == [False, False]
    assert [one["value"] for one in result.wanted] == [pytest.approx(2), 1]
    # One larger sample, as while a checkpoint is written, is not growth.
    steady = growth.row(report.Result("growth"), "a run", [(1000, 3)] * 99 + [(3000, 4)])
    assert steady[3] == "0.00 %"


def test_a_checkpoint_costs_its_copy_and_what_it_slows_down():
    blocks = checkpoints.BLOCKS + 1
    steps = checkpoints.EVERY * blocks
    plain = [([1.0] * steps, steps + 0.1 * blocks)] * 3
    # The first step after a checkpoint takes 10 % longer; one turn was slow as a whole.
    slowed = [1.1 if number % checkpoints.EVERY == 0 and number else 1.0 for number in range(steps)]
    saving = [(slowed, sum(slowed) + 0.2 * blocks)] * 2 + [([5.0] * steps, 5 * steps + 0.2 * blocks)]
    whole, copy, slower = checkpoints.cost(checkpoints.block(plain), checkpoints.block(saving))
    assert whole == pytest.approx(20.1) and copy == pytest.approx(0.1) and slower == pytest.approx(0.1)


def test_a_part_that_a_bench_has_not_is_an_error_that_lists_them():
    class Options:
        parts = ["threads"]

    given = session.Session.__new__(session.Session)
    given.options = Options()
    assert given.parts({"threads": 1, "MPI": 2}) == ["threads"]
    with pytest.raises(session.Failure, match="no such part: threads; there are a, b"):
        given.parts(["a", "b"])
    Options.parts = None
    assert given.parts({"threads": 1, "MPI": 2}) == ["threads", "MPI"]
    assert report.Result("growth", parts=["MPI"]).file == "growth-MPI"


@pytest.mark.parametrize("command", ("demo", "test", "build", "bench", "format", "docs", "wheel", "install", "setup"))
def test_commands_explain_themselves(command):
    done = subprocess.run([sys.executable, ROOT / "dev", command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith(f"usage: ./dev {command}"), done.stdout + done.stderr
