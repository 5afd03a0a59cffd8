"""Runs pp-plan with every planner of --list-planners on one input and checks what must hold for every plan."""

import json
import subprocess
import sys

FIELDS = {"planner", "objective", "value", "time_s", "lower_bound_plan_s", "lower_bound_family_s", "gap",
          "microbatches", "stages", "explanation"}
STAGE_FIELDS = {"nodes", "devices", "replicas", "recompute", "forward_s", "backward_s", "all_reduce_s", "tail_s",
                "memory_bytes", "bound_by"}


def run(*arguments):
    return subprocess.run(["pp-plan", *arguments], capture_output=True, text=True)


def check(plan, layers):
    assert FIELDS <= set(plan), FIELDS - set(plan)
    assert ("order" in plan) != ("schedule" in plan)  # explicit execution orders, or the name of a generator
    assert sorted(node for stage in plan["stages"] for node in stage["nodes"]) == sorted(layers)
    for stage in plan["stages"]:
        assert STAGE_FIELDS <= set(stage), STAGE_FIELDS - set(stage)
        assert len(set(stage["devices"])) == len(stage["devices"]) >= 1
        assert stage["replicas"] * stage.get("ways", 1) == len(stage["devices"])
        assert stage["bound_by"] in ("compute", "channel", "all-reduce", "memory")
    # No plan is faster than its own lower bound, except for rounding.
    assert plan["time_s"] >= plan["lower_bound_plan_s"] * (1 - 1e-9) > 0
    if "upper_bound_s" in plan and plan.get("order") == "window":
        assert plan["time_s"] <= plan["upper_bound_s"] * (1 + 1e-9)
    assert abs(plan["gap"] - (plan["time_s"] / plan["lower_bound_family_s"] - 1)) < 1e-9


def main(file, layers, *options):
    names = [line.split()[0] for line in run("--list-planners").stdout.splitlines()]
    assert names[0] == "auto" and "balance" in names
    times = {}
    for name in names:
        extra = [f"--plan=[0,{layers})x1"] if name == "fixed" else []
        result = run(file, f"--planner={name}", "--json", *options, *extra)
        assert result.returncode == 0, f"{name}: {result.stderr}"
        again = run(file, f"--planner={name}", "--json", *options, *extra)
        assert again.stdout == result.stdout, f"{name} gives two plans"
        plan = json.loads(result.stdout)
        check(plan, [f"layer{i}" for i in range(int(layers))])
        times[name] = plan["time_s"]
    # Among the planners with one stage per device none is faster than `refine`. `auto` takes the faster of `spp` and `placed`,
    # but `placed` (several stages per device) only if it saves at least 0.5 %.
    assert times["auto"] <= min(times["spp"], times["placed"] / (1 - 0.005)) * (1 + 1e-9)
    assert times["refine"] <= times["spp"] * (1 + 1e-9)
    for name, time in times.items():
        assert name in ("auto", "placed") or times["refine"] <= time * (1 + 1e-9), \
            f"{name} takes {time}, refine {times['refine']}"
    print("planners:", *names)


main(*sys.argv[1:])
