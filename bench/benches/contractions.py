"""A step of one stage on one core, compared with its contractions called alone in the same process.

bench/replay records the calls of one step; then steps and replays of the same calls on the same addresses take turns.
"""

import json

from ..harness import ratio
from ..harness.models import MODELS
from ..harness.report import RATIO_COLUMNS, Result, Table, number, time
from ..harness.sides import call
from ..harness.turns import steps_for

AT_MOST = 1.15


def shapes(found, peak, name):
    """Every shape that the step contracts, sorted by time, longest first."""
    whole = sum(shape["seconds"] for shape in found)
    flops = sum(shape["flops"] for shape in found)
    table = Table(f"Contractions of {name} by shape: least time of all calls of a step. A form says whether rows (n), "
                  "columns (t) or neither (s) of A, B and C are contiguous, and + that the product is added to C; a "
                  "convolution has m, n and k of the matrix product that computes it",
                  ["m x n x k", "batch", "form", "calls", "time", "part", "GFLOP/s", "of peak"])

    def rate(flops, seconds):
        return [number(flops / seconds / 1e9, 1), f"{100 * flops / seconds / peak:.0f} %"]

    for shape in sorted(found, key=lambda one: -one["seconds"]):
        table.rows.append([f"{shape['m']} x {shape['n']} x {shape['k']}", shape["batch"], shape["form"], shape["count"],
                           time(shape["seconds"]), f"{100 * shape['seconds'] / whole:.1f} %",
                           *rate(shape["flops"], shape["seconds"])])
    table.rows.append(["all", "", "", sum(shape["count"] for shape in found), time(whole), "100 %", *rate(flops, whole)])
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
        result.figures[name] = {key: found[key] for key in ("shapes", "peak_flops", "peak_bandwidth")}
        session.say(f"{name}: this core reaches {found['peak_flops'] / 1e9:.1f} GFLOP/s in registers and reads "
                    f"{found['peak_bandwidth'] / 1e9:.1f} GB/s from memory")
        result.tables.append(shapes(found["shapes"], found["peak_flops"], name))
    return result
