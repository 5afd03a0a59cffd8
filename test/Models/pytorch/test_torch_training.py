"""Steps with an optimizer of torch.optim train as torch does: the same parameters and losses after five steps; and a checkpoint
can be loaded into the module, which continues from there."""

import copy

import numpy as np
import pytest
import torch
from torch import nn

import architectures
import stagewright
import stagewright.torch
from torch_steps import Imported, feed, microbatches, to_numpy

STEPS = 5


def adamw_groups(module):
    """The usual two groups: weights with decay, and others with another rate."""
    parameters = list(module.parameters())
    return torch.optim.AdamW([dict(params=[p for p in parameters if p.ndim > 1], weight_decay=0.1),
                              dict(params=[p for p in parameters if p.ndim < 2], weight_decay=0.0, lr=2e-3)], lr=1e-3)


OPTIMIZERS = {
    "adamw": adamw_groups,
    "adam": lambda module: torch.optim.Adam(module.parameters(), 1e-3, weight_decay=0.01, amsgrad=True),
    "sgd": lambda module: torch.optim.SGD(module.parameters(), 0.05, weight_decay=0.01),
    "nesterov": lambda module: torch.optim.SGD(module.parameters(), 0.05, momentum=0.9, nesterov=True),
    "rmsprop": lambda module: torch.optim.RMSprop(module.parameters(), 1e-3, momentum=0.5, centered=True, eps=1e-4),
    "radam": lambda module: torch.optim.RAdam(module.parameters(), 1e-3, weight_decay=0.01, decoupled_weight_decay=True),
}


def perceptron():
    torch.manual_seed(0)
    module = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(12, 12), nn.Tanh())), nn.Linear(12, 3))
    return module, lambda m, x, y: nn.functional.mse_loss(m(x), y), dict(x=torch.randn(8, 12), y=torch.randn(8, 3))


def train_by_torch(module, loss, batch, optimizer, first, steps, clip=None):
    """Trains the module in place and returns the losses."""
    losses = []
    for number in range(first, first + steps):
        optimizer.zero_grad()
        batches = microbatches(batch, number)
        values = [loss(module, **b) / len(batches) for b in batches]
        sum(values).backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(module.parameters(), clip)
        optimizer.step()
        losses.append(sum(v.item() for v in values))
    return np.array(losses)


def train(run, batch, first, steps):
    def batches(number):
        found = microbatches(batch, number)
        return {name: np.stack([to_numpy(b[name]) for b in found]) for name in batch}
    return np.array([figures["loss"] for figures in run.train(batches, first + steps)])


def trained(run):
    return {name.removeprefix("params/"): array for name, array in run.tensors()["parameter"].items()}


def assert_close(module, found, exact=None):
    """Within 1e-5, or twice torch's own error against `exact`, its run in float64. The gradient of a bias of keys is only
    rounding error, which AdamW scales to full size."""
    exact = dict(exact.named_parameters()) if exact is not None else {}
    for name, parameter in module.named_parameters():
        expected = parameter.detach().double().numpy()
        allowed = 1e-5 * np.linalg.norm(expected)
        if np.linalg.norm(found[name] - expected) > allowed and name in exact:
            expected = exact[name].detach().numpy()
            allowed = 2 * np.linalg.norm(parameter.detach().double().numpy() - expected)
        assert np.linalg.norm(found[name] - expected) <= allowed, name


@pytest.mark.parametrize("name, clip", [(name, clip) for name in OPTIMIZERS for clip in (None, 0.1)])
def test_an_optimizer_does_what_torch_does(tmp_path, name, clip):
    module, loss, batch = perceptron()
    imported = Imported(tmp_path, (module, loss, batch), optimizer=OPTIMIZERS[name](module), clip_grad_norm=clip)
    run = stagewright.Run(imported.compiled(2), imported.inputs)
    found = train(run, batch, 0, STEPS)
    other = copy.deepcopy(module)
    expected = train_by_torch(other, loss, batch, OPTIMIZERS[name](other), 0, STEPS, clip)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert_close(other, trained(run))
    assert not all(torch.equal(a, b) for a, b in zip(module.parameters(), other.parameters()))


