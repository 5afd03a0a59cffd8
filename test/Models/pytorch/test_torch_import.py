"""What an import of a PyTorch model writes: names, roles, layers; and that it does not change the process."""

import os
import subprocess
import sys

import pytest
import torch
from safetensors.numpy import load_file
from torch import nn

import architectures
import stagewright.torch
from stagewright import ImportFailure
from stagewright.torch.layers import Scopes, find_layers

ROOT = architectures.__file__.rsplit("/test/", 1)[0]


def imported(tmp_path, made, **options):
    path = str(tmp_path / "model.mlir")
    signature = stagewright.torch.import_step(*made, path, **options)
    return signature, open(path).read(), load_file(str(tmp_path / "model.inputs.safetensors"))


def test_names_are_those_of_the_state_dict_and_ties_are_one(tmp_path):
    module, loss, batch = architectures.gpt2()
    signature, text, inputs = imported(tmp_path, (module, loss, batch))
    names = [a.name for a in signature.arguments if a.role == "parameter"]
    assert sorted(names) == sorted(f"params/{name}" for name, _ in module.named_parameters())
    assert "params/transformer.wte.weight" in names and "params/lm_head.weight" not in names
    assert [a.name for a in signature.arguments if a.role == "batch"] == ["input_ids", "labels"]
    position = names.index("params/transformer.h.1.ln_1.weight")
    assert (inputs[str(position)] == module.transformer.h[1].ln_1.weight.detach().numpy()).all()
    assert "jvp(transformer.h.3)" in text and "transpose(jvp(transformer.h.3))" in text


@pytest.mark.parametrize("name", architectures.LAYERS)
def test_layers_are_the_blocks(name):
    module, _, _ = getattr(architectures, name)()
    layers = Scopes(module).layers
    assert {architectures.LAYERS[name].format(i) for i in range(4)} <= set(layers)
    assert len(layers) <= 5  # with the embeddings, where the model calls them indivisible


def test_layers_can_be_chosen():
    module, _, _ = architectures.gpt2()
    assert sorted(find_layers(module, ["GPT2MLP"]).values()) == [f"transformer.h.{i}.mlp" for i in range(4)]
    assert list(find_layers(module, ["transformer.h.[02]", "lm_head"]).values()) == [
        "transformer.h.0", "transformer.h.2", "lm_head"]
    with pytest.raises(ImportFailure, match="option 'layers': no module has the class or path 'blocks.*'"):
        find_layers(module, ["blocks.*"])


def test_a_sequential_is_layers_where_there_is_no_list():
    module = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Linear(3, 3), nn.ReLU()), nn.Linear(3, 1))
    assert list(find_layers(module).values()) == ["0", "1", "2"]


def test_frozen_and_unused_parameters_are_constants(tmp_path):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3)
            self.b.requires_grad_(False)

        def forward(self, x):
            return self.b(self.a(x)).square().mean()

    signature, _, _ = imported(tmp_path, (Model(), lambda m, x: m(x), dict(x=torch.randn(4, 3))))
    roles = {a.name: a.role for a in signature.arguments}
    assert roles == {"params/a.weight": "parameter", "params/a.bias": "parameter", "constants/b.weight": "constant",
                     "constants/b.bias": "constant", "constants/c.weight": "constant", "constants/c.bias": "constant",
                     "x": "batch"}
    assert any("'c.weight'" in remark for remark in signature.remarks)


def test_dropout_has_a_seed(tmp_path):
    signature, _, _ = imported(tmp_path, architectures.gpt2_dropout())
    assert [a.name for a in signature.arguments if a.role == "seed"] == ["seed"]


def test_the_module_and_the_process_stay_as_they_are(tmp_path):
    """Buffers, gradients, random numbers and hooks are unchanged; torch's optimizers and compiler still work."""
    module, loss, batch = architectures.resnet()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    call, apply, state = nn.Module.__call__, torch.autograd.Function.apply, torch.get_rng_state()
    imported(tmp_path, (module, loss, batch), optimizer=torch.optim.AdamW(module.parameters()))
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())
    assert all(p.grad is None for p in module.parameters()) and torch.equal(state, torch.get_rng_state())
    assert nn.Module.__call__ is call and torch.autograd.Function.apply == apply
    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
    first = loss(module, **batch)
    first.backward()
    optimizer.step()
    assert loss(module, **batch) < first
    layer = nn.Linear(3, 3)
    x = torch.randn(2, 3)
    torch.testing.assert_close(torch.compile(layer)(x), layer(x))


def test_command(tmp_path):
    """The command prints what it wrote; without -o it reports that -o is missing."""
    path = tmp_path / "model.mlir"
    done = subprocess.run([sys.executable, "-m", "stagewright", "import", "torch", architectures.__file__ + ":vit", "-o",
                           path, "--layers", "ViTLayer"], capture_output=True, text=True, env={
                               **os.environ, "PYTHONPATH": f"{ROOT}/python"})
    assert done.returncode == 0, done.stderr
    assert "72 parameters, 2 batches, 1 loss, 72 gradients" in done.stdout.splitlines()[-1]
    assert 'pipeline.source = "torch"' in path.read_text()
    assert (tmp_path / "model.inputs.safetensors").exists()


@pytest.mark.parametrize("made, error", [
    ((1, 2, 3), r"a step is \(module, loss, batch\).*not \(int, int, int\)"),
    ((nn.Linear(2, 2), lambda m, x: m(x), dict(x=torch.ones(2, 2))), "the loss must be a tensor without dimensions"),
    ((nn.Linear(2, 2), lambda m, x: x.sum(), dict(x=torch.ones(2, 2))), "depends on the module's parameters")])
def test_a_step_that_is_none(tmp_path, made, error):
    with pytest.raises(ImportFailure, match=error):
        imported(tmp_path, made)
    assert not list(tmp_path.iterdir())


def test_unknown_option(tmp_path):
    with pytest.raises(ImportFailure, match="unknown option 'optimiser'; the options are layers, optimizer"):
        imported(tmp_path, architectures.gpt2(), optimiser=None)
