"""A step of one stage on one core, beside the contractions that it calls, called alone in the same process.

bench/replay notes the calls of one step, then steps and the same calls on the same addresses take turns.
"""

import json

from ..stand import ratio
from ..stand.models import MODELS
from ..stand.report import RATIO_COLUMNS, Result, Table, number, time
from ..stand.sides import call
from ..stand.turns import steps_for

AT_MOST = 1.15


def shapes(found, name):
    """Every shape that the step contracts, those that take most of its time first."""
    whole = sum(shape["seconds"] for shape in found)
    flops = sum(shape["flops"] for shape in found)
    table = Table(f"Contractions of {name} by shape: least time of all calls of a step. A form says whether rows (n) or "
                  "columns (t) of A, B and C are contiguous, and + that C is added to",
                  ["m x n x k", "batch", "form", "calls", "time", "part", "GFLOP/s"])
    for shape in sorted(found, key=lambda one: -one["seconds"]):
        table.rows.append([f"{shape['m']} x {shape['n']} x {shape['k']}", shape["batch"], shape["form"], shape["count"],
                           time(shape["seconds"]), f"{100 * shape['seconds'] / whole:.1f} %",
                           number(shape["flops"] / shape["seconds"] / 1e9, 1)])
    table.rows.append(["all", "", "", sum(shape["count"] for shape in found), time(whole), "100 %",
                       number(flops / whole / 1e9, 1)])
    return table


def run(session):
    table, options = Table(__doc__.splitlines()[0], RATIO_COLUMNS), session.options
    result = Result("contractions", [table])
    for name in options.models:
        module = session.imported(MODELS[name])
        artifact = session.compiled(module, 1)
        once = min(session.ours(artifact, module, "0").report(2)["seconds"])
        command = ["taskset", "-c", "0", session.tool("bench-replay"), artifact, module.with_suffix(".inputs.safetensors")]
        found = json.loads(call([*command, options.rounds, steps_for(once, options.turn)]))
        session.note(result, table, f"{name}, beside its contractions",
                     ratio.compare(found["step"], found["contractions"], options.spread), AT_MOST, name)
        result.figures[name] = found["shapes"]
        result.tables.append(shapes(found["shapes"], name))
    return result
