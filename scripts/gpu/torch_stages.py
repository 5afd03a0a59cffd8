"""Peer: torch.distributed.pipelining with all stages on one device; messages stay within the process.

usage: torch_stages.py VOCAB D HEADS LAYERS SEQ MICROBATCH STAGES DEVICE M [M ...]
For each number of microbatches M prints a line of JSON: seconds of a 1F1B step, host seconds until it is enqueued, and seconds
of the same forwards and backwards called one after the other without a schedule.
"""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B

from torch_gpt import Stage, loss_of

V, D, H, L, T, B, STAGES = map(int, sys.argv[1:8])
device = torch.device(sys.argv[8])
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
os.environ.setdefault("MASTER_PORT", "29531")
dist.init_process_group("gloo", rank=0, world_size=1)


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


modules = [Stage(V, D, H, T, L // STAGES, number == 0, number == STAGES - 1).to(device) for number in range(STAGES)]
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
