"""Rounds: every side takes one turn in each, always in the same order."""

import statistics

from . import ratio
from .report import time


def steps_for(seconds, turn_seconds, most=200):
    """The number of steps of `seconds` each, from 1 to `most`, whose total is closest to `turn_seconds`."""
    return max(1, min(most, round(turn_seconds / max(seconds, 1e-9))))


def take(sides, say, title, rounds, most, turn_seconds, spread=ratio.SPREAD):
    """{side's name: its turns}. After `rounds` rounds, more are taken, up to `most`, while a ratio to the first side has a
    wider spread than allowed. A turn takes about `turn_seconds` (steps_for); the first turn, of one step, is warm-up."""
    counts = {side.name: steps_for(statistics.median(side.turn(1)), turn_seconds) for side in sides}
    turns = {side.name: [] for side in sides}
    for number in range(1, most + 1):
        for side in sides:
            turns[side.name].append(side.turn(counts[side.name]))
        last = ", ".join(f"{name} {time(statistics.median(kept[-1]))}" for name, kept in turns.items())
        say(f"  {title}, round {number}: {last}")
        if number >= rounds and not any(ratio.compare(turns[sides[0].name], turns[side.name], spread).refused
                                        for side in sides[1:]):
            break
    return turns
