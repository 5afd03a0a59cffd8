"""The sides that take turns: our step under pp-run, and peers that wait in their own process until it is their turn."""

import collections
import json
import os
import subprocess
import time

from devtool.console import Failure


def call(command, environment=None):
    """Runs a command, which must succeed, and returns its standard output."""
    done = subprocess.run([str(c) for c in command], env={**os.environ, **(environment or {})},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{shortened(done.stderr)}")
    return done.stdout


def shortened(text, most=3000):
    """The beginning and the end of a long text."""
    return text if len(text) <= 2 * most else f"{text[:most]}\n...\n{text[-most:]}"


Used = collections.namedtuple("Used", "seconds wall peak output")


def spend(command, environment=None, log=None):
    """CPU seconds (user and system), wall seconds and peak resident bytes of a command, which must succeed."""
    began = time.monotonic()
    with open(log or os.devnull, "w") as errors:
        process = subprocess.Popen([str(c) for c in command], env={**os.environ, **(environment or {})},
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failure(f"{' '.join(map(str, command))} failed with {process.returncode}; {log or 'its errors were not kept'}")
    return Used(usage.ru_utime + usage.ru_stime, time.monotonic() - began, usage.ru_maxrss * 1024, output)


class Ours:
    """A step of an artifact, in a new process for every turn, so that effects of memory addresses vary between turns. The first
    step of a turn is warm-up and does not count."""

    def __init__(self, run, artifact, inputs, cores, threads=1, environment=None, name="ours"):
        self.name, self.version, self.environment = name, None, environment
        flags = ["--pin"] + ([f"--threads-per-rank={threads}"] if threads > 1 else [])
        self.command = ["taskset", "-c", cores, run, artifact, f"--inputs={inputs}", "--repeat-microbatch", "--json",
                        *flags]
        self.loss = self.report(1)["loss"]

    def report(self, steps):
        return json.loads(call([*self.command, f"--steps={steps}"], self.environment))

    def turn(self, steps):
        return self.report(steps + 1)["seconds"][1:]

    def close(self):
        pass


class Peer:
    """A program that for each input line `N` runs N steps and prints {"seconds": [...]}. Before its first turn it prints
    {"version": ..., "loss": ...}, without a loss if that cannot be compared."""

    def __init__(self, name, commands, log, environment=None):
        """If there are several commands, one per rank, the first receives the input lines. `environment`: a dictionary for all
        commands, or a list with one for each."""
        self.name, self.log = name, log
        environments = environment if isinstance(environment, list) else [environment or {}] * len(commands)
        with open(log, "w") as errors:
            self.processes = [subprocess.Popen([str(c) for c in command], env={**os.environ, **more},
                                               stdin=subprocess.PIPE if not rank else subprocess.DEVNULL,
                                               stdout=subprocess.PIPE if not rank else subprocess.DEVNULL, stderr=errors,
                                               text=True)
                              for rank, (command, more) in enumerate(zip(commands, environments))]
        greeting = self._answer()
        self.version, self.loss = greeting["version"], greeting.get("loss")

    def _answer(self):
        for text in self.processes[0].stdout:
            if text.startswith("{"):
                return json.loads(text)
        self.close()
        raise Failure(f"{self.name} ended before it answered:\n{self.log.read_text()[-3000:]}")

    def turn(self, steps):
        self.processes[0].stdin.write(f"{steps}\n")
        self.processes[0].stdin.flush()
        return self._answer()["seconds"]

    def close(self):
        self.processes[0].stdin.close()
        for process in self.processes:
            process.wait()
