"""Models of published shapes on clusters of realistic size: imported without values, planned, compiled and dry-run here.

The plan is pp-plan's, the artifact pp-compile's, with no flags but cluster, microbatches and target. Arenas are those of the
artifact's ranks, as fractions of the stage's memory in the plan.
"""

import json

from devtool.console import ROOT

from ..harness.report import Result, Table, time
from ..harness.sides import call, spend

PUBLISHED = ROOT / "test/Integration/models/published.py"
# By part: model, samples per microbatch, cluster, microbatches, and the limit on the seconds of a step.
PARTS = {
    "7b-32x1": ("llama2_7b", 1, "h100", 32, 0.95),
    "7b-4x8": ("llama2_7b", 8, "h100", 4, 0.95),
    "70b-256x1": ("llama2_70b", 1, "h100:8", 256, 13.0),
    "70b-32x8": ("llama2_70b", 8, "h100:8", 32, None),
    "mixtral-256x1": ("mixtral_8x7b", 1, "h100:8", 256, None),
    "gpt3-1536x1": ("gpt3_175b", 1, "a100:128", 1536, None),
}
MOST_SECONDS, MOST_BYTES, MOST_GAP, LEAST_FILLED = 60, 2 << 30, 0.15, 0.97


def run(session):
    steps = Table("The planned step, with contractions at the data sheets' rates", [
        "", "cluster", "step", "limit", "bound of all plans", "gap", "limit"])
    sized = Table("The planned step, with the rates that contractions of each size reach", [
        "", "step", "bound of all plans", "gap"])
    arenas = Table("Arenas beside what is planned for their stages", ["", "least", "required", "most", "limit"])
    costs = Table("What it takes, on one machine", ["", "import", "plan", "resident", "compile", "limit", "resident",
                                                    "limit", "dry run"])
    result = Result("size", [steps, sized, arenas, costs])
    for name in session.parts(PARTS):
        model, samples, cluster, microbatches, most = PARTS[name]
        module, log = session.work / f"{name}.mlir", session.work / "size.log"
        flags = [f"--cluster={cluster}", f"--microbatches={microbatches}"]
        imported = spend([session.python, "-m", "stagewright", "import", "jax", f"{PUBLISHED}:{model}", "-o", module, "--quiet"],
                         {"STAGEWRIGHT_PUBLISHED": f"B={samples}"}, log)
        session.say(f"{name}: imported in {time(imported.wall)}")
        peak = json.loads(call([session.tool("pp-plan"), module, f"--cluster={cluster},peak", flags[1], "--target=cuda:sm_90a",
                                "--json"]))
        planned = spend([session.tool("pp-plan"), module, *flags, "--target=cuda:sm_90a", "--json"], log=log)
        plan = json.loads(planned.output)
        compiled = spend([session.tool("pp-compile"), module, *flags, "--target=cuda:sm_90a", "--quiet", "-o",
                          module.with_suffix(".swx")], log=log)
        dry = spend([session.tool("pp-run"), module.with_suffix(".swx"), "--dry-run"], log=log)
        filled = parts_filled(plan, json.loads(call([session.tool("pp-run"), module.with_suffix(".swx"), "--info=json"])))
        gap, sized_gap = (p["time_s"] / p["lower_bound_family_s"] - 1 for p in (peak, plan))
        session.say(f"{name}: {time(peak['time_s'])} a step, gap {100 * gap:.1f} %; by size {time(plan['time_s'])}, "
                    f"{100 * sized_gap:.1f} %; arenas {100 * min(filled):.1f} to {100 * max(filled):.1f} %, "
                    f"compiled in {time(compiled.wall)}")
        steps.rows.append([name, cluster, time(peak["time_s"]),
                           result.want(f"{name}, step", peak["time_s"], most) if most else "",
                           time(peak["lower_bound_family_s"]), f"{100 * gap:.1f} %",
                           result.want(f"{name}, gap", gap, MOST_GAP)])
        sized.rows.append([name, time(plan["time_s"]), time(plan["lower_bound_family_s"]), f"{100 * sized_gap:.1f} %"])
        arenas.rows.append([name, f"{100 * min(filled):.1f} %",
                            result.want(f"{name}, part of the plan left empty", 1 - min(filled), 1 - LEAST_FILLED),
                            f"{100 * max(filled):.1f} %", result.want(f"{name}, part of the plan filled", max(filled), 1)])
        costs.rows.append([name, time(imported.wall), time(planned.wall), f"{planned.peak / 1e6:.0f} MB", time(compiled.wall),
                           result.want(f"{name}, compile", compiled.wall, MOST_SECONDS), f"{compiled.peak / 1e6:.0f} MB",
                           result.want(f"{name}, resident", max(planned.peak, compiled.peak), MOST_BYTES), time(dry.wall)])
        result.figures[name] = dict(step_s=peak["time_s"], bound_s=peak["lower_bound_family_s"], stages=len(peak["stages"]),
                                    sized_step_s=plan["time_s"], sized_bound_s=plan["lower_bound_family_s"],
                                    filled=[min(filled), max(filled)], import_s=imported.wall, plan_s=planned.wall,
                                    compile_s=compiled.wall, compile_resident=compiled.peak, dry_run_s=dry.wall)
    return result


def parts_filled(plan, manifest):
    """For every rank, its arena as a fraction of the memory that the plan gives for its stage."""
    promised = {}
    for stage in plan["stages"]:
        for device in stage["devices"]:
            promised[device] = promised.get(device, 0) + stage["memory_bytes"]
    return [rank["memory"]["arena"] / promised[rank["device"]] for rank in manifest["ranks"]]
