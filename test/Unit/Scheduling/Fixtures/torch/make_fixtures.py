#!/usr/bin/env python3
"""Writes the CSV files in this folder with torch's own schedule classes. Only this script, no test, needs torch 2.15.

  ./dev bench pipeline                     makes build/venv-torch (5.3 GB)
  build/venv-torch/bin/python test/Unit/Scheduling/Fixtures/torch/make_fixtures.py

A file is called CLASS-pP-mM[-vV][-comms].csv: ranks, microbatches, stages per rank, and whether it is torch's lowered
form, compute_comms. The constructor makes the order from the numbers of the stages alone, so mock stages
suffice, as in torch's own _schedule_visualizer.
"""

import csv
import pathlib
import sys
from unittest import mock

import torch
from torch.distributed.pipelining import schedules
from torch.distributed.pipelining.stage import PipelineStage

#: Class, ranks, microbatches, stages per rank.
ORDERS = [
    ("GPipe", 2, 4, 1), ("GPipe", 4, 8, 1),
    ("1F1B", 3, 5, 1), ("1F1B", 4, 6, 1),
    ("LoopedBFS", 2, 4, 2), ("LoopedBFS", 4, 8, 2),
    ("Interleaved1F1B", 2, 4, 2), ("Interleaved1F1B", 4, 8, 2), ("Interleaved1F1B", 4, 8, 4), ("Interleaved1F1B", 4, 6, 2),
    ("InterleavedZeroBubble", 2, 4, 2), ("InterleavedZeroBubble", 4, 8, 2), ("InterleavedZeroBubble", 4, 8, 4),
    ("ZBVZeroBubble", 3, 6, 2), ("ZBVZeroBubble", 4, 8, 2),
    ("DualPipeV", 2, 5, 2), ("DualPipeV", 4, 8, 2), ("DualPipeV", 4, 10, 2),
]
#: Classes whose constructor lowers the schedule.
LOWERED = [
    ("LoopedBFS", 2, 4, 2), ("Interleaved1F1B", 4, 8, 2), ("InterleavedZeroBubble", 2, 4, 2), ("ZBVZeroBubble", 3, 6, 2),
    ("DualPipeV", 2, 5, 2),
]


def instance(name, ranks, microbatches, chunks):
    stage = mock.create_autospec(PipelineStage, instance=True)
    stage.group_rank, stage.group_size, stage.num_stages, stage.submod = 0, ranks, ranks * chunks, None
    kind = schedules.get_schedule_class(name)
    single = issubclass(kind, schedules.PipelineScheduleSingle)
    return kind(stage if single else [stage] * chunks, microbatches)


def path(folder, name, ranks, microbatches, chunks, suffix=""):
    return folder / f"{name}-p{ranks}-m{microbatches}{f'-v{chunks}' if chunks > 1 else ''}{suffix}.csv"


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    folder = folder if folder.is_dir() else folder.parent
    for shape in ORDERS:
        schedule = instance(*shape)
        with open(path(folder, *shape), "w", newline="") as file:  # As _dump_csv writes them.
            writer = csv.writer(file)
            for rank in sorted(schedule.pipeline_order):
                writer.writerow(schedule.pipeline_order[rank])
    for shape in LOWERED:
        instance(*shape)._dump_csv(path(folder, *shape, "-comms"), "compute_comms")
    print(f"torch {torch.__version__}: {len(ORDERS) + len(LOWERED)} files in {folder}")


if __name__ == "__main__":
    main()
