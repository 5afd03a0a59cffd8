"""One row of the report: the check, the required value, the measured value, and the verdict."""

PASSED, FAILED, SKIPPED, TOLD = "passed", "failed", "skipped", "told"


class Skip(Exception):
    """A requirement is missing on this machine."""


def row(what, asked, seen, good):
    return {"what": what, "asked": asked, "seen": seen, "verdict": PASSED if good else FAILED}


def told(what, seen):
    """A row for a measurement without a requirement."""
    return {"what": what, "asked": "", "seen": seen, "verdict": TOLD}


def skipped(what, reason):
    return {"what": what, "asked": "", "seen": str(reason), "verdict": SKIPPED}


def failed(what, reason):
    return {"what": what, "asked": "", "seen": str(reason), "verdict": FAILED}


def ms(seconds):
    return f"{seconds * 1e3:.3f} ms"


def us(seconds):
    return f"{seconds * 1e6:.1f} us"
