"""The step of GPT-2 small under other systems on the same GPU: jax.jit of the same model, and torch.compile of an equivalent
one. Each is created and warmed up once; then `turn(n)` returns the seconds of n steps."""

import time

import golden_step
from rows import Skip


class Side:
    def __init__(self, step, finish):
        self.step, self.finish = step, finish
        self.turn(3)

    def turn(self, count):
        taken = []
        for _ in range(count):
            start = time.perf_counter()
            self.step()
            self.finish()
            taken.append(time.perf_counter() - start)
        return taken


def sizes(row):
    return {key: int(value) for key, value in (item.split("=") for item in row["sizes"].split(","))}


def jax_side(machine, row):
    try:
        import jax
    except ImportError as missing:
        raise Skip("JAX is not installed") from missing
    function, arguments, _ = golden_step.load(machine, row["model"], golden_step.environment(row))
    arguments = jax.device_put(arguments)
    compiled, last = jax.jit(function), []

    def step():
        last[:] = [compiled(*arguments)]
    return Side(step, lambda: jax.block_until_ready(last[0]))


def torch_modules():
    try:
        import torch
        from torch import nn
    except ImportError as missing:
        raise Skip("PyTorch is not installed") from missing
    return torch, nn, nn.functional


def torch_model(s):
    """A GPT with scaled_dot_product_attention."""
    torch, nn, functional = torch_modules()

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

    return Model()


def torch_side(row, device="cuda"):
    """torch.compile; bfloat16 through autocast, with float32 parameters as in the model."""
    torch, _, _ = torch_modules()
    s = sizes(row)
    model = torch_model(s).to(device)
    compiled = torch.compile(model)
    ids = torch.randint(s["V"], (s["B"], s["T"]), device=device)

    def step():
        model.zero_grad(set_to_none=True)
        with torch.autocast(device, torch.bfloat16):
            loss = compiled(ids, ids.roll(-1, -1))
        loss.backward()
    return Side(step, torch.cuda.synchronize if device == "cuda" else lambda: None)


def matrix_limit():
    """Flops per second of a large bfloat16 product of random numbers: the practical peak of this GPU."""
    torch, _, _ = torch_modules()
    n, taken = 8192, []
    a, b = (torch.randn(n, n, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    for _ in range(13):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        a @ b
        end.record()
        end.synchronize()
        taken.append(start.elapsed_time(end) * 1e-3)
    return 2 * n ** 3 / sorted(taken[3:])[len(taken[3:]) // 2]


def flops(row):
    """Flops of one step by the usual count: 6 per product weight and token, plus attention, forward and backward."""
    s = sizes(row)
    weights = 12 * s["L"] * s["D"] ** 2 + s["D"] * s["V"]
    tokens = s["B"] * s["T"] * row["microbatches"]
    return 6 * weights * tokens + 12 * s["L"] * s["D"] * s["T"] * tokens
