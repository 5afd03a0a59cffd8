"""Console output of ./dev: one line per step with its time, progress while it runs, part of the output if it fails."""

import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
START = time.monotonic()


class Failure(Exception):
    """A failed step; the message is for the user."""


def say(text=""):
    print(text, flush=True)


def _clock(seconds):
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


class Progress:
    """A line that is rewritten on a terminal, and printed again every ten seconds elsewhere."""

    def __init__(self, title):
        self.title, self.start, self.terminal = title, time.monotonic(), sys.stdout.isatty()
        self.printed = self.start
        if self.terminal:
            print(f"{title} ...", end="", flush=True)

    def update(self, text):
        now = time.monotonic()
        if self.terminal:
            line = f"{self.title} {text} [{_clock(now - self.start)}]"
            print(f"\r\x1b[K{line[:os.get_terminal_size().columns - 1]}", end="", flush=True)
        elif now - self.printed >= 10:
            say(f"{self.title} {text} [{_clock(now - self.start)}]")
            self.printed = now

    def done(self, text="done"):
        head = "\r\x1b[K" if self.terminal else ""
        say(f"{head}{self.title}: {text} [{_clock(time.monotonic() - self.start)}]")


def stream(title, command, watch, *, env=None, cwd=ROOT, keep=None, quiet=False):
    """Runs `command`, showing what `watch(line)` makes of each line of its output (None: nothing).

    If it fails, prints 40 lines of the output, from the first `FAILED: ` on or else the last ones, and raises Failure. All of
    it is kept in the file `keep`."""
    keep = keep or BUILD / "logs" / (re.sub(r"\W+", "-", title.lower()).strip("-") + ".log")
    keep.parent.mkdir(parents=True, exist_ok=True)
    progress = None if quiet else Progress(title)
    with open(keep, "w", errors="replace") as log:
        process = subprocess.Popen(
            [str(c) for c in command], cwd=cwd, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", bufsize=1)
        for line in process.stdout:
            log.write(line)
            shown = watch(line.rstrip())
            if shown and progress:
                progress.update(shown)
    if process.wait():
        if progress:
            progress.done(f"FAILED (exit {process.returncode})")
        lines = keep.read_text(errors="replace").splitlines()
        first = next((i for i, line in enumerate(lines) if line.startswith("FAILED: ")), len(lines) - 40)
        say("\n".join(lines[max(first, 0):][:40]))
        raise Failure(f"{title.lower()} failed; the whole output is in {keep.relative_to(ROOT)}")
    if progress:
        progress.done()


def capture(command, *, env=None, cwd=ROOT):
    """Runs a short command and returns its output; if it fails, raises Failure with the output."""
    result = subprocess.run([str(c) for c in command], cwd=cwd, env={**os.environ, **(env or {})},
                            stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if result.returncode:
        raise Failure(f"{command[0]} failed:\n{result.stdout}{result.stderr}")
    return result.stdout
