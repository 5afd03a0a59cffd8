"""Two ranks on two cores, 1F1B, 8 microbatches, compared with torch.distributed.pipelining and jax.jit on the same cores.

Also the bubble, the share of the ranks' time in which no action runs, compared with pp-sim's for the same actions.
"""

import statistics

from ..harness.actions import Scheduled
from ..harness.models import GPT
from ..harness.report import RATIO_COLUMNS, Result, Table

AT_MOST, POINTS = 0.65, 0.03


def bubbles(session, result, module):
    table = Table("Bubble of two ranks, part of the step", ["schedule", "measured", "simulated", "apart", "limit"])
    result.tables.append(table)
    for schedule in ("1f1b", "gpipe", "zb-h1"):
        scheduled = Scheduled(session, module, 2, schedule)
        rounds = [scheduled.measure() for _ in range(session.options.rounds)]
        measured, simulated = (statistics.median(one[kind] for one in rounds) for kind in ("bubble", "simulated_bubble"))
        apart = statistics.median(abs(one["bubble"] - one["simulated_bubble"]) for one in rounds)
        result.figures[schedule] = dict(bubble=measured, simulated_bubble=simulated, apart=apart, rounds=rounds)
        table.rows.append([schedule, *(f"{100 * part:.1f} %" for part in (measured, simulated)),
                           f"{100 * apart:.1f} points", result.want(f"{schedule}, bubble", apart, POINTS)])
        session.say(f"{schedule}: bubble {100 * measured:.1f} %, simulated {100 * simulated:.1f} %")


def run(session):
    table = Table(__doc__.splitlines()[0], RATIO_COLUMNS)
    result, module = Result("pipeline", [table]), session.imported(GPT)
    artifact = session.compiled(module, 2, "--schedule=1f1b")
    found = session.compare("two ranks, 1F1B", [
        lambda: session.ours(artifact, module, "0,1"), lambda: session.torch(GPT, 2), lambda: session.jax(GPT, "0,1")])
    for peer, key in (("torch", "torch_pipelining"), ("jax", "jax_two_cores")):
        session.note(result, table, f"two ranks, 1F1B, beside {peer}", found[peer], AT_MOST, key)
    bubbles(session, result, module)
    return result
