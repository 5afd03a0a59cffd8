"""Peer: torch.distributed.pipelining with all stages on one device, handed over within the process.

usage: torch_stages.py VOCAB D HEADS LAYERS SEQ MICROBATCH STAGES DEVICE M [M ...]
For each number of microbatches M prints a line of JSON: seconds of a 1F1B step, of the host until it has enqueued it, and
of the same forwards and backwards called one after the other without a schedule.
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B
from torch.nn import functional as F

V, D, H, L, T, B, STAGES = map(int, sys.argv[1:8])
device = torch.device(sys.argv[8])
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29531")
dist.init_process_group("gloo", rank=0, world_size=1)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.o = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
        self.fc, self.proj = nn.Linear(D, 4 * D, bias=False), nn.Linear(4 * D, D, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (a.view(b, t, H, D // H).transpose(1, 2) for a in self.qkv(self.ln1(x)).split(D, -1))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, D))
        return x + self.proj(F.gelu(self.fc(self.ln2(x)), approximate="tanh"))


class Stage(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.first, self.last = number == 0, number == STAGES - 1
        if self.first:
            self.wte, self.wpe = nn.Embedding(V, D), nn.Embedding(T, D)
        self.h = nn.ModuleList(Block() for _ in range(L // STAGES))
        if self.last:
            self.lnf, self.head = nn.LayerNorm(D), nn.Linear(D, V, bias=False)

    def forward(self, x):
        if self.first:
            x = self.wte(x) + self.wpe(torch.arange(T, device=x.device))
        for b in self.h:
            x = b(x)
        return self.head(self.lnf(x)) if self.last else x


def loss_of(out, target):
    return F.cross_entropy(out.flatten(0, 1), target.flatten())


def finish():
    if device.type == "cuda":
        torch.cuda.synchronize()


def timed(step, rounds=7):
    whole, host = [], []
    for _ in range(rounds + 2):
        for module in modules:
            module.zero_grad(set_to_none=True)
        finish()
        start = time.perf_counter()
        step()
        host.append(time.perf_counter() - start)
        finish()
        whole.append(time.perf_counter() - start)
    return statistics.median(whole[2:]), statistics.median(host[2:])


modules = [Stage(number).to(device) for number in range(STAGES)]
for count in map(int, sys.argv[9:]):
    ids = torch.randint(0, V, (B * count, T), device=device)
    stages = [PipelineStage(module, number, STAGES, device) for number, module in enumerate(modules)]
    schedule = ScheduleInterleaved1F1B(stages, count, loss_fn=loss_of)

    def alone():
        for one in ids.chunk(count):
            x = one
            for module in modules:
                x = module(x)
            loss_of(x, one).backward()
    whole, host = timed(lambda: schedule.step(ids, target=ids, losses=[]))
    bare, _ = timed(alone)
    print(json.dumps(dict(microbatches=count, seconds=whole, host_seconds=host, without_schedule=bare, torch=torch.__version__)),
          flush=True)
dist.destroy_process_group()
