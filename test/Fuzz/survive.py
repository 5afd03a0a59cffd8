"""Runs programs in a process that may crash: a crash inside XLA ends one program, not the run."""

import collections
import os
import pickle
import warnings

from pipeline import Outcome


class Died(Exception):
    """The process ended without its final message."""


def messages(work):
    """Yields the messages that `work(send)` sends from a forked process."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)  # JAX has started no thread here yet
        child = os.fork()
    if not child:
        os.close(reading)
        with open(writing, "wb") as pipe:
            def send(message):
                pickle.dump(message, pipe)
                pipe.flush()
            work(send)
            send(None)
        os._exit(0)
    os.close(writing)
    try:
        with open(reading, "rb") as pipe:
            while (message := pickle.load(pipe)) is not None:
                yield message
    except EOFError:
        raise Died from None
    finally:
        os.waitpid(child, 0)


def outcomes(keys, run):
    """(name, program, outcome) of each of `keys`; `run(keys, at)` yields (key, name, program, outcome, replacement's key
    or None) of each and calls `at(key, name)` before it uses JAX for that program."""
    todo = collections.deque(keys)

    def work(send):
        for result in run(todo, lambda key, name: send((key, name))):
            send(result)
    while todo:
        busy = None
        try:
            for message in messages(work):
                if len(message) == 2:
                    busy = message
                    continue
                key, name, program, outcome, instead = message
                todo.remove(key)
                todo.extend([instead] if instead else [])
                yield name, program, outcome
        except Died:
            if busy is None:
                raise
            todo.remove(busy[0])
            yield busy[1], None, Outcome("known", "import", "JAX itself died")
