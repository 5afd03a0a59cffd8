"""Plans beside those that others published, in the same simulator.

Megatron-LM: the degrees of parallelism of Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
Using Megatron-LM", SC 2021, table 1; A100s with 80 GB in hosts of eight. Galvatron: results of its search in public
repositories (galvatron/models/llama_hf/configs, galvatron_gui/data/search_logs), with the memory limit in their file names.
Aceso: the best plans of its search for eight NPUs with 65,000 MB (zzhx1/Ascend-aceso, search_configs/configs/gpt/*/top_configs;
for GPT 13B the plan that its log in aceso_execute/logs/gpt/13B names as the search's result and then runs). Cuts within a layer
are moved to before or after that layer, whichever makes the step faster. All sequences have 2,048 tokens, values are in
bfloat16, and each replica has 12 bytes of Adam's state for each parameter, where Galvatron's and Aceso's runs may split it over
replicas. With the published degrees pp-plan still chooses schedule and recomputation, and, unless replicas are given, stages
per device and cuts. Plans with parameters split over replicas (ZeRO-3) or with several tensor-parallel sizes are left out. No
step is run.
"""

import dataclasses
import itertools
import json
import re

from devtool.console import ROOT, Failure

from ..harness.report import Result, Table, time
from ..harness.sides import call, spend

MODELS = ROOT / "test/Integration/models/published.py"


@dataclasses.dataclass
class Row:
    """A model with the plan published for it: the same degrees for all stages, or `replicas` and `ends` of each."""

    model: str
    size: str
    devices: int
    microbatches: int
    shards: int = 1
    stages: int = 1
    memory: str = ""
    chunks: tuple = (1,)
    replicas: tuple = ()
    ends: tuple = ()  # of stages, in layers of the model; a half is within a layer
    flags: tuple = ()

    def degrees(self):
        return f"{self.shards} x {self.stages} x {'+'.join(map(str, self.replicas)) or self.devices // self.shards // self.stages}"

    def asked(self):
        """The options of the published plan: a list for each of `chunks`, or with `replicas` one for each way to move cuts within
        layers to an end of the layer."""
        shards = [f"--tensor-parallel={self.shards}"] if self.shards > 1 else []
        if not self.replicas:
            return [[*shards, *self.flags, f"--stages={self.stages * chunks}", f"--chunks={chunks}"] for chunks in self.chunks]
        roundings = itertools.product(*[sorted({int(end), int(end + 0.5)}) for end in self.ends[:-1]])
        return [[f"--plan={' '.join(self.ranges(ends))}"] for ends in roundings]

    def ranges(self, ends):
        # The embedding is the first layer of the graph and the head its last.
        starts = [0, *(end + 1 for end in ends)]
        return [f"[{start},{end})x{count}" for start, end, count in
                zip(starts, [*starts[1:], self.ends[-1] + 2], self.replicas)]


def megatron(width, layers, heads, shards, stages, devices, sequences):
    chunks = (1, 2) if stages > 1 and 2 * stages <= layers else (1,)
    return Row("megatron_gpt", f"L={layers},D={width},H={heads}", devices, sequences, shards, stages, chunks=chunks)


def galvatron(model, size, devices, memory, microbatches, shards, stages, **rest):
    return Row(model, f"T=2048,{size}", devices, microbatches, shards, stages, memory, chunks=(1, 2), **rest)


def aceso(width, layers, heads, microbatch, replicas, ends):
    return Row("megatron_gpt", f"L={layers},D={width},H={heads},B={microbatch}", 8, 1024 // microbatch, stages=len(replicas),
               memory="65000MB", replicas=replicas, ends=(*ends, layers))