def test_a_checkpoint_goes_into_the_module_and_on_from_there(tmp_path):
    """GPT-2 with tied embeddings: five steps of AdamW with clipping, load_state_dict of the checkpoint, five more steps."""
    module, loss, batch = architectures.gpt2()
    imported = Imported(tmp_path, (module, loss, batch), optimizer=adamw_groups(module), clip_grad_norm=1.0)
    artifact, folder = imported.compiled(2), tmp_path / "run"
    run = stagewright.Run(artifact, imported.inputs, checkpoints=folder, checkpoint_every=STEPS)
    found = train(run, batch, 0, STEPS)
    other = copy.deepcopy(module)
    optimizer = adamw_groups(other)
    expected = train_by_torch(other, loss, batch, optimizer, 0, STEPS, 1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    exact = copy.deepcopy(module).double()
    exact_optimizer = adamw_groups(exact)
    train_by_torch(exact, loss, batch, exact_optimizer, 0, STEPS, 1.0)
    assert_close(other, trained(run), exact)

    loaded = copy.deepcopy(module)
    loaded.load_state_dict(stagewright.torch.state_dict(folder / f"step-{STEPS:012d}", loaded))
    assert loaded.lm_head.weight is loaded.transformer.wte.weight
    assert all(np.array_equal(p.detach().numpy(), trained(run)[name]) for name, p in loaded.named_parameters())

    run = stagewright.Run(artifact, imported.inputs, checkpoints=folder, resume=True)
    found = train(run, batch, STEPS, STEPS)
    np.testing.assert_allclose(found, train_by_torch(other, loss, batch, optimizer, STEPS, STEPS, 1.0), rtol=1e-5)
    train_by_torch(exact, loss, batch, exact_optimizer, STEPS, STEPS, 1.0)
    assert_close(other, trained(run), exact)


def test_rates_have_a_value_for_each_step(tmp_path):
    module, loss, batch = perceptron()
    imported = Imported(tmp_path, (module, loss, batch), optimizer=torch.optim.Adam(module.parameters(), 1.0))
    schedule = np.array([1e-3, 2e-3, 3e-3, 2e-3, 1e-3], np.float32)
    run = stagewright.Run(imported.compiled(2), imported.inputs, values={"lr": schedule})
    found = train(run, batch, 0, STEPS)
    other = copy.deepcopy(module)
    optimizer, expected = torch.optim.Adam(other.parameters(), 1.0), []
    for number, rate in enumerate(schedule):
        optimizer.param_groups[0]["lr"] = float(rate)
        expected.extend(train_by_torch(other, loss, batch, optimizer, number, 1))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert_close(other, trained(run))


def test_an_optimizer_goes_on_with_the_state_that_it_has(tmp_path):
    module, loss, batch = perceptron()
    optimizer = torch.optim.AdamW(module.parameters(), 1e-3)
    train_by_torch(module, loss, batch, optimizer, 0, 3)
    imported = Imported(tmp_path, (module, loss, batch), optimizer=optimizer)
    run = stagewright.Run(imported.compiled(2), imported.inputs)
    found = train(run, batch, 0, STEPS)
    np.testing.assert_allclose(found, train_by_torch(module, loss, batch, optimizer, 0, STEPS), rtol=1e-5)
    assert_close(module, trained(run))


def test_what_the_optimizer_has_not_stays(tmp_path):
    module, loss, batch = perceptron()
    before = module[0].weight.detach().clone()
    imported = Imported(tmp_path, (module, loss, batch), optimizer=torch.optim.AdamW(module[2:].parameters(), 1e-2))
    run = stagewright.Run(imported.compiled(2), imported.inputs)
    train(run, batch, 0, STEPS)
    assert (trained(run)["0.weight"] == before.numpy()).all()


def test_running_statistics_are_the_mean_of_the_microbatches(tmp_path):
    """One update per step, with the mean of the microbatches' results; torch makes one update per microbatch."""
    module, loss, batch = architectures.resnet()
    imported = Imported(tmp_path, (module, loss, batch), optimizer=torch.optim.SGD(module.parameters(), 0.05),
                        validation=True)
    run = stagewright.Run(imported.compiled(2), imported.inputs, checkpoints=tmp_path / "run")
    other = copy.deepcopy(module)
    optimizer = torch.optim.SGD(other.parameters(), 0.05)
    for number in range(2):
        start = {name: b.clone() for name, b in other.named_buffers()}
        means = {name: 0.0 for name in start}
        optimizer.zero_grad()
        batches = microbatches(batch, number)
        for b in batches:
            for name, buffer in other.named_buffers():
                buffer.copy_(start[name])
            (loss(other, **b) / len(batches)).backward()
            means = {name: means[name] + b / len(batches) for name, b in other.named_buffers()}
        optimizer.step()
        for name, buffer in other.named_buffers():
            buffer.copy_(means[name])
    train(run, batch, 0, 2)
    state = stagewright.torch.state_dict(tmp_path / "run/step-000000000002", module)
    for name, buffer in other.named_buffers():
        if buffer.dtype.is_floating_point:
            assert torch.linalg.norm(state[name] - buffer) <= 1e-4 * torch.linalg.norm(buffer), name
            assert not torch.equal(state[name], module.state_dict()[name])
    module.load_state_dict(state)


def test_masters_are_float32(tmp_path):
    """A bfloat16 module with masters trains as torch does with float32 copies, within the rounding of bfloat16."""
    module, loss, batch = perceptron()
    module, batch = module.to(torch.bfloat16), {name: t.bfloat16() for name, t in batch.items()}
    imported = Imported(tmp_path, (module, loss, batch), optimizer=torch.optim.AdamW(module.parameters(), 1e-4), masters=True)
    run = stagewright.Run(imported.compiled(2), imported.inputs)

    def batches(number):
        return {name: np.stack([b[name].float().numpy().astype("bfloat16") for b in microbatches(batch, number)])
                for name in batch}
    losses = np.array([figures["loss"] for figures in run.train(batches, 20)])
    masters = copy.deepcopy(module).float()
    optimizer, expected = torch.optim.AdamW(masters.parameters(), 1e-4), []
    for number in range(20):
        optimizer.zero_grad()
        parts = microbatches(batch, number)
        narrow = copy.deepcopy(masters).bfloat16()
        values = [loss(narrow, **b) / len(parts) for b in parts]
        sum(v.float() for v in values).backward()
        for wide, parameter in zip(masters.parameters(), narrow.parameters()):
            wide.grad = parameter.grad.float()
        optimizer.step()
        expected.append(sum(v.item() for v in values))
    np.testing.assert_allclose(losses, expected, rtol=2e-2)
    state = run.tensors()["state"]
    for name, parameter in masters.named_parameters():
        master = state[f"state/{name}/master"]
        assert master.dtype == np.float32
        moved = parameter.detach() - module.state_dict()[name].float()
        difference = np.linalg.norm(master - parameter.detach().numpy())
        assert difference <= 0.2 * torch.linalg.norm(moved), name  # rates of 1e-4 would vanish in bfloat16
