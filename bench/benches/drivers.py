"""How many plans each driver of pp-plan --search evaluates until it has one within 1 % of the optimum.

The optimum is that of exhaustive search over all plans of contiguous stages on eight hosts with slow links, as the simulator
times them. Each driver runs with ten seeds, evaluates at most a tenth of the plans, and does not start from the plan of spp. No
training step is run: all times are simulated.
"""

import json
import statistics

from devtool.console import ROOT

from ..harness.report import Result, Table
from ..harness.sides import spend

PARTS = ("gpt", "llama", "moe", "convnet", "encoder_decoder")
DRIVERS = ("dp", "q", "anneal", "random")
SEEDS = 10
CLUSTER = "dapple-c:8"


def run(session):
    table = Table(__doc__.split("\n\n")[1].replace("\n", " "), [
        "", "plans", *(f"{driver}: {what}" for driver in DRIVERS for what in ("optimum found", "plans to within 1 %"))])
    result, better = Result("drivers", [table]), 0
    for name in session.parts(PARTS):
        module, log = session.work / f"{name}.mlir", session.work / "drivers.log"
        spend([session.python, "-m", "stagewright", "import", "jax", ROOT / f"test/Integration/models/{name}.py:{name}", "-o", module,
               "--quiet"], log=log)
        flags = [session.tool("pp-plan"), module, f"--cluster={CLUSTER}", "--layers=flow", "--microbatches=8", "--start=none", "--json"]
        search = lambda *more: json.loads(spend([*flags, *more], log=log).output)["searches"][0]  # noqa: E731
        known = search("--search=exhaustive")
        evaluations = max(int(known["plans"] // 10), 1)
        cells, medians = [], {}
        for driver in DRIVERS:
            runs = [search(f"--search={driver}", f"--evals={evaluations}", f"--seed={seed}") for seed in range(1, SEEDS + 1)]
            optima = sum(run["time_s"] <= known["time_s"] * (1 + 1e-9) for run in runs)
            needed = [reached(run, 1.01 * known["time_s"]) for run in runs]
            medians[driver] = statistics.median(needed)
            cells += [f"{optima} of {SEEDS}", f"{medians[driver]:g}" if medians[driver] < 1e9 else f"more than {evaluations}"]
            if driver == "q":
                result.want(f"{name}: seeds of ten in which q misses the optimum", SEEDS - optima, 1)
        better += medians["q"] < min(medians["anneal"], medians["random"])
        table.rows.append([name, int(known["plans"]), *cells])
        result.figures[name] = dict(plans=known["plans"], optimum_s=known["time_s"], plans_to_1_percent=medians)
        session.say(" | ".join(map(str, table.rows[-1])))
    if not result.parts and len(table.rows) == len(PARTS):
        result.want("models of five on which q does not need fewer plans than both anneal and random", len(PARTS) - better, 1)
    return result


def reached(run, wanted):
    """Plans evaluated until one took at most `wanted` seconds."""
    return next((count for count, best in run["curve"] if best <= wanted), float("inf"))
