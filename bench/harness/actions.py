"""Times of actions as measured in a run and as simulated by pp-sim."""

import dataclasses
import json

from .models import MICROBATCHES
from .sides import call


@dataclasses.dataclass
class Scheduled:
    """A plan and an artifact of one schedule. `measure` runs it and returns step_s, pp-sim's predicted_s and its error, and two
    bubbles (the share of the ranks' time in which no action runs): as measured, and as simulated from the measured actions."""

    session: object
    module: object
    stages: int
    schedule: str

    def __post_init__(self):
        self.plan = self.module.with_suffix(f".{self.schedule}.plan.mlir")
        flags = [f"--cluster=local:{self.stages}", f"--stages={self.stages}", f"--schedule={self.schedule}", "--quiet",
                 f"--microbatches={MICROBATCHES}"]
        call([self.session.tool("pp-compile"), self.module, *flags, "--emit=schedule", "-o", self.plan])
        self.artifact = self.session.compiled(self.module, self.stages, f"--schedule={self.schedule}",
                                              name=self.schedule)

    def measure(self, steps=9):
        profile = self.module.with_suffix(f".{self.schedule}.profile.json")
        call(["taskset", "-c", ",".join(map(str, range(self.stages))), self.session.tool("pp-run"), self.artifact,
              "--repeat-microbatch", "--pin", f"--inputs={self.module.with_suffix('.inputs.safetensors')}",
              f"--steps={steps}", f"--profile={profile}"])
        found = json.loads(call([self.session.tool("pp-sim"), self.plan, f"--profile={profile}", "--json"]))
        busy = MICROBATCHES * sum(json.loads(profile.read_text())["actions"].values())
        return dict(found["measured"], bubble=1 - busy / (self.stages * found["measured"]["step_s"]),
                    simulated_bubble=found["bubble_share"])
