"""Peer: point-to-point messages of torch.distributed, gloo, CPU, back and forth between two processes.

usage: torch_messages.py BYTES [BYTES ...]
One process per rank, set by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as under
torchrun. For each input line N, rank 0 runs N rounds and prints the seconds of one way, by size.
"""
import json, sys, time
import torch
import torch.distributed as dist

sizes = list(map(int, sys.argv[1:]))
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
buffers = {size: (torch.ones(size, dtype=torch.uint8), torch.zeros(size, dtype=torch.uint8)) for size in sizes}


def one_way(size):
    out, back = buffers[size]
    trips = max(2, 1000 // (1 + size // 4000))
    dist.barrier()
    start = time.perf_counter()
    for _ in range(trips):
        for step in (0, 1):
            if step == rank:
                dist.send(out, 1 - rank)
            else:
                dist.recv(back, 1 - rank)
    return (time.perf_counter() - start) / (2 * trips)


def told():
    count = torch.zeros(1, dtype=torch.int64)
    if rank == 0:
        count[0] = int(sys.stdin.readline() or 0)
    dist.broadcast(count, 0)
    return int(count)


for size in sizes:
    one_way(size)
if rank == 0:
    print(json.dumps(dict(peer="torch.distributed", version=torch.__version__)), flush=True)
while count := told():
    seconds = {size: [one_way(size) for _ in range(count)] for size in sizes}
    if rank == 0:
        print(json.dumps(dict(seconds=seconds)), flush=True)
dist.destroy_process_group()
