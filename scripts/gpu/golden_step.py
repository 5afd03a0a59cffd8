"""A case's inputs and golden values, computed by JAX on the GPU: positions, roles and rules come from the artifact's manifest.
With an optimizer, the golden values are those after several steps on the same batch."""

import hashlib
import importlib.util
import json
import os
import pathlib
import sys

from rows import Skip


def load(machine, model, environment):
    """(function, arguments, the option `update` or None) of FILE.py:NAME in the bundle."""
    file, _, name = model.partition(":")
    folder, before = machine.bundle / "models", dict(os.environ)
    sys.path.append(str(folder))  # Last, so that a model named like a module of the standard library does not hide it.
    os.environ.update(environment)
    spec = importlib.util.spec_from_file_location(pathlib.Path(file).stem, folder / file)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        made = getattr(module, name)()
    finally:  # Models share files: the sizes of one must not reach the next.
        sys.path.remove(str(folder))
        os.environ.clear()
        os.environ.update(before)
    return made[0], made[1], (made[2] if len(made) > 2 else {}).get("update")


def environment(row):
    return {f"STAGEWRIGHT_{row['model'].partition('.')[0].upper()}": row["sizes"]} if row["sizes"] else {}


def combined(rule, values, batch_dim):
    import numpy as np
    if rule == "last":
        return values[-1]
    if rule == "concat":
        return np.concatenate(values, batch_dim)
    total = sum(values[1:], values[0])
    return total / len(values) if rule == "mean" else total


class Golden:
    """The golden values of one case. Files are kept in the machine's scratch folder: cases of one model share them."""

    def __init__(self, machine, name, count=None):
        try:
            import jax
            import safetensors.numpy
        except ImportError as missing:
            raise Skip(f"{missing.name} is not installed") from missing
        self.machine, self.name, self.row = machine, name, machine.case(name)
        self.count = count or self.row["microbatches"]
        self.manifest = json.loads(machine.pp_run(name, "--info=json"))
        self.roles = {it["position"]: it["role"] for it in self.manifest["arguments"]}
        self.jax, self.files, self.loaded = jax, safetensors.numpy, None

    def path(self, what, model=None, steps=1):
        key = [model or self.row["model"], self.row["sizes"], self.count, sorted(self.roles.items()), steps]
        return self.machine.scratch / f"{what}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}.safetensors"

    def leaves(self):
        """(inputs by position, the arguments' tree); the first dimension of batches is the microbatches. The update's other
        arguments come last."""
        import golden
        import numpy as np
        if not self.loaded:
            _, arguments, update = load(self.machine, self.row["model"], environment(self.row))
            leaves, tree = self.jax.tree.flatten((tuple(arguments), tuple(update[1:] if update else ())))
            arrays = [np.asarray(leaf) for leaf in leaves]
            self.loaded = [golden.microbatches(a, self.count) if self.roles.get(i) == "batch" else a
                           for i, a in enumerate(arrays)], tree
        return self.loaded

    def inputs(self):
        """The inputs file for pp-run."""
        import numpy as np
        path = self.path("inputs")
        if not path.exists():
            arrays, _ = self.leaves()
            self.files.save_file({str(i): np.array(a, order="C") for i, a in enumerate(arrays) if i in self.roles}, path)
        return path

    def results(self, model=None, steps=1):
        """Golden results by position after `steps` steps; those of another model on the same inputs if `model` is given."""
        import numpy as np
        steps = steps if self.trains() else 1  # Without an optimizer, all steps give the same results.
        path = self.path("golden", model, steps)
        if path.exists():
            return self.files.load_file(path)
        # JAX's default on these GPUs rounds float32 to TF32.
        self.jax.config.update("jax_default_matmul_precision", "highest")
        function, _, update = load(self.machine, model or self.row["model"], environment(self.row))
        inputs, tree = self.leaves()
        compiled, change = self.jax.jit(function), self.jax.jit(update[0]) if update else None
        for _ in range(steps):
            values = self.step(compiled, inputs, tree)
            if change:
                given, (state, *more) = self.jax.tree.unflatten(tree, inputs)
                changed = change(given[0], self.gradients(values, given[0]), state, *more)
                values += [np.asarray(leaf) for leaf in self.jax.tree.leaves(changed)]
                inputs = self.jax.tree.leaves(((changed[0], *given[1:]), (changed[1], *more)))
        found = {str(it["position"]): values[it["position"]] for it in self.manifest["results"]}
        self.files.save_file({key: np.array(value, order="C") for key, value in found.items()}, path)
        return found

    def trains(self):
        """Whether the step has an optimizer."""
        return any(it["role"] == "state" for it in self.manifest["results"])

    def gradients(self, values, parameters):
        """The gradients among a step's results, in the form that the update takes."""
        tree = self.jax.tree.structure(parameters)
        return self.jax.tree.unflatten(tree, values[-tree.num_leaves:])

    def step(self, compiled, inputs, tree):
        """Combined results of all microbatches, by position."""
        import numpy as np
        parts = []
        for m in range(self.count):
            here = [leaf[m] if self.roles.get(i) == "batch" else leaf for i, leaf in enumerate(inputs)]
            parts.append([np.asarray(v) for v in self.jax.tree.leaves(compiled(*self.jax.tree.unflatten(tree, here)[0]))])
        rules = {it["position"]: it for it in self.manifest["results"]}
        return [combined(rules[i]["combine"], [part[i] for part in parts], rules[i]["batch_dim"]) for i in range(len(parts[0]))]
