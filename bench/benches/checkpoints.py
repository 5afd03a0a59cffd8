"""What a checkpoint every 20 steps costs: a GPT of 3 million parameters with AdamW, three copies of which are in each.

Runs with checkpoints and without take turns. Of each place behind a checkpoint (the first step, the second, to the 20th) the
median over all turns counts, and these 20 are added; the first 20 steps of a run warm up. To them comes what is between the
steps, which is where a checkpoint is copied: all of a run less its steps, the median over its turns.
"""

import json
import shutil
from statistics import median

from ..stand.hosts import AS_ROOT
from ..stand.models import GPT
from ..stand.report import Result, Table, time
from ..stand.sides import call
from ..stand.training import Training, told

MODEL = GPT.sized("checkpoints", V=256, T=64)
EVERY, BLOCKS, MICROBATCHES = 20, 2, 4
PARTS = {"1": (1, False), "2": (2, False), "2-MPI": (2, True)}
COST = 3.0  # per cent


def turn(session, training, ranks, processes, saves):
    """(seconds of every step, of all steps with what is between them) of one run."""
    folder = session.work / "checkpoints"
    shutil.rmtree(folder, ignore_errors=True)
    flags = [f"--checkpoints={folder}", f"--checkpoint-every={EVERY}"] if saves else []
    cores = [] if processes else ["taskset", "-c", ",".join(map(str, range(ranks)))]
    found = json.loads(call([*cores, *training.command(ranks, processes, f"--steps={EVERY * (BLOCKS + 1)}", "--json", *flags)],
                            AS_ROOT))
    return found["seconds"], found["wall_seconds"]


def block(turns):
    """Seconds of 20 steps, each the median of its place; and of what is between 20 steps."""
    places = [[seconds[at] for seconds, _ in turns for at in range(EVERY + place, len(seconds), EVERY)]
              for place in range(EVERY)]
    between = median(wall - sum(seconds) for seconds, wall in turns) / (BLOCKS + 1)
    return sum(map(median, places)), between


def cost(without, saving):
    """(seconds of 20 steps, of a copy, of what it slows them down) of blocks."""
    return without[0] + without[1], saving[1] - without[1], saving[0] - without[0]


def run(session):
    training = Training(session, MODEL.name, "gpt_adamw_wide", MODEL.sizes["V"], MICROBATCHES, MODEL.environment)
    result = Result("checkpoints")
    table = Table(__doc__.strip(), ["", f"{EVERY} steps without", "between steps", "steps slowed by", "cost of a checkpoint",
                                    "wanted at most"])
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
