"""20,000 steps of a small GPT with AdamW and a checkpoint every 500: memory and open files of every process.

The medians of the second tenth and of the last two tenths of the run are compared: buffers fill during the first tenth.
"""

from statistics import median

from ..harness.report import Result, Table
from ..harness.training import Training, told, watched

STEPS, EVERY, RANKS, MICROBATCHES = 20000, 500, 2, 8
PARTS = {"threads": False, "MPI": True}
GROWTH, FILES = 1.0, 0  # percent, number


def ends(looks):
    """The second tenth and the last two tenths of a list of samples."""
    tenth = max(1, len(looks) // 10)
    return looks[tenth:2 * tenth], looks[-2 * tenth:-1]  # the last sample may be of a process that has exited


def row(result, name, looks):
    early, late = ends(looks)
    resident, files = ([median(look[which] for look in part) for part in (early, late)] for which in (0, 1))
    growth = 100 * (resident[1] / resident[0] - 1)
    result.figures[name] = looks
    return [name, *(f"{count / 1024:,.0f} KiB" for count in resident), f"{growth:.2f} %",
            result.want(f"{name}: growth, %", growth, GROWTH), f"{files[0]:.0f}", f"{files[1]:.0f}", result.want(f"{name}: files more", files[1] - files[0], FILES)]


def run(session):
    result, training = Result("growth"), Training(session, "growth", "gpt_adamw", 64, MICROBATCHES)
    table = Table(__doc__.strip(), ["", "resident", "at the end", "growth", "limit", "open files", "at the end",
                                    "wanted more at most"])
    result.tables.append(table)
    for part in session.parts(PARTS):
        folder, name = session.work / f"growth.{part}", told(RANKS, PARTS[part])
        command = training.command(RANKS, PARTS[part], f"--steps={STEPS}", f"--checkpoints={folder}",
                                   f"--checkpoint-every={EVERY}")
        looks = watched(name, command, PARTS[part], folder, STEPS)
        for number, process in enumerate(sorted(looks)):
            table.rows.append(row(result, f"{name}, process {number}" if PARTS[part] else name, looks[process]))
    return result
