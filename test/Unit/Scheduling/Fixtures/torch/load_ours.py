#!/usr/bin/env python3
"""Loads the CSV of every schedule generator into torch, for its validation and lowering, and can run some.

  build/venv-torch/bin/python test/Unit/Scheduling/Fixtures/torch/load_ours.py build/bin/pp-sim [--run]

Needs torch 2.15 and is not part of the tests. For each schedule pp-sim writes the CSV and torch's
_PipelineScheduleRuntime reads it (_load_csv, compute_only): its checks of the order, its lowering to sends and receives
(which fails on a deadlock) and its checks of the waits; then the same with our own sends, receives and
waits (compute_comms). With --run, processes connected by gloo run some of both on stages of one linear layer each, and
the gradients are compared with the unpipelined model.
"""

import argparse
import csv
import pathlib
import re
import subprocess
import tempfile
from unittest import mock

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.distributed.pipelining import PipelineStage, schedules

#: Schedule, ranks, microbatches, chunks.
SHAPES = [
    ("gpipe", 4, 8, 1), ("1f1b", 4, 6, 1), ("eager-1f1b", 4, 8, 1), ("early-backward", 4, 8, 1), ("window", 4, 8, 1),
    ("zb-h1", 4, 8, 1), ("zb-h2", 4, 8, 1), ("zb-h2-latency", 4, 8, 1), ("interleaved", 4, 8, 2), ("interleaved", 2, 8, 4),
    ("breadth-first", 4, 8, 2), ("looped-bfs", 4, 8, 2), ("interleaved-zb", 4, 8, 2), ("zb-v", 4, 8, 2), ("v-half", 4, 8, 2),
    ("v-min", 4, 8, 2), ("dualpipe-v", 4, 8, 2), ("auto", 4, 8, 1), ("auto", 2, 6, 2),
]
RUN = [("zb-h1", 2, 4, 1), ("interleaved", 2, 4, 2), ("zb-v", 2, 4, 2), ("dualpipe-v", 2, 4, 2), ("v-half", 2, 4, 2)]
WIDTH, ROWS = 8, 3


FORMATS = ["compute_only", "compute_comms"]


def write_csv(pp_sim, shape, path, form):
    name, ranks, microbatches, chunks = shape
    subprocess.run([pp_sim, f"--schedule={name}", f"--ranks={ranks}", f"--microbatches={microbatches}",
                    f"--chunks={chunks}", f"--csv={path}", *(["--communication"] if form == FORMATS[1] else [])], check=True, stdout=subprocess.DEVNULL)


def load(path, shape, form):
    """The runtime with the file's order, on mock stages: its checks need only the numbers of the stages."""
    _, ranks, microbatches, chunks = shape
    stage = mock.create_autospec(PipelineStage, instance=True)
    stage.group_rank, stage.group_size, stage.num_stages, stage.submod = 0, ranks, ranks * chunks, None
    runtime = schedules._PipelineScheduleRuntime([stage] * chunks, microbatches)
    runtime._load_csv(str(path), format=form)
    return runtime


def model(stages):
    torch.manual_seed(0)
    return torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()) for _ in range(stages))


def batch(microbatches):
    torch.manual_seed(1)
    return torch.randn(microbatches * ROWS, WIDTH), torch.randn(microbatches * ROWS, WIDTH)


def loss_of(output, target):
    return torch.nn.functional.mse_loss(output, target)


def work(rank, shape, path, form, port, worst):
    """One rank: runs the order and keeps the largest difference of a gradient from the whole model's."""
    _, ranks, microbatches, chunks = shape
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    parts, (inputs, target) = model(ranks * chunks), batch(microbatches)
    with open(path, newline="") as file:
        rows = [[cell for action in row for cell in action.strip("()").replace(")OVERLAP_F_B", "").split(";")]
                for row in csv.reader(file)]
    mine = sorted({int(re.match(r"\d+", cell)[0]) for cell in rows[rank]})
    stages = [PipelineStage(parts[s], s, ranks * chunks, torch.device("cpu")) for s in mine]
    runtime = schedules._PipelineScheduleRuntime(stages, microbatches, loss_fn=loss_of)
    runtime._load_csv(str(path), format=form)
    arguments = (inputs,) if 0 in mine else ()
    losses = []
    runtime.step(*arguments, **({"target": target, "losses": losses} if ranks * chunks - 1 in mine else {}))
    whole = model(ranks * chunks)
    for x, y in zip(inputs.chunk(microbatches), target.chunk(microbatches)):
        value = x
        for part in whole:
            value = part(value)
        (loss_of(value, y) / microbatches).backward()
    for s in mine:
        for ours, theirs in zip(parts[s].parameters(), whole[s].parameters()):
            worst[rank] = max(worst[rank], float((ours.grad - theirs.grad).norm() / theirs.grad.norm()))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pp_sim")
    parser.add_argument("--run", action="store_true")
    options = parser.parse_args()
    print(f"torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "orders.csv"
        for shape in SHAPES:
            for form in FORMATS:
                write_csv(options.pp_sim, shape, path, form)
                runtime = load(path, shape, form)
                actions = sum(len(row) for row in runtime.pipeline_order_with_comms.values())
                print(f"{shape} {form}: loaded, {actions} actions with communication")
        for number, (shape, form) in enumerate([(s, f) for s in RUN for f in FORMATS] if options.run else []):
            write_csv(options.pp_sim, shape, path, form)
            worst = multiprocessing.get_context("spawn").Array("d", shape[1])
            multiprocessing.spawn(work, (shape, path, form, 29600 + number, worst), nprocs=shape[1])
            print(f"{shape} {form}: ran, largest relative difference of a gradient {max(worst):.1e}", flush=True)
            if max(worst) > 1e-5:
                raise SystemExit("gradients differ")


if __name__ == "__main__":
    main()
