"""What torchax alone gets wrong is corrected, or refused with the module's path and a way out; then nothing is written."""

import pytest
import torch
from torch import nn

import stagewright.torch
from stagewright import ImportFailure


class Inner(nn.Module):
    """Layers with `function` in the middle."""

    def __init__(self, function, *state):
        super().__init__()
        self.linear, self.function = nn.Linear(4, 4), function
        for number, tensor in enumerate(state):
            self.register_buffer(f"state{number}", tensor)

    def forward(self, x):
        return self.function(self, self.linear(x))


class Outer(nn.Module):
    def __init__(self, *inner):
        super().__init__()
        self.blocks = nn.ModuleList(inner)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def loss(module, x):
    return module(x).square().mean()


def step(*functions, state=()):
    torch.manual_seed(0)
    plain = Inner(lambda _, x: torch.tanh(x))
    return Outer(plain, *(Inner(function, *state) for function in functions)), loss, dict(x=torch.randn(6, 4))


def refused(tmp_path, made, error, **options):
    with pytest.raises(ImportFailure, match=error):
        stagewright.torch.import_step(*made, str(tmp_path / "model.mlir"), **options)
    assert not list(tmp_path.iterdir())


class Round(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x.round()

    @staticmethod
    def backward(context, gradient):
        return gradient


def hook(_, x):
    y = x * 2
    y.register_hook(lambda gradient: gradient * 3)
    return y


def penalty(_, x):
    y = x.square().sum()
    return x * torch.autograd.grad(y, x, create_graph=True)[0]


def count(module, x):
    module.state0 += 1
    return x


def aliased(_, x):
    y = x * 1
    y.view(-1).mul_(2)
    return y


FUNCTIONS = {
    "custom function": (lambda _, x: Round.apply(x), r"module 'blocks.1' uses the custom torch.autograd.Function 'Round'"
                        r".*its backward is not seen.*detach\(\)"),
    "hook": (hook, "module 'blocks.1' uses a hook on a tensor.*do in the forward, or in the loss, what the hook does"),
    "data": (lambda _, x: x + x.data, r"module 'blocks.1' uses '.data'.*use .detach\(\)"),
    "autograd": (penalty, "module 'blocks.1' uses torch.autograd in the forward.*gradient penalty"),
    "item": (lambda _, x: x * x.sum().item(), r"module 'blocks.1' cannot be imported: it asks for a value that depends on "
             r"the batch.*torch.where"),
    "branch": (lambda _, x: x if x.sum() > 0 else -x, "module 'blocks.1' cannot be imported: it asks for a value"),
    "shape from data": (lambda _, x: x[x > 0], "module 'blocks.1' cannot be imported"),
    "integer state": (count, "buffer 'blocks.1.state0' of type torch.int64 changes.*keep it as one"),
    "operator": (lambda _, x: nn.functional.ctc_loss(x.log_softmax(-1)[:, None], torch.tensor([[1, 2]]), torch.tensor([6]),
                                                     torch.tensor([2])),
                 "module 'blocks.1' cannot be imported: .*ctc_loss.* has no form in JAX"),
    "error of torch": (lambda _, x: x @ torch.ones(7, 7), "torch itself cannot run the step: mat1 and mat2 shapes"),
    "alias": (aliased, r"differs from torch's autograd by .* is allowed"),
    "generator": (lambda _, x: x * torch.rand(x.shape, generator=torch.Generator()),
                  "module 'blocks.1' uses a torch.Generator"),
    "alpha dropout": (lambda m, x: nn.functional.alpha_dropout(x, 0.1, m.training), "module 'blocks.1' uses alpha_dropout"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_cannot_be_imported_is_an_error_with_a_way_out(tmp_path, name):
    function, error = FUNCTIONS[name]
    refused(tmp_path, step(function, state=(torch.tensor(0),)), error)


def test_hooks_of_modules_and_parameters(tmp_path):
    made = step()
    made[0].blocks[0].register_full_backward_hook(lambda *_: None)
    refused(tmp_path, made, "module 'blocks.0' has a backward hook, which is not seen")
    made = step()
    made[0].blocks[0].linear.weight.register_hook(lambda gradient: gradient)
    refused(tmp_path, made, "parameter 'blocks.0.linear.weight' has a hook, which is not seen")


def test_types_that_are_too_wide(tmp_path):
    module, loss, batch = step()
    refused(tmp_path, (module.double(), loss, batch), r"tensor 'blocks.0.linear.weight' is of type torch.float64.*float\(\)")
    made = nn.Embedding(3, 2), lambda m, ids: m(ids % 3).sum(), dict(ids=torch.tensor([2**40]))
    refused(tmp_path, made, "batch argument 'ids' holds 1099511627776, which does not fit the 32 bits")


def test_batch_norm_that_averages_all_batches(tmp_path):
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=None))
    refused(tmp_path, (module, loss, dict(x=torch.randn(6, 4))), "module '1' averages all batches.*give it a momentum")


def test_a_parameter_of_no_module(tmp_path):
    stray = torch.randn(4, requires_grad=True)
    refused(tmp_path, step(lambda _, x: x * stray), r"module 'blocks.1' uses a tensor of shape \[4\] that requires a gradient "
            r"and is not a parameter.*torch.nn.Parameter")


@pytest.mark.parametrize("make, error", [
    (lambda m: torch.optim.Adagrad(m.parameters()), "optimizer Adagrad is not supported, only AdamW.*option 'update'"),
    (lambda m: torch.optim.SGD(m.parameters(), 0.1, momentum=0.9, dampening=0.1), "group 0 .* dampening 0.1"),
    (lambda m: torch.optim.SGD([nn.Parameter(torch.ones(7))], 0.1), r"a parameter of shape \[7\] in group 0 .* none of the"),
    (lambda m: torch.optim.Adam(m.parameters(), differentiable=True), "group 0 of the optimizer has differentiable=True")])
def test_optimizers(tmp_path, make, error):
    made = step()
    refused(tmp_path, made, error, optimizer=make(made[0]))


def test_hooks_of_an_optimizer(tmp_path):
    made = step()
    optimizer = torch.optim.SGD(made[0].parameters(), 0.1)
    optimizer.register_step_post_hook(lambda *_: None)
    refused(tmp_path, made, "the optimizer has hooks around its step", optimizer=optimizer)


def test_options_of_an_optimizer_need_one(tmp_path):
    refused(tmp_path, step(), "option 'clip_grad_norm' needs the option 'optimizer'", clip_grad_norm=1.0)


def no_grad(_, x):
    with torch.no_grad():
        scale = x.abs().max(-1, keepdim=True).values
    return x / scale


def no_grad_in_place(module, x):
    with torch.no_grad():
        module.state0.mul_(0.9).add_(x.mean(0), alpha=0.1)
    return x - module.state0


def autocast(_, x):
    with torch.autocast("cpu", torch.bfloat16):
        return nn.functional.linear(x, torch.eye(4) * 1.01).float()


def checkpoint(reentrant):
    def function(_, x):
        return torch.utils.checkpoint.checkpoint(lambda y: torch.sin(y) * y, x, use_reentrant=reentrant)
    return function


MENDED = {
    "no_grad": no_grad,
    "no_grad view": lambda _, x: x * torch.no_grad()(lambda: x[:, :1])(),
    "no_grad cast": lambda _, x: x * torch.no_grad()(lambda: x.to(torch.bfloat16))().float(),
    "detach": lambda _, x: x * x.detach() + x[:, 1:2].detach(),
    "straight through": lambda _, x: x + (x.round() - x).detach(),
    "autocast": autocast,
    "checkpoint": checkpoint(False),
    "reentrant checkpoint": checkpoint(True),
    "random numbers": lambda _, x: x + 0.1 * torch.randn_like(x) * torch.rand(x.shape[0], 1),
    "nested random numbers": lambda _, x: nn.functional.gumbel_softmax(x),
    "tensors of torch": lambda m, x: x @ m.function.matrix,
    "mask in place": lambda _, x: x.masked_fill_(x < 0, 0.5) * 2,
    "integers": lambda _, x: x[:, torch.arange(3, -1, -1)] * (2 if torch.arange(3).sum() > 2 else 1),
    "state": no_grad_in_place,
}
MENDED["tensors of torch"].matrix = torch.randn(4, 4)


@pytest.mark.parametrize("name", MENDED)
def test_what_is_mended_equals_torch(tmp_path, name):
    """The import itself compares with torch's autograd."""
    state = (torch.zeros(4),) if name == "state" else ()
    stagewright.torch.import_step(*step(MENDED[name], state=state), str(tmp_path / "model.mlir"))
    assert (tmp_path / "model.mlir").exists()


def test_random_numbers_are_the_same_in_every_precision(tmp_path):
    """The tolerance for bfloat16 is torch's own error against float64, with the same random numbers."""
    module, loss, batch = step(lambda _, x: x + torch.randn_like(x) * torch.rand(x.shape[0], 1, dtype=x.dtype))
    made = module.bfloat16(), lambda m, x: loss(m, x).float(), {"x": batch["x"].bfloat16()}
    stagewright.torch.import_step(*made, str(tmp_path / "model.mlir"))


def test_the_comparison_sees_a_wrong_gradient(tmp_path, monkeypatch):
    """One rule is disabled, so that gradients flow where torch has none."""
    import stagewright.torch.environment as environment
    monkeypatch.setattr(environment.torch, "is_grad_enabled", lambda: True)
    refused(tmp_path, step(no_grad), "gradient of 'blocks.[01].linear.(weight|bias)' differs from torch's autograd")


def test_multi_head_attention_and_its_dropout(tmp_path):
    module = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True), 2,
                                   enable_nested_tensor=False).train()
    signature = stagewright.torch.import_step(module, loss, dict(x=torch.randn(2, 5, 8)), str(tmp_path / "model.mlir"))
    assert [a.role for a in signature.arguments].count("seed") == 1
