"""1F1B on four ranks whose actions are delayed at random: in its order, and as actions become ready.

Every action takes a set time (`pp-run --pace`), because its rank sleeps, so two cores suffice for four ranks. For each kind and
microbatch, on one rank that is drawn at random, it takes longer by an exponentially distributed part of that time, half of it
on average. `pp-sim` simulates the same delays. Runs alternate; every round has other delays. A second table has no such delays,
but messages that arrive later (`hop:`).
"""

import json
import math
import re
import statistics

from ..harness.models import DEEP
from ..harness.report import Result, Table, time
from ..harness.sides import call

RANKS, MICROBATCHES, FORWARD, JITTER = 4, 32, 4, 0.5  # milliseconds; a backward takes twice as long
SPARE = 4
GAIN, ERROR, UNLIMITED, CALM = 0.05, 0.04, 1.05, 0.02
# Parts of a forward of 10 ms; microbatches; allowed relative difference from pp-sim.
HOPS, SLOW, MANY, NEAR = (0.5, 1.5, 3.0), 10, 64, 0.1


class Side:
    """An artifact, its simulated step, and how long its steps take."""

    def __init__(self, session, module, name, *flags):
        self.session, self.name = session, name
        common = [session.tool("pp-compile"), module, f"--cluster=local:{RANKS}", "--schedule=1f1b", "--max-replicas=1",
                  f"--microbatches={MICROBATCHES}", "--quiet", *flags]
        self.artifact = module.with_suffix(f".{name}.swx")
        call([*common, "-o", self.artifact])
        credits = re.search(r"credits \[([\d, ]+)\]", call([*common, "--emit=schedule"]))
        self.execution = ["--execution=ready", f"--credits={credits[1].replace(' ', '')}"] if credits else []
        self.inputs, self.gains = module.with_suffix(".inputs.safetensors"), {}
        self.measured, self.simulated = [], []

    def turn(self, seed):
        """Seconds of a step, measured and simulated; seed None: without delays."""
        jitter = "" if seed is None else f",jitter:{JITTER},seed:{seed}"
        found = json.loads(call([self.session.tool("pp-run"), self.artifact, f"--inputs={self.inputs}", "--repeat-microbatch",
                                 "--json", "--steps=4", f"--pace=F:{FORWARD}ms,B:{2 * FORWARD}ms{jitter}"]))
        flags = [] if seed is None else [f"--jitter={JITTER}:{seed}"]
        simulated = json.loads(call([self.session.tool("pp-sim"), "--schedule=1f1b", f"--ranks={RANKS}",
                                     f"--microbatches={MICROBATCHES}", f"--forward={FORWARD}", *self.execution, *flags, "--json"]))
        return min(found["seconds"][1:]), simulated["makespan"] * 1e-3


def run(session):
    module = session.imported(DEEP)
    sides = dict(order=Side(session, module, "ordered"),
                 ready=Side(session, module, "ready", "--execution=ready", f"--spare-credits={SPARE}"),
                 unlimited=Side(session, module, "unlimited", "--execution=ready", f"--spare-credits={MICROBATCHES}"))
    table = Table(__doc__.splitlines()[0], ["", "order", "ready", "unlimited credits", "gain of ready", "ready / unlimited", "wanted"])
    calm = {name: side.turn(None) for name, side in sides.items()}
    found = {name: [] for name in sides}
    for number in range(session.options.rounds):
        for name, side in sides.items():
            found[name].append(side.turn(number + 1))
        session.say(f"  round {number + 1}: " + ", ".join(f"{name} {time(turns[-1][0])}, simulated {time(turns[-1][1])}"
                                                         for name, turns in found.items()))
    result = Result("ready", [table], figures=dict(calm=calm, found=found))
    gains, more = [], []
    for kind, label in enumerate(("measured", "simulated")):
        turns = {name: [turn[kind] for turn in own] for name, own in found.items()}
        gains.append(statistics.median(a / b - 1 for a, b in zip(turns["order"], turns["ready"])))
        more.append(statistics.median(a / b for a, b in zip(turns["ready"], turns["unlimited"])))
        table.rows.append([f"{label}, delayed", *(time(statistics.median(own)) for own in turns.values()), f"{100 * gains[-1]:+.1f} %",
                           f"{more[-1]:.3f}", ""])
    calmly = calm["ready"][0] / calm["order"][0] - 1
    table.rows.append(["measured, without delays", *(time(turn[0]) for turn in calm.values()), f"{-100 * calmly:+.1f} %", "", ""])
    wanted = (result.want("order / ready, delayed", -gains[0], -GAIN), result.want("error of the simulated gain", abs(gains[0] - gains[1]), ERROR),
              result.want("ready / unlimited credits", more[0], UNLIMITED), result.want("ready / order, without delays", abs(calmly), CALM))
    table.rows[0][-1] = f"gain {wanted[0]}, its error {wanted[1]}, unlimited {wanted[2]}"
    table.rows[-1][-1] = wanted[3]
    late(session, module, result)
    return result


