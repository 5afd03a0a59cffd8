"""Seconds of the planners compared with public programs, on one core; bench/planners measures them in its own process."""

from devtool.console import Failure

from ..harness.report import Result, Table
from ..harness.sides import call


def run(session):
    text = call(["taskset", "-c", "0", session.tool("bench-planners")])
    session.say(text)
    if not text.strip():
        raise Failure("bench-planners printed nothing")
    return Result("planners", [Table(__doc__.strip(), ["what bench-planners printed"],
                                     [[line] for line in text.splitlines()])], figures=dict(text=text.splitlines()))
