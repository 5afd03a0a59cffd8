"""A case's inputs and golden values, by JAX on the GPU: positions, roles and rules are those of the artifact's manifest."""

import hashlib
import importlib.util
import json
import os
import pathlib
import sys

from rows import Skip


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
    import numpy as np
    if rule == "last":
        return values[-1]
    if rule == "concat":
        return np.concatenate(values, batch_dim)
    total = sum(values[1:], values[0])
    return total / len(values) if rule == "mean" else total


class Golden:
    """Of one case. Files are kept in the machine's scratch folder: cases of one model share them."""

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

    def path(self, what, model=None):
        key = [model or self.row["model"], self.row["sizes"], self.count, sorted(self.roles.items())]
        return self.machine.scratch / f"{what}-{hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]}.safetensors"

    def leaves(self):
        """(inputs by position, the arguments' tree), batches with the microbatches in front."""
        import golden
        import numpy as np
        if not self.loaded:
            _, arguments = load(self.machine, self.row["model"], environment(self.row))
            leaves, tree = self.jax.tree.flatten(tuple(arguments))
            arrays = [np.asarray(leaf) for leaf in leaves]
            self.loaded = [golden.microbatches(a, self.count) if self.roles.get(i) == "batch" else a
                           for i, a in enumerate(arrays)], tree
        return self.loaded

    def inputs(self):
        """The file that pp-run takes."""
        import numpy as np
        path = self.path("inputs")
        if not path.exists():
            arrays, _ = self.leaves()
            self.files.save_file({str(i): np.array(a, order="C") for i, a in enumerate(arrays) if i in self.roles}, path)
        return path

    def results(self, model=None):
        """Golden results by position; of another model on the same inputs if one is named."""
        import numpy as np
        path = self.path("golden", model)
        if path.exists():
            return self.files.load_file(path)
        # By default JAX rounds float32 to TF32 on these GPUs.
        self.jax.config.update("jax_default_matmul_precision", "highest")
        function, _ = load(self.machine, model or self.row["model"], environment(self.row))
        inputs, tree = self.leaves()
        compiled, parts = self.jax.jit(function), []
        for m in range(self.count):
            here = [leaf[m] if self.roles.get(i) == "batch" else leaf for i, leaf in enumerate(inputs)]
            parts.append([np.asarray(v) for v in self.jax.tree.leaves(compiled(*self.jax.tree.unflatten(tree, here)))])
        found = {str(it["position"]): combined(it["combine"], [part[it["position"]] for part in parts], it["batch_dim"])
                 for it in self.manifest["results"]}
        self.files.save_file({key: np.array(value, order="C") for key, value in found.items()}, path)
        return found