def late(session, module, result):
    """How much longer a step takes with few credits than with unlimited ones, if messages arrive later."""
    tool, scheduled = session.tool, module.with_suffix(".late.mlir")
    scheduled.write_text(call([tool("pp-compile"), module, f"--cluster=local:{RANKS}", "--schedule=1f1b", "--max-replicas=1", "--quiet",
                               f"--microbatches={MANY}", "--emit=schedule"]))

    def step(credits, hop):
        """Seconds of a step with these credits, measured and simulated."""
        limited, artifact = scheduled.with_suffix(".credits.mlir"), scheduled.with_suffix(".swx")
        credits = ",".join(map(str, credits))
        call([tool("pp-opt"), scheduled, f"-pipeline-assign-credits=credits={credits}", "-o", limited])
        call([tool("pp-compile"), limited, "--quiet", "-o", artifact])
        found = json.loads(call([tool("pp-run"), artifact, f"--inputs={module.with_suffix('.inputs.safetensors')}", "--json",
                                 "--repeat-microbatch", "--steps=3", f"--pace=F:{SLOW}ms,B:{2 * SLOW}ms,hop:{hop * SLOW}ms"]))
        simulated = json.loads(call([tool("pp-sim"), "--schedule=1f1b", f"--ranks={RANKS}", f"--microbatches={MANY}", "--json",
                                     f"--hop={hop}", "--execution=ready", f"--credits={credits}"]))
        return min(found["seconds"][1:]), simulated["makespan"] * SLOW * 1e-3

    names = {"p - s": lambda s, hop: RANKS - s,
             "k(s)": lambda s, hop: math.ceil(RANKS - s + 2 * (RANKS - 1 - s) * hop / 3 - 1e-9), "unlimited": lambda s, hop: MANY}
    table = Table(f"Steps of {MANY} microbatches whose messages arrive later, by a part of a forward, with the credits of 1F1B (p - s) "
                  "and those of `pipeline-assign-credits` (k(s)); the simulated ratios are those of pp-sim.",
                  ["hop / F", "unlimited", *(f"{name}{what}" for name in list(names)[:2] for what in (" / unlimited", ", simulated")),
                   "difference", "limit"])
    result.tables.append(table)
    for hop in HOPS:
        steps = {name: step([credit(s, hop) for s in range(RANKS)], hop) for name, credit in names.items()}
        ratios = [[own / free for own, free in zip(steps[name], steps["unlimited"])] for name in list(names)[:2]]
        apart = max(abs(measured / simulated - 1) for measured, simulated in ratios)
        table.rows.append([hop, time(steps["unlimited"][0]), *(f"{value:.3f}" for both in ratios for value in both),
                           f"{100 * apart:.1f} %", result.want(f"hop {hop}, measured ratio / simulated", apart, NEAR)])
        session.say("  " + " | ".join(map(str, table.rows[-1])))
