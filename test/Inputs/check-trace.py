"""Checks traces against the rules of the trace event format that viewers rely on, and two traces against each other.

usage: check-trace.py TRACE.json [OTHER.json]

Every bar has a named row and no negative length; bars of a row do not overlap. Every arrow starts once and ends once, and its
points lie within bars of their rows, in order of time. The traces of a run and of its simulation have the same rows of devices,
with the same actions and categories in the same order, except for updates, which a simulation does not have."""

import json
import sys

ROUNDING = 1e-6  # In microseconds; the times are sums of doubles.


def read(path):
    with open(path) as stream:
        return json.load(stream)["traceEvents"]


def bars(events):
    """The bars of every row, by time."""
    rows = {}
    for event in events:
        if event["ph"] == "X":
            rows.setdefault((event["pid"], event["tid"]), []).append(event)
    for row in rows.values():
        row.sort(key=lambda bar: (bar["ts"], bar["ts"] + bar["dur"]))
    return rows


def names(events, what):
    return {(e["pid"], e["tid"] if what == "thread_name" else 0): e["args"]["name"]
            for e in events if e["ph"] == "M" and e["name"] == what}


def check(path, events):
    rows, threads, processes = bars(events), names(events, "thread_name"), names(events, "process_name")
    for row, inside in rows.items():
        assert row in threads, f"{path}: row {row} has no name"
        assert (row[0], 0) in processes, f"{path}: process {row[0]} has no name"
        for bar in inside:
            assert bar["dur"] >= 0 and bar["ts"] >= 0, f"{path}: {bar}"
        for earlier, later in zip(inside, inside[1:]):
            assert earlier["ts"] + earlier["dur"] <= later["ts"] + ROUNDING, f"{path}: {earlier} overlaps {later}"
    arrows = {}
    for event in events:
        if event["ph"] in "stf":
            arrows.setdefault((event["cat"], event["id"]), []).append(event)
    for key, points in arrows.items():
        phases = "".join(point["ph"] for point in points)
        assert phases[0] == "s" and phases[-1] == "f" and set(phases[1:-1]) <= {"t"}, f"{path}: arrow {key} is {phases}"
        assert points[-1].get("bp") == "e", f"{path}: arrow {key} ends at the next bar"
        for point in points:
            row = rows[point["pid"], point["tid"]]
            assert any(bar["ts"] - ROUNDING <= point["ts"] <= bar["ts"] + bar["dur"] + ROUNDING for bar in row), \
                f"{path}: {point} lies in no bar"
        for earlier, later in zip(points, points[1:]):
            assert earlier["ts"] <= later["ts"] + ROUNDING, f"{path}: arrow {key} goes back in time"
    return len(arrows)


def devices(events):
    """The actions of every row of devices."""
    processes, threads = names(events, "process_name"), names(events, "thread_name")
    return {threads[row]: [(bar["name"], bar["cat"], bar["args"]) for bar in inside if bar["cat"] != "update"]
            for row, inside in bars(events).items() if processes[row[0], 0] == "devices"}


def main():
    traces = [(path, read(path)) for path in sys.argv[1:]]
    for path, events in traces:
        print(f"{check(path, events)} arrows, {sum(map(len, devices(events).values()))} actions")
    if len(traces) > 1:
        first, second = (devices(events) for _, events in traces)
        assert first == second, f"rows differ:\n{first}\n{second}"
        print("same rows")


if __name__ == "__main__":
    main()
