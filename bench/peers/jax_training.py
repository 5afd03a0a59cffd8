"""Peer: a training run under JAX and optax; also prepares the data for it and for our runs.

usage: jax_training.py prepare FILE.py:NAME PREFIX STEPS M          PREFIX.ids.npy, PREFIX.tgt.npy and PREFIX.rate.npy
       jax_training.py train FILE.py:NAME PREFIX STEPS M ORDER FILE.jsonl

NAME returns (step, (parameters, tokens, targets), {"update": (update, state, rate)}). The samples are windows of texts that
every Debian machine has, with bytes as tokens, stored in the order of use; the rate has a value for each step. ORDER, `first`
or `last`, is the microbatch with which a step's sum begins. FILE.jsonl gets a line for each step, with step, loss and
seconds as by pp-run --metrics; JSON on standard output has versions and sizes.
"""

import ast
import functools
import json
import pathlib
import sys
import sysconfig
import time

import jax
import numpy as np
import optax

from jax_step import load

LICENCES = pathlib.Path("/usr/share/common-licenses")
SEED = 0
WARM_UP, RATE = 0.1, 1e-3  # fraction of the steps; the rate after them, which falls to a tenth


def docstrings(path):
    """All docstrings of a module of Python's library."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, kinds)]
    return "\n\n".join(text for text in map(ast.get_docstring, nodes) if text).encode()


def texts():
    """The bytes of the licences, and those of the documentation of Python's library."""
    licences = [path for path in sorted(LICENCES.iterdir()) if path.is_file() and not path.is_symlink()]
    library = sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return [np.frombuffer(b"".join(found), np.uint8) for found in (map(pathlib.Path.read_bytes, licences),
                                                                    map(docstrings, library))]


def prepare(model, prefix, steps, microbatches):
    """The same number of windows of each text; no window is used twice if there are enough."""
    _, (_, ids, _), _ = load(model)
    rows, length = ids.shape
    found, wanted, rng = texts(), steps * microbatches * rows, np.random.default_rng(SEED)
    taken = []
    for tokens in found:
        windows = np.lib.stride_tricks.sliding_window_view(tokens, length + 1)[::length]
        taken.append(np.resize(rng.permutation(windows), (-(-wanted // len(found)), length + 1)))
    samples = rng.permutation(np.concatenate(taken))[:wanted]
    np.save(f"{prefix}.ids.npy", samples[:, :-1])
    np.save(f"{prefix}.tgt.npy", samples[:, 1:])
    schedule = optax.warmup_cosine_decay_schedule(0.0, RATE, int(WARM_UP * steps), steps, RATE / 10)
    np.save(f"{prefix}.rate.npy", np.array([schedule(step + 1) for step in range(steps)], np.float32))
    print(json.dumps(dict(zip(("licences", "documentation"), map(len, found)))))


def train(model, prefix, steps, microbatches, order, path):
    step, (parameters, ids, _), options = load(model)
    update, state, _ = options["update"]
    step, update = jax.jit(step), jax.jit(update)
    data = [np.load(f"{prefix}.{name}.npy").astype(np.int32).reshape(steps, microbatches, *ids.shape)
            for name in ("ids", "tgt")]
    with open(path, "w") as lines:
        for number, rate in enumerate(np.load(f"{prefix}.rate.npy")):
            began = time.monotonic()
            parts = [step(parameters, *(array[number, m] for array in data)) for m in range(microbatches)]
            whole = functools.reduce(lambda a, b: jax.tree.map(np.add, a, b), parts if order == "first" else parts[::-1])
            loss, gradients = jax.tree.map(lambda leaf: leaf / microbatches, whole)
            parameters, state = update(parameters, gradients, state, rate)
            line = dict(step=number + 1, loss=float(loss), seconds=time.monotonic() - began)
            print(json.dumps(line), file=lines, flush=True)
    print(json.dumps(dict(version=jax.__version__, optax=optax.__version__,
                          parameters=sum(leaf.size for leaf in jax.tree.leaves(parameters)))))


if __name__ == "__main__":
    what, model, prefix, steps, microbatches, *more = sys.argv[1:]
    {"prepare": prepare, "train": train}[what](model, prefix, int(steps), int(microbatches), *more)
