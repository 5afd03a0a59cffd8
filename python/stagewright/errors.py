"""The exceptions that are raised for reasons that a user can act upon."""


class ImportFailure(Exception):
    """A model cannot be imported; the text says what, where, and a way out where there is one."""


class RunFailure(Exception):
    """A run cannot begin or go on; the text says why, and a way out where there is one."""


class WeightsFailure(Exception):
    """Weights cannot be converted; the text says of which file or parameter, both values, and a way out."""


class ReportFailure(Exception):
    """A report cannot be made; the text says of which file, and why."""
