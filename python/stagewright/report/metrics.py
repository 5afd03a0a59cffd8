"""Reads the metrics of a run: one JSON line per step, as written by pp-run --metrics and stagewright.Run."""

from __future__ import annotations

import json
import math

from stagewright.errors import ReportFailure


class Metrics:
    """Steps in order, without duplicates: if a run resumed from a checkpoint, the later line of a step is used."""

    def __init__(self, lines, run):
        self.lines, self.run = lines, run
        self.steps = [line["step"] for line in lines]

    def series(self, key):
        """(steps, values) of a metric, without those that are absent or not finite."""
        pairs = [(line["step"], line[key]) for line in self.lines
                 if isinstance(line.get(key), (int, float)) and math.isfinite(line[key])]
        return [step for step, _ in pairs], [value for _, value in pairs]

    def missing(self, key):
        """Steps with a metric that is present but not a number, such as a loss that was not finite."""
        return [line["step"] for line in self.lines if key in line and line[key] is None]

    def ranks(self, key):
        """The mean per rank of a metric that is a list; empty if there is none."""
        rows = [line[key] for line in self.lines if line.get(key)]
        return [sum(column) / len(rows) for column in zip(*rows)]


def read_metrics(path):
    by_step, run = {}, {}
    try:
        with open(path) as file:
            text = file.read()
    except OSError as error:
        raise ReportFailure(f"cannot read '{path}': {error.strerror}") from error
    rows = text.splitlines()
    for number, row in enumerate(rows, 1):
        try:
            line = json.loads(row)
            step = int(line["step"])
        except (ValueError, TypeError, KeyError) as error:
            if number == len(rows) and not text.endswith("\n"):
                break  # the run was killed during this write
            raise ReportFailure(f"{path}:{number}: '{row[:60]}' is not a line of metrics; a file of "
                                "pp-run --metrics is expected") from error
        run = line.pop("run", run)
        by_step[step] = line
    if not by_step:
        raise ReportFailure(f"'{path}' has no step; the run has not ended its first one")
    return Metrics([by_step[step] for step in sorted(by_step)], run)
