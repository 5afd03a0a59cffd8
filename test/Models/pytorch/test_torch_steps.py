"""Compiled steps give torch's loss and gradients, on two and four stages, and with layers split over two shards."""

import copy

import numpy as np
import pytest
import torch

import architectures
import stagewright
from torch_steps import MICROBATCHES, Imported, differences, feed, found, golden, microbatches


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    made = {}

    def of(name):
        if name not in made:
            made[name] = Imported(tmp_path_factory.mktemp(name), getattr(architectures, name)())
        return made[name]
    return of


@pytest.mark.parametrize("stages", [2, 4, "shards"])
@pytest.mark.parametrize("name", [model.__name__ for model in architectures.MODELS])
def test_a_step_is_what_torch_computes(imported, name, stages):
    model = imported(name)
    batches = microbatches(model.batch)
    step = stagewright.load(model.compiled(stages))
    feed(step, model, batches)
    step.run()
    values = found(step, model)
    expected = golden(copy.deepcopy(model.module), model.loss, batches)
    table = differences(expected, values)
    largest = max(norm for name, (_, norm) in table.items() if name != "loss")
    wrong = {n: d for n, d in table.items() if not d[0] <= 1e-5 * d[1] + 1e-6 * largest}
    if name == "resnet" and wrong:
        # Rounding decides at the kink of a ReLU, so the limit is twice torch's own error against float64.
        exact = golden(copy.deepcopy(model.module).double(), model.loss,
                       [{k: v.double() if v.is_floating_point() else v for k, v in b.items()} for b in batches])
        ours, theirs = (np.sqrt(sum(d * d for d, _ in differences(exact, v).values())) for v in (values, expected))
        assert ours <= 2 * theirs
        wrong = {}
    assert not wrong, wrong


def bfloat16(name):
    module, loss, batch = getattr(architectures, name)()
    return module.bfloat16(), loss, batch


def autocast(name):
    module, own, batch = getattr(architectures, name)()

    def loss(module, **batch):
        with torch.autocast("cpu", torch.bfloat16):
            return own(module, **batch)
    return module, loss, batch


@pytest.mark.parametrize("narrow", [bfloat16, autocast])
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_narrow_step_is_as_near_to_float64_as_torch(tmp_path, name, narrow):
    """Gradients of bfloat16 are summed in float32."""
    model = Imported(tmp_path, narrow(name))
    batches = microbatches(model.batch)
    step = stagewright.load(model.compiled(2))
    feed(step, model, batches)
    step.run()
    values = found(step, model)
    assert all(value.dtype == np.float32 for value in step.results())
    expected = golden(model.module, model.loss, batches)
    exact = golden(copy.deepcopy(model.module).double(), architectures.own_loss, batches)
    ours, theirs = (np.sqrt(sum(d * d for d, _ in differences(exact, v).values())) for v in (values, expected))
    assert ours <= 1.5 * theirs


def test_dropout_has_another_mask_in_every_microbatch(tmp_path):
    """The module returns its dropout: each element is kept with probability 1/2 and then doubled."""
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(64, 64))

        def forward(self, x):
            return torch.nn.functional.dropout(self.weight * x, 0.5, self.training)

    model = Imported(tmp_path, (Model(), lambda m, x: m(x).mean(), dict(x=torch.ones(64, 64))))
    step = stagewright.load(model.compiled(1))
    feed(step, model, [model.batch] * MICROBATCHES)
    step.run()
    gradient = found(step, model)["weight"] * 64 * 64  # the mean of 0 or 2 over the microbatches
    counts = [np.mean(gradient == 2 * kept / MICROBATCHES) for kept in range(MICROBATCHES + 1)]
    np.testing.assert_allclose(counts, [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16], atol=0.03)