# By part: Megatron-LM: width, layers, heads, tensor-parallel size, pipeline-parallel size, GPUs, sequences of a step.
PARTS = {
    "1.7b": megatron(2304, 24, 24, 1, 1, 32, 512),
    "3.6b": megatron(3072, 30, 32, 2, 1, 64, 512),
    "7.5b": megatron(4096, 36, 32, 4, 1, 128, 512),
    "18b": megatron(6144, 40, 48, 8, 1, 256, 1024),
    "39b": megatron(8192, 48, 64, 8, 2, 512, 1536),
    "76b": megatron(10240, 60, 80, 8, 4, 1024, 1792),
    "145b": megatron(12288, 80, 96, 8, 8, 1536, 2304),
    "310b": megatron(16384, 96, 128, 8, 16, 1920, 2160),
    "530b": megatron(20480, 105, 128, 8, 35, 2520, 2520),
    "1t": megatron(25600, 128, 160, 8, 64, 3072, 3072),
    "galvatron-7b-24": galvatron("llama2_7b", "B=8", 8, "24GiB", 2, 4, 2, flags=("--recompute-layers",)),
    "galvatron-7b-26": galvatron("llama2_7b", "B=1", 8, "26GiB", 64, 4, 2),
    "galvatron-13b": galvatron("llama2_13b", "L=20,B=4", 16, "30GiB", 16, 1, 4, replicas=(4, 4, 4, 4), ends=(5, 10, 15, 20)),
    "aceso-1.3b": aceso(2048, 24, 32, 32, (8,), ()),
    "aceso-2.6b": aceso(2560, 32, 32, 16, (4, 4), (16.5,)),
    "aceso-6.7b": aceso(4096, 32, 32, 4, (2, 2, 4), (8.5, 16.5)),
    "aceso-13b": aceso(5120, 40, 40, 2, (1, 1, 2, 2, 2), (5, 10, 20, 30.5)),
}
MOST_SECONDS = 60
WANTED = "our step relative to the published degrees"


def run(session):
    table = Table("\n".join(__doc__.split("\n\n")[1:]).replace("\n", " "), [
        "", "GPUs", "published: tensor x pipeline x data", "step", "ours", "step", "bound of all plans", "gap", "faster by", "search"])
    result = Result("published", [table])
    for name in session.parts(PARTS):
        row = PARTS[name]
        module, log = session.work / f"{name}.mlir", session.work / "published.log"
        spend([session.python, "-m", "stagewright", "import", "jax", f"{MODELS}:{row.model}", "-o", module, "--quiet"],
              {"STAGEWRIGHT_PUBLISHED": row.size}, log)
        flags = [session.tool("pp-plan"), module, f"--cluster=a100:{row.devices // 8}", "--target=cuda",
                 f"--microbatches={row.microbatches}", "--optimizer-state=6", "--json"]
        if row.memory:
            flags.append(f"--memory={row.memory}")
        searched = spend([*flags, "--tensor-parallel=auto", *row.flags], log=log)
        ours, theirs = json.loads(searched.output), published(flags, row)
        gap = ours["time_s"] / ours["lower_bound_family_s"] - 1
        table.rows.append([name, row.devices, row.degrees(), time(theirs["time_s"]) if theirs else "does not fit", degrees(ours),
                           time(ours["time_s"]), time(ours["lower_bound_family_s"]), f"{100 * gap:.1f} %",
                           f"{100 * (theirs['time_s'] / ours['time_s'] - 1):.1f} %" if theirs else "", time(searched.wall)])
        if theirs:
            result.want(f"{name}, {WANTED}", ours["time_s"] / theirs["time_s"], 1)
        result.want(f"{name}, search", searched.wall, MOST_SECONDS)
        result.figures[name] = dict(step_s=ours["time_s"], bound_s=ours["lower_bound_family_s"], published_s=theirs and theirs["time_s"],
                                    search_s=searched.wall, plan=degrees(ours))
        session.say(" | ".join(map(str, table.rows[-1])))
    return result


def published(flags, row):
    """The fastest plan that agrees with the published one; none if none fits."""
    plans = []
    for asked in row.asked():
        try:
            plans.append(json.loads(call([*flags, *asked])))
        except Failure as problem:  # No plan fits in memory.
            if not re.search(r"\bneeds\b.*\bhas\b|fits? in memory", str(problem)):
                raise
    return min(plans, key=lambda plan: plan["time_s"], default=None)


def degrees(plan):
    groups = {stage["devices"][0] for stage in plan["stages"]}
    copies = max(len(stage["devices"]) for stage in plan["stages"])
    return f"{plan.get('shards', 1)} x {len(groups)} x {copies}, {plan.get('schedule', plan.get('order'))}"
