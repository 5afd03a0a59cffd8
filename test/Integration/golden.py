"""Golden values: what JAX computes for M different microbatches, accumulated as a training loop would.

Nothing of the compiler takes part: the function is called as its author wrote it, once per microbatch, and the results
are combined by the rules that the importer read from its trees (mean, sum, concat, last).
"""

import pathlib
import sys

import jax
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

from stagewright.frontend.jax_step import Step, load_model, stored  # noqa: E402

# The tolerance of float32: ||d|| <= RELATIVE ||g|| + ABSOLUTE (largest gradient norm of the step). The second part is
# for gradients that are exactly zero in theory.
RELATIVE, ABSOLUTE = 1e-5, 1e-7


def microbatches(leaf, count, seed):
    """`count` different microbatches with the values of the example, shuffled; a stack with them first."""
    generator, example = np.random.default_rng(seed), np.asarray(leaf)
    return np.stack([generator.permutation(example.reshape(-1)).reshape(example.shape) for _ in range(count)])


def accumulate(model, count, seed=0):
    """(inputs, results, signature) of the step `FILE.py:NAME` over `count` microbatches, arrays by position."""
    function, arguments, options = load_model(str(model))
    step = Step(function, arguments, options)
    signature, tree = step.signature, jax.tree.structure(arguments)
    stacks = {i: microbatches(leaf, count, seed + i) for i, (leaf, a) in enumerate(zip(step.leaves, signature.arguments))
              if a.role in ("batch", None)}
    compiled, every = jax.jit(function), []
    for m in range(count):
        leaves = [stacks[i][m] if i in stacks else jax.random.fold_in(leaf, m) if a.role == "seed" else leaf
                  for i, (leaf, a) in enumerate(zip(step.leaves, signature.arguments))]
        every.append([np.asarray(r) for r in jax.tree.leaves(compiled(*jax.tree.unflatten(tree, leaves)))])
    inputs = {str(i): stored(stacks[i] if i in stacks else leaf) for i, leaf in enumerate(step.leaves)}
    results = {i: combine(r.combine, r.batch_dim or 0, [values[i] for values in every])
               for i, r in enumerate(signature.results)}
    return inputs, results, signature


def combine(rule, dimension, values):
    """One result over all microbatches, added up in their order."""
    if rule in ("mean", "sum"):
        total = values[0].copy()
        for value in values[1:]:
            total += value
        return total / total.dtype.type(len(values)) if rule == "mean" else total
    return values[-1] if rule == "last" else np.concatenate(values, dimension)


def norm(array):
    return float(np.linalg.norm(np.asarray(array, np.float64)))


def differences(signature, golden, got):
    """(name, role, ||d||, allowed ||d||) of every result."""
    assert sorted(golden) == sorted(got), f"results {sorted(golden)} expected, got {sorted(got)}"
    largest = max((norm(golden[i]) for i, r in enumerate(signature.results) if r.role == "gradient"), default=0.0)
    rows = []
    for i, result in enumerate(signature.results):
        want, have = np.asarray(golden[i], np.float64), np.asarray(got[i], np.float64)
        assert want.shape == have.shape, f"{result.name}: shape {want.shape} expected, got {have.shape}"
        rows.append((result.name, result.role, norm(have - want), RELATIVE * norm(want) + ABSOLUTE * largest))
    return rows
