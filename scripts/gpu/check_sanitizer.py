"""compute-sanitizer on small steps, without a CUDA graph, so that it sees every launch."""

import re
import subprocess

import machine as machines
from golden_step import Golden
from rows import Skip, failed, row

# Our kernels in the report; all others are the libraries'.
OURS = re.compile(r"\bkernel_\d+")
LIMIT = 140


def sanitize(machine, name, tool):
    inputs = Golden(machine, name).inputs()
    command = [machines.tool("compute-sanitizer"), f"--tool={tool}", "--error-exitcode=9", "--print-limit=20",
               *machine.command(name, f"--inputs={inputs}", "--no-graph", machine.one_gpu(name), f"--deadline={LIMIT}")]
    what = f"{name}, {tool}"
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, env=machine.environment)
    except subprocess.TimeoutExpired:
        return [failed(what, f"did not end within {LIMIT} s")]
    text = done.stdout + done.stderr
    if "not supported" in text:
        raise Skip(f"compute-sanitizer refuses this device: {text.strip().splitlines()[0]}")
    kernels = sorted(set(OURS.findall(text)))
    found = [line.strip("= ") for line in text.splitlines() if "ERROR SUMMARY" in line or "RACECHECK SUMMARY" in line]
    seen = f"{'; '.join(found) or f'no summary, status {done.returncode}: {text[-600:]}'}"
    return [row(what, "no error", seen + (f"; in {', '.join(kernels)}" if kernels else ""), done.returncode == 0 and found)]


def items(machine):
    if not machines.tool("compute-sanitizer"):
        raise Skip("compute-sanitizer is neither in PATH nor in $CUDA_HOME, /usr/local/cuda or beside nvcc")
    for case in machine.named("sanitizer"):
        for tool in ("memcheck", "racecheck"):
            yield f"{case['name']}-{tool}", lambda name=case["name"], tool=tool: sanitize(machine, name, tool)
