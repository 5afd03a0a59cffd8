"""One-stage GPT-2 small in bfloat16: our step takes turns with jax.jit, then with torch.compile, on the same GPU."""

import json
import statistics

import peers
from golden_step import Golden
from rows import Skip, ms, row, skipped, told

ROUNDS, STEPS, WARM = 5, 20, 3


class Ours:
    """A new process for each turn; its first steps are warm-up."""

    def __init__(self, machine, name, *flags):
        self.machine, self.name, self.flags, self.inputs = machine, name, flags, Golden(machine, name).inputs()

    def turn(self, count):
        text = self.machine.pp_run(self.name, f"--inputs={self.inputs}", f"--steps={count + WARM}", "--json",
                                   self.machine.one_gpu(self.name), *self.flags)
        return json.loads(text)["seconds"][WARM:]


def turns(sides, rounds=ROUNDS, steps=STEPS):
    """The median of each turn, by side; a round is one turn of every side."""
    medians = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            medians[name].append(statistics.median(side.turn(steps)))
    return medians


def utilisation(case, middle):
    """Each side's utilisation of this GPU."""
    operations = peers.flops(case)
    try:
        limit = peers.matrix_limit()
    except Skip as reason:
        return [skipped("physical limit", reason)]
    rows = [told("physical limit, an 8192 x 8192 x 8192 product in bfloat16", f"{limit / 1e12:.0f} TFLOP/s"),
            told(f"{case['name']}, {operations / 1e12:.2f} TFLOP by the usual count, at that limit", ms(operations / limit))]
    for side, seconds in middle.items():
        rate = operations / seconds
        rows.append(told(f"{case['name']}, model flops utilisation of {side}",
                         f"{rate / 1e12:.0f} TFLOP/s, {100 * rate / limit:.1f} % of the limit"))
    return rows


def beside(machine, case, peer, make):
    name = case["name"]
    medians = turns({"ours": Ours(machine, name), peer: make()})
    middle = {side: statistics.median(values) for side, values in medians.items()}
    ratios, ratio = [a / b for a, b in zip(medians["ours"], medians[peer])], middle["ours"] / middle[peer]
    seen = (f"{ratio:.3f} ({min(ratios):.3f} to {max(ratios):.3f} in {len(ratios)} rounds; ours {ms(middle['ours'])}, "
            f"theirs {ms(middle[peer])})")
    return [row(f"{name} beside {peer}", "ratio at most 1.0", seen, ratio <= 1), *utilisation(case, middle)]


def any_order(machine, name):
    """The cost of libraries summing in a fixed order."""
    medians = turns({"one": Ours(machine, name), "any": Ours(machine, name, "--any-order")}, rounds=3)
    one, other = (statistics.median(medians[side]) for side in ("one", "any"))
    return [told(f"{name}, sums in any order beside sums in a fixed order", f"{other / one:.3f} ({ms(other)} and {ms(one)})")]


def items(machine):
    for case in machine.named("step"):
        sides = {"jax.jit": lambda case=case: peers.jax_side(machine, case),
                 "torch.compile": lambda case=case: peers.torch_side(case)}
        for peer, make in sides.items():
            yield f"{case['name']} beside {peer}", lambda c=case, peer=peer, make=make: beside(machine, c, peer, make)
        yield f"{case['name']} any order", lambda name=case["name"]: any_order(machine, name)
