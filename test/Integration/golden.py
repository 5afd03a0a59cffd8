"""Golden values of a step over M different microbatches, computed by the model's own framework, and their comparison.

    python golden.py make FILE.py:NAME M -o PREFIX        PREFIX.inputs.safetensors, PREFIX.golden.safetensors
    python golden.py compare GOLDEN.safetensors FOUND.safetensors [--reference FLOAT32.safetensors]

The inputs are in pp-run's form: named by position, batch arguments with a leading dimension of M. The golden values are
named by result position, combined over the microbatches by each result's rule. The first microbatch is the example itself.
The others are drawn deterministically from its values, so two models with the same example get the same microbatches.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))


def microbatches(array, count):
    """The example and count - 1 more: integers drawn from its values, floats with its mean and standard deviation."""
    import numpy as np
    rng = np.random.default_rng(array.size)
    made = [array]
    for _ in range(count - 1):
        if array.dtype.kind in "iub":
            made.append(rng.choice(array.reshape(-1), array.shape).astype(array.dtype))
        else:
            wide = array.astype(np.float64)
            made.append((wide.mean() + wide.std() * rng.standard_normal(array.shape)).astype(array.dtype))
    return np.stack(made)


def accumulate(function, arguments, count, options=None):
    """(inputs, golden values), each a list by position, of `count` microbatches."""
    import jax
    import jax.numpy as jnp
    from stagewright.frontend.jax_step import Step, stored

    step = Step(function, arguments, options)
    function, arguments = step.function, step.arguments  # flattens an optimizer's state
    inputs = step_inputs(step, arguments, count)
    golden = evaluate(jax.jit(function), step.signature, jax.tree.structure(tuple(arguments)), inputs, count)
    return [stored(a if hasattr(a, "dtype") else jnp.asarray(a)) for a in inputs], [stored(g) for g in golden]


def step_inputs(step, arguments, count):
    """The example arguments by position; batch arguments hold `count` microbatches."""
    import jax
    import numpy as np

    return [microbatches(np.asarray(leaf), count) if (about.role or "batch") == "batch" else leaf
            for leaf, about in zip(jax.tree.leaves(tuple(arguments)), step.signature.arguments)]


def evaluate(function, signature, tree, inputs, count):
    """The results of a step by position, each combined over the microbatches by its rule.

    NumPy combines them: it rounds as JAX does, and compiles nothing for new shapes."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    roles, parts = [a.role or "batch" for a in signature.arguments], []
    for m in range(count):
        here = [jnp.asarray(leaf[m]) if role == "batch" else jax.random.fold_in(leaf, m) if role == "seed" else leaf
                for leaf, role in zip(inputs, roles)]
        parts.append(jax.tree.leaves(function(*jax.tree.unflatten(tree, here))))
    combined = []
    for position, result in enumerate(signature.results):
        values = [part[position] for part in parts]
        rule = result.combine or "concat"
        if rule == "last":
            combined.append(values[-1])
        elif rule == "concat":
            combined.append(np.concatenate([np.asarray(v) for v in values], result.batch_dim or 0))
        else:
            total = np.asarray(values[0])
            for value in values[1:]:
                total = total + np.asarray(value)
            combined.append(np.asarray(total / count if rule == "mean" else total))
    return combined


def norms(golden, found):
    """(norm of the difference, norm of the golden value) per position, in float64."""
    import numpy as np
    table = {}
    for key in sorted(golden, key=int):
        a, b = golden[key].astype(np.float64), found[key].astype(np.float64)
        table[key] = float(np.linalg.norm((a - b).ravel())), float(np.linalg.norm(a.ravel()))
    return table


def disagreements(golden, found):
    """Messages for results outside the tolerance: |d| <= 1e-5 |g| + 1e-7 of the largest norm."""
    problems = []
    for key in sorted(set(golden) | set(found), key=int):
        if key not in golden or key not in found:
            problems.append(f"result {key} is missing in the {'found' if key in golden else 'golden'} values")
        elif golden[key].shape != found[key].shape or golden[key].dtype != found[key].dtype:
            problems.append(f"result {key}: {found[key].dtype}{found[key].shape} is not "
                            f"{golden[key].dtype}{golden[key].shape}")
    if problems:
        return problems
    table = norms(golden, found)
    largest = max((g for _, g in table.values()), default=0.0)
    return [f"result {key}: difference {d:.3e}, norm {g:.3e}" for key, (d, g) in table.items()
            if not d <= 1e-5 * g + 1e-7 * largest]


def short_float_errors(golden, found, reference):
    """For 16 bits or fewer: (our error, the framework's) against its float32 run, over all results.

    Ours may be 1.5 times as large. Single results are not compared: rounding alone can change a small one.
    """
    def total(values):
        return sum(d * d for d, _ in norms(reference, values).values()) ** 0.5
    return total(found), total(golden)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("make")
    make.add_argument("model"), make.add_argument("microbatches", type=int), make.add_argument("-o", required=True)
    compare = commands.add_parser("compare")
    compare.add_argument("golden"), compare.add_argument("found"), compare.add_argument("--reference")
    arguments = parser.parse_args()
    if arguments.command == "make":
        # Steps are compiled for a few runs only: LLVM's optimisations would take a third of the time and are not compared.
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0"
        from safetensors.numpy import save_file
        from stagewright.frontend.jax_step import load_model
        function, examples, options = load_model(arguments.model)
        inputs, golden = accumulate(function, examples, arguments.microbatches, options)
        for suffix, arrays in (("inputs", inputs), ("golden", golden)):
            save_file({str(i): a for i, a in enumerate(arrays)}, f"{arguments.o}.{suffix}.safetensors")
        return
    from safetensors.numpy import load_file
    golden, found = load_file(arguments.golden), load_file(arguments.found)
    if arguments.reference:
        ours, theirs = short_float_errors(golden, found, load_file(arguments.reference))
        problems = [] if ours <= 1.5 * theirs else ["the error is more than 1.5 times the framework's"]
        print(f"error against float32: ours {ours:.3e}, the framework's {theirs:.3e}")
    else:
        problems = disagreements(golden, found)
        table = norms(golden, found)
        worst = max(table, key=lambda k: table[k][0] / (table[k][1] or 1), default=None)
        if worst is not None:
            print(f"{len(table)} results, largest relative difference {table[worst][0] / (table[worst][1] or 1):.2e} "
                  f"(result {worst})")
    for problem in problems:
        print(problem)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
