"""Two fast and two slow devices, slower by a factor of 1.48, share the samples of every microbatch: as planned, and equally.

All ranks are slowed down (`pp-run --dilate`), so that each uses an eighth of a core or less, and two cores suffice for four
ranks. Runs with both shares alternate. The predicted speed-up is the ratio of the steps in the plans.
"""

import json
import statistics

from ..harness.models import GPT
from ..harness.report import Result, Table, time
from ..harness.sides import call

RATIO, LEAST_FACTOR = 1.48, 8
FLOPS, BANDWIDTH = 1e10, 2.5e9  # of a fast device: a core at an eighth of its speed
MODEL = GPT.sized("gpt-unequal", V=256, D=128, L=2, T=128, B=20)
GAIN, ERROR = 1.18, 0.05


def cluster(memory=1 << 33):
    devices = [dict(name=f"{kind}{i}", **{"class": kind}, node=0, flops=FLOPS / slower, bandwidth=BANDWIDTH / slower, memory=memory)
               for kind, slower in (("fast", 1), ("slow", RATIO)) for i in (0, 1)]
    return dict(name="unequal", devices=devices, fabric=dict(inside=dict(bandwidth=1e10, latency=2e-6)))


class Shares:
    """An artifact with some shares: what the plan says, and how long its steps take."""

    def __init__(self, session, module, path, name, plan):
        self.artifact = module.with_suffix(f".{name}.swx")
        call([session.tool("pp-compile"), module, f"--cluster={path}", f"--plan={plan}", "--schedule=1f1b", "--microbatches=4",
              "--quiet", "-o", self.artifact])
        manifest = json.loads(call([session.tool("pp-run"), self.artifact, "--info=json"]))
        self.predicted = manifest["plan"]["time"]
        factors = [LEAST_FACTOR * (RATIO if rank["device"].startswith("slow") else 1) for rank in manifest["ranks"]]
        self.command = [session.tool("pp-run"), self.artifact, f"--inputs={module.with_suffix('.inputs.safetensors')}",
                        "--repeat-microbatch", "--json", "--steps=6",
                        *(f"--dilate={rank}:{factor:g}" for rank, factor in enumerate(factors))]
        self.turns = []

    def turn(self):
        self.turns.append(statistics.median(json.loads(call(self.command))["seconds"][1:]))


def run(session):
    module, path = session.imported(MODEL), session.work / "unequal.json"
    path.write_text(json.dumps(cluster()))
    stage = f"[0,{MODEL.sizes['L'] + 2})@fast0+fast1+slow0+slow1"
    equal = Shares(session, module, path, "equal", f"{stage}:5+5+5+5")
    planned = Shares(session, module, path, "planned", stage)
    for number in range(session.options.rounds):
        for side in (equal, planned):
            side.turn()
        session.say(f"  round {number + 1}: equal {time(equal.turns[-1])}, planned {time(planned.turns[-1])}, speed-up "
                    f"{equal.turns[-1] / planned.turns[-1]:.3f}")
    gains = [a / b for a, b in zip(equal.turns, planned.turns)]
    gain, expected = statistics.median(gains), equal.predicted / planned.predicted
    table = Table(__doc__.splitlines()[0], ["", "equal", "planned", "speed-up", "of all rounds", "wanted"])
    result = Result("unequal", [table], ratios={"planned / equal": 1 / gain},
                    figures=dict(equal=equal.turns, planned=planned.turns, gains=gains, gain=gain, predicted=expected))
    table.rows.append(["predicted", time(equal.predicted), time(planned.predicted), f"{expected:.3f}", "", ""])
    result.want("planned / equal", 1 / gain, 1 / GAIN)
    wanted = result.want("error of the predicted speed-up", abs(gain / expected - 1), ERROR)
    table.rows.append(["measured", time(statistics.median(equal.turns)), time(statistics.median(planned.turns)), f"{gain:.3f}",
                       f"{min(gains):.3f} to {max(gains):.3f}", f"at least {GAIN}, error {wanted}"])
    return result
