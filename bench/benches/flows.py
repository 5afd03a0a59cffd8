"""Sampled training of graph neural networks: how its transfers share NICs, and where its tasks run.

GraphSAGE on the public graphs of `../shared/data/gnn` with the launch defaults of DistDGL (batch, fan-out, hidden size,
samplers for each trainer), on four machines with NICs of 25 Gb/s; simulated by `pp-plan`, no step is run. `even`: every machine
holds a quarter of the graph and has GPUs; `apart`: two machines hold the graph and the other two have the GPUs; `tight`: as
`even`, but each of the first two machines has memory for only half of its samplers. Times are those of an iteration; the gain
is that of exploration over greedy colocation, both with the policy `oes`. The paper (docs/placement.md) reports up to 67 %.
"""

import json

from devtool.console import ROOT

from ..harness.report import Result, Table, time
from ..harness.sides import call

GRAPHS = ("ogbn-products", "reddit", "ogbn-papers100M", "ogbn-arxiv")
SETUPS = ("even", "apart", "tight")
PARTS = tuple(f"{graph}-{setup}" for graph in GRAPHS for setup in SETUPS)
POLICIES = ("oes", "fair", "fifo")
MACHINES = 4
TRAINERS = 2  # of each machine; each adds two tasks
ITERATIONS = 10
EVALUATIONS = 2000
NIC = 25e9 / 8
# Assumed: what a core samples, what a GPU computes and reads, and the share of a mini-batch in the trainer's own partition.
EDGES_PER_SECOND, FLOPS, GPU_BYTES, LOCAL = 1e7, 1e13, 9e11, 0.5


def run(session):
    table = Table(__doc__.split("\n\n")[1].replace("\n", " "), [
        "", *(f"colocated, {policy}" for policy in POLICIES), *(f"explored, {policy}" for policy in POLICIES),
        "gain", "connections of a NIC", "time / critical path", "evaluations"])
    result = Result("flows", [table])
    source = json.loads((ROOT.parent / "shared/data/gnn/dataset_params.json").read_text())
    for name in session.parts(PARTS):
        graph, setup = name.rsplit("-", 1)
        file, placement = session.work / f"{name}.json", session.work / f"{name}.placement.json"
        file.write_text(json.dumps(dataflow(source[graph], source["dgl-baseline"], setup)))
        plan = lambda *more: json.loads(call([session.tool("pp-plan"), file, "--json", *more]))  # noqa: E731
        colocated = {policy: plan("--planner=colocate", f"--policy={policy}") for policy in POLICIES}
        explored = {"oes": plan("--planner=explore", f"--evals={EVALUATIONS}")}
        placement.write_text(json.dumps(explored["oes"]))
        for policy in POLICIES[1:]:
            explored[policy] = plan(f"--plan={placement}", f"--policy={policy}")
        proof = explored["oes"]["certificate"]
        gain = colocated["oes"]["seconds"] / explored["oes"]["seconds"] - 1
        table.rows.append([name, *(time(run[policy]["seconds"] / ITERATIONS) for run in (colocated, explored) for policy in POLICIES),
                           f"{100 * gain:.0f} %", proof["degree"], f"{explored['oes']['seconds'] / proof['critical_path']:.2f}",
                           explored["oes"]["searches"][0]["evaluations"]])
        result.figures[name] = dict(gain=gain, **{f"{what}_{policy}_s": run[policy]["seconds"] for what, run in
                                                  (("colocated", colocated), ("explored", explored)) for policy in POLICIES})
        result.want(f"{name}, time explored relative to colocated", 1 / (1 + gain), 1)
        for policy in ("oes", "fair"):
            for placed in (colocated, explored):
                proof = placed[policy]["certificate"]
                result.want(f"{name}, {policy}: time relative to the upper bound", placed[policy]["seconds"] / proof["upper_bound"], 1)
        session.say(" | ".join(map(str, table.rows[-1])))
    if not result.parts:
        result.want("largest gain is above 30 %: 0.3 relative to it", 0.3 / max(it["gain"] for it in result.figures.values()), 1)
    return result


def volumes(graph, baseline):
    """Of one mini-batch: sampled edges, bytes of features and of parameters, and flops. Nodes are assumed to be drawn
    uniformly."""
    near, far = (baseline["batch"] * count for count in (baseline["fanout"][1], baseline["fanout"][0] * baseline["fanout"][1]))
    draws = baseline["batch"] + near + far
    nodes = graph["nodes"] * (1 - (1 - 1 / graph["nodes"]) ** draws)
    width, hidden, classes = graph["feat"], baseline["hidden"], graph["classes"]
    weights = 2 * width * hidden + 2 * hidden * classes  # of a node and of its neighbours
    flops = 6 * (near * 2 * width * hidden + baseline["batch"] * 2 * hidden * classes)
    return dict(edges=near + far, features=4 * nodes * width, weights=4 * weights, flops=flops)


def dataflow(graph, baseline, setup):
    """The tasks: a store on each machine that holds a part of the graph, TRAINERS trainers for each machine, and one parameter
    server."""
    amounts = volumes(graph, baseline)
    fetched = amounts["features"] + 8 * amounts["edges"]
    with_gpus = range(MACHINES // 2, MACHINES) if setup == "apart" else range(MACHINES)
    stores = range(MACHINES // 2) if setup == "apart" else range(MACHINES)
    trainers = MACHINES * TRAINERS
    # Memory is counted in samplers: room for all of them, or for half of those of one machine.
    room = {m: TRAINERS // 2 if setup == "tight" and m < MACHINES // 2 else trainers for m in range(MACHINES)}
    machines = [dict(name=f"m{m}", cores=2 * trainers, gpus=trainers // len(with_gpus) if m in with_gpus else 0, memory=room[m],
                     **{"in": NIC, "out": NIC}) for m in range(MACHINES)]
    tasks = [dict(name=f"store{m}", seconds=0, machine=f"m{m}") for m in stores]
    edges = []
    for j in range(trainers):
        tasks.append(dict(name=f"sampler{j}", seconds=amounts["edges"] / EDGES_PER_SECOND, cores=1, memory=1))
        for m in stores:
            own = j % len(stores) == m
            edges.append({"from": f"store{m}", "to": f"sampler{j}",
                          "bytes": round(fetched * (LOCAL if own else (1 - LOCAL) / (len(stores) - 1)))})
    for j in range(trainers):
        tasks.append(dict(name=f"worker{j}", seconds=max(amounts["flops"] / FLOPS, 3 * amounts["features"] / GPU_BYTES), gpus=1))
        edges.append({"from": f"sampler{j}", "to": f"worker{j}", "bytes": round(fetched)})
    tasks.append(dict(name="server", seconds=trainers * amounts["weights"] / GPU_BYTES))
    for j in range(trainers):
        edges.append({"from": f"worker{j}", "to": "server", "bytes": amounts["weights"]})
        edges.append({"from": "server", "to": f"worker{j}", "bytes": amounts["weights"], "distance": 1})
    return dict(iterations=ITERATIONS, machines=machines, tasks=tasks, edges=edges)
