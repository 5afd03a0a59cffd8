"""Helpers of the tests of PyTorch models: a step is imported once, compiled once for each number of stages, and run on
different microbatches; torch's autograd gives the golden values."""

import os
import subprocess

import numpy as np
import torch

import stagewright.torch
from conftest import BUILD

MICROBATCHES = 4


def call(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


class Imported:
    """A model's step, imported into a folder."""

    def __init__(self, folder, made, **options):
        self.module, self.loss, self.batch = made[:3]
        self.path = os.path.join(folder, "model.mlir")
        self.signature = stagewright.torch.import_step(*made[:3], self.path, **options)
        self.inputs = self.path.replace(".mlir", ".inputs.safetensors")

    def compiled(self, stages, *flags):
        """The artifact for a number of stages, or "shards": all layers split over two."""
        path = self.path.replace(".mlir", f".{stages}.swx")
        cut = ["--cluster=local:2", "--tensor-parallel=2"] if stages == "shards" else [f"--cluster=local:{stages}", f"--stages={stages}"]
        call(BUILD / "bin/pp-compile", self.path, *cut, f"--microbatches={MICROBATCHES}", "--quiet", "-o", path, *flags)
        return path


def microbatches(batch, seed=0, count=MICROBATCHES):
    """Batches like the example: its integers in another order, floats of its magnitude, its masks unchanged."""
    made, rng = [batch], torch.Generator().manual_seed(seed)
    for _ in range(count - 1):
        other = {}
        for name, tensor in batch.items():
            if tensor.dtype.is_floating_point:
                other[name] = torch.randn(tensor.shape, generator=rng, dtype=tensor.dtype)
            elif name == "attention_mask":
                other[name] = tensor
            else:
                flat = tensor.reshape(-1)
                other[name] = flat[torch.randint(len(flat), (len(flat),), generator=rng)].reshape(tensor.shape)
        made.append(other)
    return made


def golden(module, loss, batches):
    """{name: value} of the mean loss and gradients over `batches`, by torch."""
    parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
    total, sums = 0.0, {name: 0.0 for name in parameters}
    for batch in batches:
        value = loss(module, **batch)
        gradients = torch.autograd.grad(value, list(parameters.values()), allow_unused=True)
        total += value.item()
        for name, gradient in zip(parameters, gradients):
            if gradient is None:
                sums.pop(name, None)
            else:
                sums[name] = sums[name] + gradient.double().numpy()
    return {"loss": np.asarray(total / len(batches)), **{name: g / len(batches) for name, g in sums.items()}}


def feed(step, imported, batches):
    """Sets the arguments of a loaded step: those that the import wrote, and the microbatches."""
    from safetensors.numpy import load_file
    given = {int(position): array for position, array in load_file(imported.inputs).items()}
    for position, argument in enumerate(imported.signature.arguments):
        if argument.role == "batch":
            given[position] = np.stack([to_numpy(batch[argument.name]) for batch in batches])
    step.set(given)


def to_numpy(tensor):
    return tensor.to(torch.int32).numpy() if tensor.dtype == torch.int64 else tensor.numpy()


def found(step, imported):
    """{name: value} of the loss and gradients after a run, with torch's names."""
    return {result.name.removeprefix("grads/"): value.astype(np.float64)
            for result, value in zip(imported.signature.results, step.results()) if result.role in ("loss", "gradient")}


def differences(expected, values):
    """{name: (norm of the difference, norm)}"""
    assert set(expected) == set(values)
    return {name: (float(np.linalg.norm(expected[name] - values[name])), float(np.linalg.norm(expected[name])))
            for name in expected}
