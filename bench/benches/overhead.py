"""Cost of an action and of a hop with tiny tensors: two ranks on two cores, threads as transport.

The model is a perceptron of 4 numbers, so a step is all overhead. Under GPipe, forwards stream through the ranks, then
backwards, and no rank waits for a reply: step time divided by the actions of one rank is the time of an action with its send,
its receive and its kernels. In a schedule with one microbatch in flight, each microbatch takes two actions, a hop, two actions
there, and a hop back; half of that is reported as a hop, including the two actions at its end.
"""

import statistics

from ..harness.models import TINY
from ..harness.report import Result, Table, time

MICROBATCHES, STEPS = 256, 20
ACTION_AT_MOST, HOP_AT_MOST = 5e-6, 20e-6


def one_in_flight(path):
    """A schedule, as PyTorch's CSV, in which each microbatch finishes before the next one starts."""
    path.write_text("".join(",".join(f"{rank}F{m},{rank}B{m}" for m in range(MICROBATCHES)) + "\n" for rank in (0, 1)))
    return path


def run(session):
    module = session.imported(TINY)
    orders = {"stream": "gpipe", "round trip": one_in_flight(session.work / "one-in-flight.csv"), "1f1b": "1f1b"}
    sides = {name: session.ours(session.compiled(module, 2, f"--schedule={order}", name=name.replace(" ", "-"),
                                                 microbatches=MICROBATCHES), module, "0,1")
             for name, order in orders.items()}
    rounds = {name: [] for name in sides}
    for number in range(session.options.rounds):
        for name, side in sides.items():
            rounds[name].append(statistics.median(side.turn(STEPS)) / MICROBATCHES)
        session.say(f"  round {number + 1}, a microbatch: " + ", ".join(f"{n} {time(r[-1])}" for n, r in rounds.items()))
    result = Result("overhead", [Table(__doc__.splitlines()[0], ["", "median", "least", "limit, us"])])
    for title, name, limit in (("an action, GPipe", "stream", ACTION_AT_MOST), ("an action, 1F1B", "1f1b", ACTION_AT_MOST),
                               ("a hop and two actions", "round trip", HOP_AT_MOST)):
        median, least = statistics.median(rounds[name]) / 2, min(rounds[name]) / 2
        result.figures[name] = dict(median_s=median, least_s=least, rounds=rounds[name])
        result.tables[0].rows.append([title, time(median), time(least), result.want(f"{title}, us", median * 1e6, limit * 1e6)])
    return result
