"""A case's inputs and golden values, by JAX on the GPU: positions, roles and rules are those of the artifact's manifest."""

import importlib.util
import json
import os
import pathlib
import sys

import numpy as np

import golden
from machine import Skip


def load(machine, model, environment):
    """(function, arguments) of FILE.py:NAME in the bundle."""
    file, _, name = model.partition(":")
    folder = machine.bundle / "models"
    sys.path.insert(0, str(folder))
    os.environ.update(environment)
    spec = importlib.util.spec_from_file_location(pathlib.Path(file).stem, folder / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = getattr(module, name)()
    return made[0], made[1]


def environment(row):
    return {f"STAGEWRIGHT_{row['model'].partition('.')[0].upper()}": row["sizes"]} if row["sizes"] else {}


def combined(rule, values, batch_dim):
    if rule == "last":
        return values[-1]
    if rule == "concat":
        return np.concatenate(values, batch_dim)
    total = sum(values[1:], values[0])
    return total / len(values) if rule == "mean" else total


def make(machine, name, model=None):
    """(path of the inputs, golden results by position) of a case; of another model on the same inputs if one is named."""
    try:
        import jax
        from safetensors.numpy import save_file
    except ImportError as missing:
        raise Skip(f"{missing.name} is not installed") from missing
    # By default JAX rounds float32 to TF32 on these GPUs.
    jax.config.update("jax_default_matmul_precision", "highest")
    row = machine.case(name)
    function, arguments = load(machine, model or row["model"], environment(row))
    manifest = json.loads(machine.pp_run(name, "--info=json"))
    leaves, tree = jax.tree.flatten(tuple(arguments))
    count = row["microbatches"]
    roles = {it["position"]: it["role"] for it in manifest["arguments"]}
    inputs = [golden.microbatches(np.asarray(leaf), count) if roles.get(i) == "batch" else np.asarray(leaf)
              for i, leaf in enumerate(leaves)]
    compiled, parts = jax.jit(function), []
    for m in range(count):
        here = [leaf[m] if roles.get(i) == "batch" else leaf for i, leaf in enumerate(inputs)]
        parts.append([np.asarray(v) for v in jax.tree.leaves(compiled(*jax.tree.unflatten(tree, here)))])
    results = {str(it["position"]): combined(it["combine"], [part[it["position"]] for part in parts], it["batch_dim"])
               for it in manifest["results"]}
    path = machine.out / f"{name}.inputs.safetensors"
    save_file({str(i): np.ascontiguousarray(a) for i, a in enumerate(inputs) if i in roles}, path)
    return path, results
