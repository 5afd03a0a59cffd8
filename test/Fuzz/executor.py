"""Runs compiled steps, each in a forked process, so that a crash ends only that step.

Reads a line of JSON per step: {"artifact", "inputs", "outputs", "seconds"}, answers with a line of JSON: {} or
{"failed": text} or {"signal": number}. With {"upstream": folder} it runs the folder's module by upstream's passes instead."""

import json
import os
import pathlib
import signal
import sys
import traceback

import ml_dtypes  # noqa: F401  adds bfloat16 to numpy
import numpy as np
from safetensors.numpy import load_file, save_file

try:
    import _stagewright_runtime  # noqa: F401  loaded once, before any fork
except ImportError:
    pass


def run(request):
    inputs = load_file(request["inputs"])
    if "upstream" in request:
        from upstream import run_module
        results = run_module(pathlib.Path(request["upstream"]), inputs, request["microbatches"])
        for name in ("first", "second"):
            save_file({str(i): np.array(r, order="C") for i, r in enumerate(results)}, f"{request['outputs']}.{name}")
        return
    import stagewright.runtime
    step = stagewright.runtime.load(request["artifact"])
    step.set({int(k): v for k, v in inputs.items()})
    for name in ("first", "second"):  # the second starts with what the first left in the arenas
        step.run()
        results = {str(i): np.array(r, order="C") for i, r in enumerate(step.results())}
        save_file(results, f"{request['outputs']}.{name}")


def forked(request):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            signal.alarm(request["seconds"])
            run(request)
        except BaseException:
            os.write(writing, traceback.format_exc().strip().split("\n", 1)[-1][-1500:].encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return {"signal": os.WTERMSIG(status)}
    return {"failed": text} if text else {}


def main():
    for line in sys.stdin:
        print(json.dumps(forked(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
