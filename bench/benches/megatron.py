"""Plans for the GPT models of Megatron-LM beside the degrees of parallelism that were published for them, in the same simulator.

Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", SC 2021, table 1: A100s with
80 GB in hosts of eight, sequences of 2,048. A microbatch is one sequence in bfloat16, and Adam has 12 bytes for each parameter.
With the published degrees pp-plan still chooses cuts, schedule, recomputation and stages per device, so these plans are at least
as good as the published ones. Nothing runs.
"""

import json

from devtool.console import ROOT, Failure

from ..harness.report import Result, Table, time
from ..harness.sides import call, spend

MODEL = ROOT / "test/Integration/models/published.py:megatron_gpt"
# By part: width, layers, heads, tensor-parallel size, pipeline-parallel size, GPUs, sequences of a step.
PARTS = {
    "1.7b": (2304, 24, 24, 1, 1, 32, 512),
    "3.6b": (3072, 30, 32, 2, 1, 64, 512),
    "7.5b": (4096, 36, 32, 4, 1, 128, 512),
    "18b": (6144, 40, 48, 8, 1, 256, 1024),
    "39b": (8192, 48, 64, 8, 2, 512, 1536),
    "76b": (10240, 60, 80, 8, 4, 1024, 1792),
    "145b": (12288, 80, 96, 8, 8, 1536, 2304),
    "310b": (16384, 96, 128, 8, 16, 1920, 2160),
    "530b": (20480, 105, 128, 8, 35, 2520, 2520),
    "1t": (25600, 128, 160, 8, 64, 3072, 3072),
}
MOST_SECONDS = 60
WANTED = "our step relative to the published degrees"


def run(session):
    table = Table(__doc__.split("\n\n")[1].replace("\n", " "), [
        "", "GPUs", "published: tensor x pipeline x data", "step", "ours", "step", "bound of all plans", "gap", "faster by", "search"])
    result = Result("megatron", [table])
    for name in session.parts(PARTS):
        width, layers, heads, ways, stages, devices, sequences = PARTS[name]
        module, log = session.work / f"{name}.mlir", session.work / "megatron.log"
        spend([session.python, "-m", "stagewright", "import", "jax", MODEL, "-o", module, "--quiet"],
              {"STAGEWRIGHT_PUBLISHED": f"L={layers},D={width},H={heads}"}, log)
        flags = [session.tool("pp-plan"), module, f"--cluster=a100:{devices // 8}", "--target=cuda", f"--microbatches={sequences}",
                 "--optimizer-state=6", "--json"]
        searched = spend([*flags, "--tensor-parallel=auto"], log=log)
        ours, theirs = json.loads(searched.output), published(flags, ways, stages, layers)
        gap = ours["time_s"] / ours["lower_bound_family_s"] - 1
        cells = [time(theirs["time_s"]), degrees(ours), time(ours["time_s"])] if theirs else ["does not fit", degrees(ours), time(ours["time_s"])]
        table.rows.append([name, devices, f"{ways} x {stages} x {devices // ways // stages}", *cells, time(ours["lower_bound_family_s"]),
                           f"{100 * gap:.1f} %", f"{100 * (theirs['time_s'] / ours['time_s'] - 1):.1f} %" if theirs else "", time(searched.wall)])
        if theirs:
            result.want(f"{name}, {WANTED}", ours["time_s"] / theirs["time_s"], 1)
        result.want(f"{name}, search", searched.wall, MOST_SECONDS)
        result.figures[name] = dict(step_s=ours["time_s"], bound_s=ours["lower_bound_family_s"], published_s=theirs and theirs["time_s"],
                                    search_s=searched.wall, plan=degrees(ours))
        session.say(" | ".join(map(str, table.rows[-1])))
    return result


def published(flags, ways, stages, layers):
    """The fastest plan with the published degrees, with one stage on each device or with two; none if none fits."""
    plans = []
    for chunks in (1, 2) if stages > 1 and 2 * stages <= layers else (1,):
        asked = [f"--tensor-parallel={ways}"] if ways > 1 else []
        try:
            plans.append(json.loads(call([*flags, *asked, f"--stages={stages * chunks}", f"--chunks={chunks}"])))
        except Failure as problem:  # No plan fits in memory.
            if "memory" not in str(problem) and "needs" not in str(problem):
                raise
    return min(plans, key=lambda plan: plan["time_s"], default=None)


def degrees(plan):
    groups = {stage["devices"][0] for stage in plan["stages"]}
    copies = max(len(stage["devices"]) for stage in plan["stages"])
    return f"{plan.get('shards', 1)} x {len(groups)} x {copies}, {plan.get('schedule', plan.get('order'))}"
