"""Events for TensorBoard, by tensorboardX."""

from __future__ import annotations

import os

from stagewright.errors import ReportFailure

# Key in a metrics line -> TensorBoard tag.
TAGS = {"loss": "loss/train", "validation_loss": "loss/validation", "tokens_per_second": "speed/tokens_per_second",
        "samples_per_second": "speed/samples_per_second", "seconds": "speed/seconds_per_step",
        "bubble": "pipeline/bubble_share"}


def write_events(metrics, folder):
    """Writes the series of TAGS and the idle shares as scalars into `folder`; returns the number of scalars."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError as error:
        raise ReportFailure("events for TensorBoard need the package tensorboardX: pip install tensorboardX") from error
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise ReportFailure(f"cannot write into '{folder}': {error.strerror}") from error
    count = 0
    with SummaryWriter(folder) as writer:
        for key, tag in TAGS.items():
            for step, value in zip(*metrics.series(key)):
                writer.add_scalar(tag, value, step)
                count += 1
        for line in metrics.lines:
            for rank, share in enumerate(line.get("idle", [])):
                writer.add_scalar(f"pipeline/idle_rank_{rank}", share, line["step"])
                count += 1
    return count
