"""Exceptions with causes that a user can fix."""


class ImportFailure(Exception):
    """A model cannot be imported; the text gives the cause, the place, and a way out if there is one."""


class RunFailure(Exception):
    """A run cannot begin or continue; the text gives the cause, and a way out if there is one."""


class WeightsFailure(Exception):
    """Weights cannot be converted; the text gives the file or parameter, the cause, and a way out if there is one."""


class ReportFailure(Exception):
    """A report cannot be made; the text gives the file and the cause."""
