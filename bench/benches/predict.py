"""Step time that pp-sim predicts from measured actions, compared with the measured step: two stages on two cores."""

import statistics

from ..harness.actions import Scheduled
from ..harness.models import GPT
from ..harness.report import Result, Table, time


def run(session):
    table = Table(__doc__, ["schedule", "step", "predicted", "error", "errors of all rounds", "limit"])
    result, module = Result("predict", [table]), session.imported(GPT)
    for schedule in ("gpipe", "1f1b", "zb-h1"):
        scheduled, found = Scheduled(session, module, 2, schedule), []
        for number in range(session.options.rounds):
            found.append(scheduled.measure())
            session.say(f"  {schedule}, round {number + 1}: {100 * found[-1]['error']:+.1f} %")
        middle = sorted(found, key=lambda one: one["error"])[len(found) // 2]
        result.figures[schedule] = dict(rounds=found)
        errors = [one["error"] for one in found]
        table.rows.append([schedule, time(middle["step_s"]), time(middle["predicted_s"]), f"{100 * middle['error']:+.1f} %",
                           ", ".join(f"{100 * error:+.1f}" for error in errors),
                           result.want(f"{schedule}, error", abs(statistics.median(errors)), 0.10)])
    return result
