"""Delayed averages of parameters over replicas, in three parts: how well they hide their sum on many workers (simulated), over a
slow link between four hosts (measured), and how they train."""

from ...harness.report import Result
from . import curves, link, workers

PARTS = {"workers": workers, "link": link, "curves": curves}


def run(session):
    result = Result("averaging")
    for part in session.parts(PARTS):
        PARTS[part].measure(session, result)
    return result
