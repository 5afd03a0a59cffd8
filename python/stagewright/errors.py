"""The one exception that an import raises for a reason its user can act upon."""


class ImportFailure(Exception):
    """A model cannot be imported; the text says what, where, and a way out where there is one."""
