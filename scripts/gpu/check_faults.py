"""A process is killed or stopped during a step: the others must end within twice the deadline, and none may remain."""

import os
import pathlib
import signal
import subprocess
import time

import machine as machines
from golden_step import Golden
from rows import row

# Seconds: twice the shortest deadline of a step, and the time for a process that holds a GPU to exit.
WITHIN, LEAVING = 4.0, 3.0


def children(number):
    """All descendants of a process."""
    parents = {}
    for folder in pathlib.Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    found, left = [], [number]
    while left:
        parent = left.pop()
        below = [child for child, of in parents.items() if of == parent]
        found, left = found + below, left + below
    return found


def alive(number):
    """Whether a process is still running; a zombie is not."""
    try:
        return pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def start(machine, name, *flags):
    """Starts a run of very many steps and waits until steps are running: as long as a whole short run took, plus a second."""
    inputs = Golden(machine, name).inputs()
    begun = time.monotonic()
    machine.pp_run(name, f"--inputs={inputs}", machine.one_gpu(name), *flags)
    process = subprocess.Popen(machine.command(name, f"--inputs={inputs}", "--steps=100000000", machine.one_gpu(name), *flags),
                               env=machine.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(time.monotonic() - begun + 1)
    if process.poll() is not None:
        raise RuntimeError(f"the run ended by itself with status {process.returncode}: {process.stderr.read()[-500:]}")
    return process


def signal_to(number, how):
    try:
        os.kill(number, how)
    except ProcessLookupError:
        pass


def end(process, victim, how, what):
    """Sends the signal; returns the row with the outcome."""
    everyone = [process.pid, *children(process.pid)]
    began = time.monotonic()
    signal_to(victim, how)
    try:
        _, text = process.communicate(timeout=60)
        taken = time.monotonic() - began
    except subprocess.TimeoutExpired:
        process.kill()
        text, taken = process.communicate()[1], 60.0
    time.sleep(LEAVING)
    left = [number for number in everyone if alive(number)] + sorted(machines.processes_on_gpu() & set(everyone))
    for number in left:
        signal_to(number, signal.SIGKILL)
    message = " ".join(text.split())[-300:]
    good = taken <= WITHIN and not left and process.returncode != 0
    return row(what, f"all end within {WITHIN:.0f} s, status not 0, no process left",
               f"{taken:.2f} s, status {process.returncode}, {len(left)} left: {message or 'no message'}", good)


def one_process(machine):
    process = start(machine, "gpt-2")
    return [end(process, process.pid, signal.SIGKILL, "SIGKILL of the process of all ranks")]


def a_rank(machine, how, what):
    machine.sharing_nccl()
    process = start(machine, "gpt-2", "--processes")
    ranks = children(process.pid)
    if not ranks:
        process.kill()
        raise RuntimeError("pp-run --processes has no children, expected one for each rank")
    return [end(process, max(ranks), how, what)]


def items(machine):
    yield "kill", lambda: one_process(machine)
    yield "kill a rank", lambda: a_rank(machine, signal.SIGKILL, "SIGKILL of one of two ranks")
    yield "stop a rank", lambda: a_rank(machine, signal.SIGSTOP, "SIGSTOP of one of two ranks")
