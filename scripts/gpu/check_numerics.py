"""Loss and every gradient beside JAX's on the same GPU, by a graph and without."""

import golden
from golden_step import Golden
from rows import row


def compare(expected, found, reference):
    """(asked, seen, whether it is good): the tolerances of the tests."""
    if reference:
        ours, theirs = golden.short_float_errors(expected, found, reference)
        return "error at most 1.5 times JAX's, against float32", f"ours {ours:.2e}, JAX's {theirs:.2e}", ours <= 1.5 * theirs
    problems = golden.disagreements(expected, found)
    table = {} if problems and "missing" in problems[0] else golden.norms(expected, found)
    worst = max((d / g for d, g in table.values() if g), default=0.0)
    seen = problems[0] if problems else f"{len(table)} results, largest relative difference {worst:.1e}"
    return "differences of norm at most 1e-5", seen, not problems


def check(machine, name, what, *flags, steps=3):
    """The row of one run; three steps, since sums must begin anew in each."""
    from safetensors.numpy import load_file
    made, case = Golden(machine, name), machine.case(name)
    out = machine.scratch / f"{name}.found.safetensors"
    out.unlink(missing_ok=True)
    machine.pp_run(name, f"--inputs={made.inputs()}", f"--outputs={out}", f"--steps={steps}", machine.one_gpu(name), *flags)
    asked, seen, good = compare(made.results(), load_file(out), made.results(case["reference"]) if case["reference"] else None)
    return row(what, asked, seen, good)


def items(machine):
    for case in machine.named("numerics"):
        name = case["name"]
        yield name, lambda name=name: [check(machine, name, f"{name}, graph", "--check-memory"),
                                       check(machine, name, f"{name}, no graph", "--no-graph")]
