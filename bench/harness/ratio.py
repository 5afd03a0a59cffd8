"""The ratio of two sides that took turns, and when it is precise enough to print.

A round is one turn of every side, so a slow period of the machine affects all sides. A turn's value is the median of its steps;
a side's value is the median of its turns. The uncertainty of the ratio of two such medians comes from a bootstrap: rounds are
drawn with replacement, both sides of a round together, and the middle 95 % of the resulting ratios is the interval (Efron and
Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). If half the interval exceeds `SPREAD` of the ratio, or there
are too few rounds for an interval, no ratio is given, only a reason.
"""

import dataclasses
import random
import statistics

SPREAD, FEWEST, DRAWS = 0.05, 5, 2000


@dataclasses.dataclass(frozen=True)
class Ratio:
    """A comparison of turns, each a list of seconds (or of another cost); `value` is None if it is refused."""

    ours: list
    peer: list
    ours_median: float
    peer_median: float
    ours_least: float
    peer_least: float
    low: float
    high: float
    refused: str = ""

    @property
    def middle(self):
        return self.ours_median / self.peer_median

    @property
    def spread(self):
        """Half of the interval, relative to the ratio."""
        return (self.high - self.low) / 2 / self.middle

    @property
    def value(self):
        return None if self.refused else self.middle

    @property
    def least(self):
        """The ratio of the minimum times; refused if `value` is."""
        return None if self.refused else self.ours_least / self.peer_least

    def json(self):
        return dict(value=self.value, least=self.least, low=self.low, high=self.high, refused=self.refused or None,
                    ours=dict(median=self.ours_median, least=self.ours_least, turns=self.ours),
                    peer=dict(median=self.peer_median, least=self.peer_least, turns=self.peer))


def interval(ours, peer, draws=DRAWS, seed=0):
    """The middle 95 % of the ratio of medians over rounds drawn with replacement; deterministic."""
    rng, rounds = random.Random(seed), range(len(ours))
    found = []
    for _ in range(draws):
        drawn = rng.choices(rounds, k=len(ours))
        found.append(statistics.median(ours[i] for i in drawn) / statistics.median(peer[i] for i in drawn))
    found.sort()
    return found[int(0.025 * draws)], found[int(0.975 * draws)]


def compare(ours, peer, spread=SPREAD, fewest=FEWEST):
    """The Ratio of two lists of turns of the same rounds."""
    if len(ours) != len(peer) or not ours:
        raise ValueError(f"sides have taken {len(ours)} and {len(peer)} turns, expected the same number of at least 1")
    medians = [[statistics.median(turn) for turn in side] for side in (ours, peer)]
    low, high = interval(*medians)
    ratio = Ratio(ours, peer, *map(statistics.median, medians), *(min(map(min, side)) for side in (ours, peer)), low, high)
    if len(ours) < fewest:
        return dataclasses.replace(ratio, refused=f"{len(ours)} rounds are too few to know the spread; at least {fewest} are needed")
    if ratio.spread > spread:
        return dataclasses.replace(
            ratio, refused=f"over {len(ours)} rounds the ratio of medians lies anywhere from {low:.3f} to {high:.3f} "
            f"(95 %), ±{100 * ratio.spread:.0f} %, wider than ±{100 * spread:.0f} %")
    return ratio
