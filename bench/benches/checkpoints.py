"""Cost of a checkpoint every 20 steps (parameters and both moments): a GPT of 3 million parameters with AdamW.

Runs with and without checkpoints take turns. The first 20 steps of a run are warm-up. The time of 20 steps is the sum over i =
0 to 19 of the median time of the i-th step of every block of 20, over all runs. The time between steps, in which a checkpoint
is copied, is added: a third of the difference between the wall time of a run of 60 steps and the sum of its steps' times,
median over the runs.
"""

import json
import shutil
from statistics import median

from ..harness.hosts import AS_ROOT
from ..harness.models import GPT
from ..harness.report import Result, Table, time
from ..harness.sides import call
from ..harness.training import Training, told

MODEL = GPT.sized("checkpoints", V=256, T=64)
EVERY, BLOCKS, MICROBATCHES = 20, 2, 4
PARTS = {"1": (1, False), "2": (2, False), "2-MPI": (2, True)}
COST = 3.0  # percent


def turn(session, training, ranks, processes, saves):
    """(seconds of each step, wall seconds of all steps with the time between them) of one run."""
    folder = session.work / "checkpoints"
    shutil.rmtree(folder, ignore_errors=True)
    flags = [f"--checkpoints={folder}", f"--checkpoint-every={EVERY}"] if saves else []
    cores = [] if processes else ["taskset", "-c", ",".join(map(str, range(ranks)))]
    found = json.loads(call([*cores, *training.command(ranks, processes, f"--steps={EVERY * (BLOCKS + 1)}", "--json", *flags)],
                            AS_ROOT))
    return found["seconds"], found["wall_seconds"]


def block(turns):
    """(seconds of 20 steps: the sum of the medians of the 20 positions; seconds between steps, per 20 steps)."""
    places = [[seconds[at] for seconds, _ in turns for at in range(EVERY + place, len(seconds), EVERY)]
              for place in range(EVERY)]
    between = median(wall - sum(seconds) for seconds, wall in turns) / (BLOCKS + 1)
    return sum(map(median, places)), between


def cost(without, saving):
    """(seconds of 20 steps without checkpoints, including the time between them; seconds to copy a checkpoint; seconds by which
    a checkpoint slows 20 steps) from two results of `block`."""
    return without[0] + without[1], saving[1] - without[1], saving[0] - without[0]


def run(session):
    training = Training(session, MODEL.name, "gpt_adamw_wide", MODEL.sizes["V"], MICROBATCHES, MODEL.environment)
    result = Result("checkpoints")
    table = Table(__doc__.strip(), ["", f"{EVERY} steps without checkpoints", "added between steps", "steps slowed by",
                                    "cost of a checkpoint", "limit"])
    result.tables.append(table)
    for part in session.parts(PARTS):
        ranks, processes = PARTS[part]
        name, turns = told(ranks, processes), {False: [], True: []}
        for number in range(1, session.options.rounds + 1):
            for saves, taken in turns.items():
                taken.append(turn(session, training, ranks, processes, saves))
            session.say(f"  {name}, round {number}: " + ", ".join(
                f"{time(taken[-1][1])} {'with' if saves else 'without'}" for saves, taken in turns.items()))
        steps, copy, slowed = cost(block(turns[False]), block(turns[True]))
        percent = 100 * (copy + slowed) / steps
        result.figures[name] = dict(without=turns[False], saving=turns[True], steps=steps, copy=copy, slowed=slowed)
        table.rows.append([name, time(steps), f"{1e3 * copy:.1f} ms", f"{1e3 * slowed:.1f} ms", f"{percent:.2f} %",
                           result.want(f"{name}: cost, %", percent, COST)])
    return result
