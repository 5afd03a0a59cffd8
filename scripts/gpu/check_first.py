"""The smallest case, run before all long checks."""

from check_numerics import check


def items(machine):
    for case in machine.named("first"):
        name = case["name"]
        yield name, lambda name=name: [check(machine, name, f"{name}, no graph", "--no-graph"),
                                       check(machine, name, f"{name}, graph")]
