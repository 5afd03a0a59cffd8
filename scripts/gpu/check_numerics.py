"""Loss and every gradient compared with JAX's on the same GPU, with and without a CUDA graph."""

import golden
from golden_step import Golden
from rows import row


def compare(expected, found, reference, trains=False):
    """(required, measured, whether it passes), with the tolerances of the tests."""
    if reference:
        ours, theirs = golden.short_float_errors(expected, found, reference)
        return "error at most 1.5 times JAX's, against float32", f"ours {ours:.2e}, JAX's {theirs:.2e}", ours <= 1.5 * theirs
    problems = golden.disagreements(expected, found)
    table = {} if problems and "missing" in problems[0] else golden.norms(expected, found)
    worst = max((d / g for d, g in table.values() if g), default=0.0)
    if trains and table:
        # AdamW divides by the root of tiny squares, so differences grow over steps.
        return "differences of norm at most 1e-3, after the last step", f"{len(table)} results, {worst:.1e}", worst <= 1e-3
    seen = problems[0] if problems else f"{len(table)} results, largest relative difference {worst:.1e}"
    return "differences of norm at most 1e-5", seen, not problems


def found(machine, name, inputs, flags, steps, before=()):
    from safetensors.numpy import load_file
    out = machine.scratch / f"{name}.found.safetensors"
    out.unlink(missing_ok=True)
    machine.pp_run(name, f"--inputs={inputs}", f"--outputs={out}", f"--steps={steps}", machine.one_gpu(name), *flags,
                   before=before)
    return load_file(out)


def check(machine, name, what, *flags, steps=3, before=()):
    """The row of one run; three steps, since sums must restart in each."""
    made, case = Golden(machine, name), machine.case(name)
    values = found(machine, name, made.inputs(), flags, steps, before)
    reference = made.results(case["reference"]) if case["reference"] else None
    asked, seen, good = compare(made.results(steps=steps), values, reference, made.trains())
    return row(what, asked, seen, good)


def again(machine, name):
    """Whether two processes give bit-identical results."""
    inputs = Golden(machine, name).inputs()
    first, second = (found(machine, name, inputs, (), 2) for _ in range(2))
    differ = [key for key in first if first[key].tobytes() != second[key].tobytes()]
    return row(f"{name}, two runs", "the same bits", f"{len(differ)} of {len(first)} results differ", not differ)


def items(machine):
    for case in machine.named("numerics"):
        name = case["name"]
        yield name, lambda name=name: [check(machine, name, f"{name}, graph", "--check-memory"),
                                       check(machine, name, f"{name}, no graph", "--no-graph")]
    for case in machine.named("otherwise"):
        name, kernels = case["name"], ("env", "STAGEWRIGHT_ALTERNATIVES=1")
        yield f"{name} again", lambda name=name: [again(machine, name)]
        yield f"{name} otherwise", lambda name=name: [check(machine, name, f"{name}, kernels in the place of libraries",
                                                            before=kernels)]
