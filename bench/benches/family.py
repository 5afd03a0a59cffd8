"""Every plan of a family, run on four equal devices: how good the planner's choice is, and how well predictions order plans.

The family of a model: its layers in contiguous stages, on one to four groups of the four devices, whose members share the samples of
every microbatch; under 1F1B, at most sixty plans, evenly drawn if there are more. All ranks are slowed down (`pp-run --dilate`), so
that each uses an eighth of a core or less, and two cores suffice for four ranks. The plans take turns.
"""

import itertools
import json
import statistics

from ..harness.models import FOLDER, GPT, Model
from ..harness.report import Result, Table, time
from ..harness.sides import call

DEVICES, MICROBATCHES, SLOWER, MOST = 4, 4, 8, 60
FLOPS, BANDWIDTH = 1e10, 2.5e9  # of a core at an eighth of its speed, as for `unequal`
WORSE, CORRELATION = 0.10, 0.9
MODELS = {model.name.removeprefix("family-"): model for model in (
    GPT.sized("family-gpt", V=256, D=128, L=3, T=128, B=4),
    Model("family-llama", "llama.py:llama", dict(V=256, D=128, H=4, G=2, F=352, L=3, T=128, B=4), 0),
    Model("family-moe", "moe.py:moe", dict(V=256, D=128, E=4, K=2, F=256, L=2, T=64, B=4), 0),
    Model("family-convnet", "convnet.py:convnet", dict(S=32, C=16, B=8, K=10), 0),
    Model("family-encoder_decoder", "encoder_decoder.py:encoder_decoder",
          dict(V=256, D=128, H=4, N=2, M=2, S=64, T=64, B=4), 0))}
PARTS = tuple(MODELS)


def cluster():
    devices = [{"name": f"d{i}", "class": "core", "node": 0, "flops": FLOPS, "bandwidth": BANDWIDTH, "memory": 1 << 33}
               for i in range(DEVICES)]
    return {"name": "four", "devices": devices, "fabric": {"inside": {"bandwidth": 1e10, "latency": 2e-6}}}


def compositions(total, parts):
    """All ways to write `total` as a sum of `parts` positive numbers, in order."""
    for inner in itertools.combinations(range(1, total), parts - 1):
        edges = (0, *inner, total)
        yield [b - a for a, b in itertools.pairwise(edges)]


def family(layers):
    """The plans, as `--plan` takes them."""
    plans = []
    for stages in range(1, DEVICES + 1):
        for lengths, groups in itertools.product(compositions(layers, stages), compositions(DEVICES, stages)):
            layer, device, parts = 0, 0, []
            for length, group in zip(lengths, groups):
                parts.append(f"[{layer},{layer + length})@" + "+".join(f"d{i}" for i in range(device, device + group)))
                layer, device = layer + length, device + group
            plans.append(" ".join(parts))
    step = max(len(plans) / MOST, 1)
    return [plans[int(i * step)] for i in range(min(len(plans), MOST))]


class Plan:
    """An artifact with some plan: what the planner predicts for it, and how long its steps take."""

    def __init__(self, session, module, cluster_path, name, plan):
        artifact = module.with_suffix(f".{name}.swx")
        call([session.tool("pp-compile"), module, f"--cluster={cluster_path}", *([f"--plan={plan}"] if plan else []),
              "--schedule=1f1b", f"--microbatches={MICROBATCHES}", "--quiet", "-o", artifact])
        manifest = json.loads(call([session.tool("pp-run"), artifact, "--info=json"]))
        self.plan, self.predicted, self.turns = plan or "chosen", manifest["plan"]["time"], []
        self.command = [session.tool("pp-run"), artifact, f"--inputs={module.with_suffix('.inputs.safetensors')}",
                        "--repeat-microbatch", "--json", "--steps=4",
                        *(f"--dilate={rank}:{SLOWER}" for rank in range(len(manifest["ranks"])))]

    def turn(self):
        self.turns.append(statistics.median(json.loads(call(self.command))["seconds"][1:]))

    @property
    def measured(self):
        return statistics.median(self.turns)


def run(session):
    path = session.work / "family.json"
    path.write_text(json.dumps(cluster()))
    table = Table(__doc__.splitlines()[0], ["", "plans", "best", "chosen", "chosen / best", "limit", "rank correlation",
                                            "required"])
    result = Result("family", [table])
    for name in session.parts(PARTS):
        module = session.imported(MODELS[name])
        planned = json.loads(call([session.tool("pp-plan"), module, f"--cluster={path}", f"--microbatches={MICROBATCHES}", "--json"]))
        layers = sum(len(stage["nodes"]) for stage in planned["stages"])
        plans = [Plan(session, module, path, i, plan) for i, plan in enumerate([None, *family(layers)])]
        for number in range(session.options.rounds):
            for plan in plans:
                plan.turn()
            session.say(f"  {name}, round {number + 1}: best {time(min(plan.turns[-1] for plan in plans))}, chosen "
                        f"{time(plans[0].turns[-1])}")
        chosen, best = plans[0], min(plans, key=lambda plan: plan.measured)
        correlation = rank_correlation([plan.predicted for plan in plans], [plan.measured for plan in plans])
        result.figures[name] = dict(plans=[dict(plan=plan.plan, predicted=plan.predicted, turns=plan.turns) for plan in plans],
                                    correlation=correlation)
        ratio = chosen.measured / best.measured
        wanted = result.want(f"{name}: chosen / best", ratio, 1 + WORSE)
        correlated = result.want(f"{name}: 1 - rank correlation", 1 - correlation, 1 - CORRELATION)
        table.rows.append([name, len(plans), time(best.measured), time(chosen.measured), f"{ratio:.3f}", wanted,
                           f"{correlation:.3f}", f"{CORRELATION:g}{correlated[correlated.index(':'):]}"])
        session.say(f"{name}: chosen / best {ratio:.3f} (best: {best.plan}), rank correlation {correlation:.3f}")
    return result


def rank_correlation(a, b):
    """Spearman's rank correlation."""
    return statistics.correlation(ranks(a), ranks(b))


def ranks(values):
    """Equal values share the mean of their ranks."""
    return [sum(other < value for other in values) + sum(other == value for other in values) / 2 for value in values]
