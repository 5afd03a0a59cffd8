"""Runs Python programs in forks of a process that has loaded JAX, since loading takes longer than most of the programs.

Reads a line of JSON for each program: its arguments, environment, folder, time limit and the files for its output. Answers
with the exit status. Variables that JAX reads while it is loaded are those of this process, not of a request.
"""

import json
import os
import runpy
import signal
import sys
import traceback


def run(arguments, environment, folder, seconds, out, err):
    """In the fork: the program as Python would run it. Returns its exit status."""
    signal.alarm(seconds)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.environ.clear()
    os.environ.update(environment)
    is_module = arguments[0] == "-m"
    sys.argv = arguments[is_module:]
    sys.path[:0] = [folder if is_module else os.path.dirname(sys.argv[0]), *environment.get("PYTHONPATH", "").split(os.pathsep)]
    try:
        (runpy.run_module if is_module else runpy.run_path)(sys.argv[0], run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def serve():
    # These modules start no threads and read no sizes of models.
    import jax  # noqa: F401
    import optax  # noqa: F401
    import safetensors.numpy  # noqa: F401
    import stagewright.cli  # noqa: F401
    import stagewright.frontend.jax_step  # noqa: F401

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = run(*json.loads(line))
                sys.stdout.flush(), sys.stderr.flush()
            finally:
                os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
