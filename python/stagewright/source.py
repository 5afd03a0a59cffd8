"""The process of pp-run --source=FILE.py:NAME: computes batches. The protocol is in lib/Runtime/Training/BatchSource.h."""

import os
import socket
import struct
import sys

from stagewright.errors import RunFailure
from stagewright.named import named
from stagewright.runtime import as_bytes, contiguous, type_number


def _numbers(*values):
    return struct.pack(f"={len(values)}q", *values)


def _message(error):
    cause = str(error) if isinstance(error, RunFailure) else f"{type(error).__name__}: {error}"
    text = cause.encode()[:1 << 16]
    return [_numbers(-1, len(text)), text]


def _batch(function, seed, step, microbatch):
    """The parts of the answer."""
    made = function(seed, step, microbatch)
    if not isinstance(made, dict):
        raise RunFailure(f"the function returned {type(made).__name__}, expected arrays by name")
    parts = [_numbers(len(made))]
    for name, value in made.items():
        array, text = contiguous(value), str(name).encode()
        parts += [_numbers(len(text), type_number(array, f"'{name}'"), array.ndim, *array.shape), text, as_bytes(array).data]
    return parts


def serve(specification, seed):
    """Answers requests on standard input, a socket, until the other side closes it; returns the exit status."""
    connection = socket.socket(fileno=os.dup(0))
    try:
        with named(specification, "take seed, step, microbatch and return arrays by name", RunFailure) as function, \
                connection.makefile("rb") as requests:
            connection.sendall(_numbers(0))
            while len(request := requests.read(16)) == 16:
                for part in _batch(function, seed, *struct.unpack("=2q", request)):
                    connection.sendall(part)
    except (BrokenPipeError, ConnectionResetError):
        return 0  # the run has ended
    except Exception as error:
        import traceback
        if not isinstance(error, RunFailure):
            traceback.print_exc(file=sys.stderr)
        for part in _message(error):
            connection.sendall(part)
        return 1
    return 0
