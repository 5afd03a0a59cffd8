"""Functions that a command line names as FILE.py:NAME."""

import contextlib
import importlib.util
import os
import sys


@contextlib.contextmanager
def named(specification, usage, failure):
    """Context with the function that `specification` names; inside it, the folder of the file is in sys.path. `failure` is the
    class of errors; `usage` says in them what the function must do."""
    file, colon, name = specification.rpartition(":")
    if not colon or not file:
        raise failure(f"'{specification}' does not name a function; write FILE.py:NAME")
    if not os.path.exists(file):
        raise failure(f"'{file}' does not exist")
    loader = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(file))[0], file)
    if loader is None:
        raise failure(f"'{file}' is not a Python file")
    module = importlib.util.module_from_spec(loader)
    sys.path.insert(0, os.path.dirname(os.path.abspath(file)))
    try:
        loader.loader.exec_module(module)
        function = getattr(module, name, None)
        if not callable(function):
            raise failure(f"'{file}' has no function '{name}'; it must {usage}")
        yield function
    finally:
        sys.path.pop(0)
