#!/usr/bin/env python3
"""Kills or stops a process of `pp-run --processes` during its steps, and checks how the others end.

  kill-rank.py --signal KILL|STOP --runs N --within SECONDS [--parent] COMMAND...

Each run signals one child, or with --parent the process that started them, at a random time. Then all processes must end
within the given time, with a nonzero status and one error line that names rank, action and peer; no child may remain.
"""

import argparse
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

ERROR = re.compile(r"rank (\d+): action \d+[A-Z]\d+ (sends|waits for) microbatch \d+ of channel '[^']+' (to|from) rank (\d+): "
                   r"|rank \d+: action \d+[A-Z]\d+ began the (sum|gather|exchange) '[^']+' with ranks? \d+(, \d+)*( and \d+)?: "
                   r"|rank \d+: waits for the sum '[^']+' over ranks: "
                   r"|rank \d+: all its messages are done: "  # killed between the last message and the next step
                   r"|rank \d+: the process of rank \d+ has (ended|sent nothing for [\d.]+ s)"  # or killed between two steps
                   r"|rank \d+: waited [\d.]+ s for the other ranks")


def family(parent):
    return [int(p) for p in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def alive(process):
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def check(condition, what):
    if not condition:
        sys.exit(f"kill-rank.py: {what}")


def steps(process):
    """Whether a child has begun its steps, which start more threads."""
    return len(os.listdir(f"/proc/{process}/task")) > 1


def run(options, command):
    parent = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    begin = time.monotonic()
    while len(family(parent.pid)) < options.ranks or not all(steps(p) for p in family(parent.pid)):
        check(time.monotonic() - begin < 30 and parent.poll() is None, "the processes did not start")
        time.sleep(0.01)
    children = family(parent.pid)
    time.sleep(random.uniform(0.8, 1.2))
    victim = parent.pid if options.parent else random.choice(children)
    begin = time.monotonic()
    os.kill(victim, getattr(signal, "SIG" + options.signal))
    text = parent.communicate(timeout=options.within + 20)[1]
    while any(alive(p) for p in children) and time.monotonic() - begin < options.within:
        time.sleep(0.01)
    seconds = time.monotonic() - begin
    check(parent.returncode != 0, "the status is 0")
    check(not any(alive(p) for p in children), f"a process is left after {seconds:.2f} s")
    check(seconds <= options.within, f"it took {seconds:.2f} s")
    if options.parent:
        return seconds
    lines = [line for line in text.splitlines() if "error" in line]
    check(len(lines) == 1 and ERROR.search(lines[0]), f"the error is {text!r}")
    died = {"KILL": "died: Killed; ", "STOP": "did not answer"}[options.signal]
    check(f"the process of rank {children.index(victim)} ({victim}) {died}" in lines[0], f"the error is {text!r}")
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--signal", choices=("KILL", "STOP"), required=True)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--within", type=float, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parent", action="store_true")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    random.seed(options.seed)
    times = [run(options, options.command) for _ in range(options.runs)]
    print(f"{len(times)} runs ended, the slowest after {max(times):.2f} s")


main()
