"""Runs the remaining sections, each in its own process with a time limit.

A section reports item by item. An item that is cut off is repeated in the next call; one that is cut off twice, or that had a
section's whole time for itself, has failed. Results are kept in report.json, from which a later call continues, even on another
machine."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback

import machine as machines
import report
import rows
from sections import NAMES, SECTIONS

NO_GPU, SKIPPED, LEFT = 77, 76, 75
# With less time left in a call, no section is started: Python and CUDA alone need part of it.
LEAST = 25


def work(bundle, out, scratch, section, done, told):
    """In the section's own process: runs the remaining items, and writes a line before and after each."""
    machine = machines.Machine(bundle, out, scratch)
    with open(told, "a", buffering=1) as lines:
        def tell(**what):
            lines.write(json.dumps(what) + "\n")
        try:
            items = SECTIONS[section].items(machine)
        except rows.Skip as reason:
            tell(item=section, rows=[rows.skipped(section, reason)], seconds=0)
            items = []
        for name, run in items:
            if name in done:
                continue
            tell(begun=name)
            start = time.monotonic()
            try:
                found = run()
            except rows.Skip as reason:
                found = [rows.skipped(name, reason)]
            except Exception as problem:  # One item's failure must not hide the results of others.
                text = str(problem) if isinstance(problem, RuntimeError) else traceback.format_exc(limit=-3)[-1500:]
                found = [rows.failed(name, text)]
            tell(item=name, rows=found, seconds=time.monotonic() - start)
        tell(ended=True)


def absorb(state, told, status, limit, whole, log):
    """Merges the lines of a section's process into the state; a status of None means a timeout."""
    begun, count, ended = None, 0, False
    for line in told.read_text().splitlines() if told.exists() else []:
        what = json.loads(line)
        ended |= "ended" in what
        if "begun" in what:
            begun = what["begun"]
        if "item" in what:
            state["items"][what["item"]] = {"rows": what["rows"], "seconds": what["seconds"]}
            begun, count = None, count + 1
    state["ended"] = ended
    if status not in (0, None) and not ended:
        # A crash fails only the item that was running, or the whole section if none had begun.
        text = f"status {status}: {log.read_text()[-1500:]}"
        state["items"][begun or "start"] = {"rows": [rows.failed(begun or "start", text)], "seconds": 0}
        state["ended"] = begun is None
    elif not ended and begun:
        cuts = state["cuts"][begun] = state["cuts"].get(begun, 0) + 1
        if cuts > 1 or (whole and not count):
            state["items"][begun] = {"rows": [rows.failed(begun, f"did not end within {limit:.0f} s")], "seconds": limit}


def run_section(arguments, state, name, limit, scratch):
    """Runs one section for at most `limit` seconds, then ends all its processes."""
    told = scratch / f"{name}.lines"
    told.unlink(missing_ok=True)
    command = [sys.executable, *arguments, "--work", name, "--told", str(told), "--done", json.dumps(list(state["items"]))]
    log = scratch / f"{name}.log"
    with open(log, "w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, process_group=0)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    absorb(state, told, status, limit, limit >= SECTIONS[name].seconds, log)


def run(script, options):
    """Runs the remaining sections, or the selected ones; returns the exit status."""
    bundle, out = pathlib.Path(options.bundle).resolve(), pathlib.Path(options.out).resolve()
    scratch = pathlib.Path(options.scratch).resolve()
    if not machines.gpus():
        print("gpu-check: no NVIDIA GPU here (nvidia-smi finds none): nothing was checked")
        return NO_GPU
    if not (bundle / "cases.json").exists():
        print(f"gpu-check: {bundle} is not a bundle; make one with gpu-check --pack")
        return 1
    for folder in (out, scratch):
        folder.mkdir(parents=True, exist_ok=True)
    start, known = time.monotonic(), report.load(options.known or out / "report.json")
    for name in options.section or ():
        known.pop(name, None)
    # By default JAX would reserve most of the memory, which our step needs.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    arguments = [script, "--bundle", str(bundle), "--out", str(out), "--scratch", str(scratch)]
    for name in options.section or NAMES:
        state = known.setdefault(name, {"items": {}, "cuts": {}, "ended": False, "seconds": 0})
        left = options.seconds - (time.monotonic() - start)
        if state["ended"] or left < LEAST:
            continue
        began, before = time.monotonic(), set(state["items"])
        run_section(arguments, state, name, min(left, SECTIONS[name].seconds), scratch)
        state["seconds"] += time.monotonic() - began
        for item in state["items"]:
            for row in state["items"][item]["rows"] if item not in before else ():
                print(f"{name}: {row['what']}: {row['seen']} [{row['verdict']}]", flush=True)
        report.write(out, known)
    counts = report.write(out, known)
    left = [name for name in options.section or NAMES if not known[name]["ended"]]
    print(f"gpu-check: {report.summary(counts)}; {out / 'report.md'}")
    if left:
        print(f"gpu-check: left for the next call: {', '.join(left)}")
        return LEFT
    if counts[rows.FAILED]:
        return 1
    if counts[rows.SKIPPED] > counts[rows.PASSED]:
        print("gpu-check: more was skipped than checked: this is no proof; report.md names what is missing")
        return SKIPPED
    return 0
