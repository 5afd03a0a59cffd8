"""Costs of every action, measured on the GPU. The profiles are returned in the report, since pp-sim needs the compiler; the
traces are returned next to it."""

import json

from golden_step import Golden
from rows import ms, row, told


def profile(machine, name):
    inputs, path = Golden(machine, name).inputs(), machine.scratch / f"{name}.profile.json"
    plain, _ = machine.times(name, inputs)
    stamped, _ = machine.times(name, inputs, f"--profile={path}", f"--trace={machine.out / f'{name}.trace.json'}")
    costs, case = json.loads(path.read_text()), machine.case(name)
    rows = [told(f"{name}, kinds of action measured", len(costs["actions"])),
            told(f"{name}, step without stamps and with", f"{ms(plain)}, {ms(stamped)}")]
    rows[0]["profile"] = {**costs, "plain": plain}
    if case["stages"] == 1:
        # With one stage, actions run one after the other, so their sum is the step.
        busy = sum(costs["actions"].values()) * case["microbatches"]
        rows.append(row(f"{name}, actions beside the step", "0.95 to 1.05", f"{busy / stamped:.3f}", 0.95 <= busy / stamped <= 1.05))
    return rows


def items(machine):
    for case in machine.named("profile"):
        yield case["name"], lambda name=case["name"]: profile(machine, name)
