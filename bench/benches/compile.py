"""Compile time by number of operations, in CPU seconds by pass, compared with jax.jit for the same step.

Our time is that of the whole process, from reading MLIR to the artifact, without caches from earlier compiles; JAX's is that of
XLA alone, without tracing. Operations are those of the imported module, including those in bodies of linalg.generic.
"""

import contextlib
import json
import re
import tempfile

from ..harness.models import DEEP
from ..harness.report import RATIO_COLUMNS, Result, Table, number, size, time
from ..harness import ratio
from ..harness.sides import spend

LAYERS, BESIDE, ROUNDS = (2, 8, 24, 72, 144), 24, 3
SPREAD = 0.2  # wider than elsewhere: the ratio is far below its limit
FLAGS = ["--cluster=local:4", "--stages=4", "--microbatches=8"]


def operations(session, module):
    log = session.work / "operations.json"
    spend([session.tool("pp-opt"), module, "--pass-pipeline=builtin.module(print-op-stats{json=true})", "-o",
           "/dev/null"], log=log)
    return sum(json.loads(log.read_text()).values())


def passes(log):
    """User seconds by pass name, from the output of --timing."""
    rows = re.findall(r"^ +([\d.]+) \( *[\d.]+%\) +[\d.]+ \( *[\d.]+%\)  ( *)(.+)$", log, re.MULTILINE)
    return {name.strip("'"): float(seconds) for seconds, _, name in rows if name not in ("root", "Total")}


@contextlib.contextmanager
def empty_cache(session):
    """The environment of a compile with an empty cache of native code."""
    with tempfile.TemporaryDirectory(dir=session.work) as folder:
        yield {"XDG_CACHE_HOME": folder}


def one_size(session, layers):
    model = DEEP.sized(f"deep-{layers}", L=layers)
    module, log = session.imported(model), session.work / f"compile-{layers}.log"
    command = [session.tool("pp-compile"), module, *FLAGS, "--quiet", "--timing", "-o", module.with_suffix(".swx")]
    with empty_cache(session) as environment:
        whole = spend(command, environment, log)
        again = spend(command, environment)
    cut = spend([session.tool("pp-opt"), f"--pipeline-partition={' '.join(f.strip('-') for f in FLAGS)}", module, "-o",
                 "/dev/null"], log=session.work / "compile.log")
    found = dict(operations=operations(session, module), cpu_s=whole.seconds, wall_s=whole.wall, peak=whole.peak,
                 again_cpu_s=again.seconds, partition_cpu_s=cut.seconds, partition_peak=cut.peak, passes=passes(log.read_text()))
    session.say(f"  {layers} layers, {found['operations']} operations: {time(whole.seconds)}, {size(whole.peak)}; "
                f"partition alone {time(cut.seconds)}")
    return found


def beside_jax(session, result):
    """Compares CPU seconds. The sides take turns, because other load of the machine affects its caches, and so CPU time."""
    model, turns = DEEP.sized(f"deep-{BESIDE}", L=BESIDE), ([], [])
    module = session.imported(model)
    for number_ in range(ROUNDS):
        with empty_cache(session) as environment:
            turns[0].append([spend([session.tool("pp-compile"), module, *FLAGS, "--quiet", "-o",
                                    module.with_suffix(".swx")], environment).seconds])
        turns[1].append([json.loads(session.jax_says("compile", model))["cpu_s"]])
        session.say(f"  {BESIDE} layers, round {number_ + 1}: ours {time(turns[0][-1][0])}, XLA {time(turns[1][-1][0])}")
    table = Table(f"CPU seconds to compile {BESIDE} layers", RATIO_COLUMNS)
    session.note(result, table, f"{BESIDE} layers, beside XLA", ratio.compare(*turns, SPREAD, ROUNDS), 0.15, "jax_compile")
    return table


def run(session):
    result = Result("compile")
    found = {layers: one_size(session, layers) for layers in LAYERS}
    table = Table(__doc__.splitlines()[0], ["layers", "operations", "CPU", "wall", "an operation", "peak memory",
                                            "compiled again, CPU", "partition alone, CPU"])
    for layers, one in found.items():
        table.rows.append([layers, one["operations"], time(one["cpu_s"]), time(one["wall_s"]),
                           time(one["cpu_s"] / one["operations"]), size(one["peak"]), time(one["again_cpu_s"]),
                           time(one["partition_cpu_s"])])
    names = sorted(found[LAYERS[-1]]["passes"], key=found[LAYERS[-1]]["passes"].get, reverse=True)[:16]
    by_pass = Table("User seconds by pass, those that take most at the largest size", ["pass", *map(str, LAYERS)], [
        [name, *(number(found[layers]["passes"].get(name, 0), 3) for layers in LAYERS)] for name in names])
    growth = found[144]["cpu_s"] / found[24]["cpu_s"]
    limits = Table("Limits", ["", "found", "limit"], [
        ["72 layers, CPU", time(found[72]["cpu_s"]), result.want("72 layers, CPU seconds", found[72]["cpu_s"], 20)],
        ["24 to 144 layers, growth of CPU", number(growth), result.want("growth from 24 to 144 layers", growth, 6)],
        ["72 layers, partition alone, CPU", time(found[72]["partition_cpu_s"]),
         result.want("72 layers, partition alone, CPU seconds", found[72]["partition_cpu_s"], 2)],
        ["72 layers, peak memory", size(found[72]["peak"]),
         result.want("72 layers, peak MiB", found[72]["peak"] / 2**20, 2048)]])
    result.tables += [table, by_pass, limits, beside_jax(session, result)]
    result.figures = {str(layers): one for layers, one in found.items()}
    return result
