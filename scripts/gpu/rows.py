"""One line of the report: what was looked at, what is asked of it, what was seen, and the verdict."""

PASSED, FAILED, SKIPPED, TOLD = "passed", "failed", "skipped", "told"


class Skip(Exception):
    """What is needed is not here."""


def row(what, asked, seen, good):
    return {"what": what, "asked": asked, "seen": seen, "verdict": PASSED if good else FAILED}


def told(what, seen):
    """A figure that nothing is asked of."""
    return {"what": what, "asked": "", "seen": seen, "verdict": TOLD}


def skipped(what, reason):
    return {"what": what, "asked": "", "seen": str(reason), "verdict": SKIPPED}


def failed(what, reason):
    return {"what": what, "asked": "", "seen": str(reason), "verdict": FAILED}


def ms(seconds):
    return f"{seconds * 1e3:.3f} ms"


def us(seconds):
    return f"{seconds * 1e6:.1f} us"
