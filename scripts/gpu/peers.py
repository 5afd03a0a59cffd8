"""The step of GPT-2 small by others on the same GPU: jax.jit of the very model, and torch.compile of one like it."""

import statistics
import time

import golden_step
from machine import Skip

ROUNDS = 20


def median_seconds(step, finish):
    for _ in range(3):
        step()
    finish()
    taken = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        step()
        finish()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def jax_seconds(machine, row):
    try:
        import jax
    except ImportError as missing:
        raise Skip("JAX is not installed") from missing
    function, arguments = golden_step.load(machine, row["model"], golden_step.environment(row))
    arguments = jax.device_put(arguments)
    compiled, last = jax.jit(function), []

    def step():
        last[:] = [compiled(*arguments)]
    return median_seconds(step, lambda: jax.block_until_ready(last[0]))


def torch_seconds(row):
    """PyTorch's best: scaled_dot_product_attention, bfloat16 by autocast, float32 parameters, torch.compile."""
    try:
        import torch
        from torch import nn
        from torch.nn import functional
    except ImportError as missing:
        raise Skip("PyTorch is not installed") from missing
    s = {key: int(value) for key, value in (item.split("=") for item in row["sizes"].split(","))}

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(s["D"]), nn.LayerNorm(s["D"])
            self.qkv, self.o = nn.Linear(s["D"], 3 * s["D"], bias=False), nn.Linear(s["D"], s["D"], bias=False)
            self.fc, self.proj = nn.Linear(s["D"], 4 * s["D"], bias=False), nn.Linear(4 * s["D"], s["D"], bias=False)

        def forward(self, x):
            b, t, d = x.shape
            q, k, v = (a.view(b, t, s["H"], d // s["H"]).transpose(1, 2) for a in self.qkv(self.first(x)).chunk(3, -1))
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(mixed.transpose(1, 2).reshape(b, t, d))
            return x + self.proj(functional.gelu(self.fc(self.second(x)), approximate="tanh"))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.wte, self.wpe = nn.Embedding(s["V"], s["D"]), nn.Embedding(s["T"], s["D"])
            self.blocks = nn.ModuleList(Block() for _ in range(s["L"]))
            self.last, self.head = nn.LayerNorm(s["D"]), nn.Linear(s["D"], s["V"], bias=False)

        def forward(self, ids, targets):
            x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1], device=ids.device))
            for block in self.blocks:
                x = block(x)
            return functional.cross_entropy(self.head(self.last(x)).float().view(-1, s["V"]), targets.view(-1))

    model = Model().cuda()
    compiled = torch.compile(model)
    ids = torch.randint(s["V"], (s["B"], s["T"]), device="cuda")

    def step():
        model.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = compiled(ids, ids.roll(-1, -1))
        loss.backward()
    return median_seconds(step, torch.cuda.synchronize)


def flops(row):
    """Of one step by the usual count: 6 for each weight of a product and token, and attention, forward and backward."""
    s = {key: int(value) for key, value in (item.split("=") for item in row["sizes"].split(","))}
    weights = 12 * s["L"] * s["D"] ** 2 + s["D"] * s["V"]
    tokens = s["B"] * s["T"] * row["microbatches"]
    return 6 * weights * tokens + 12 * s["L"] * s["D"] * s["T"] * tokens
