"""The sections of the check: each gives rows (what, value, verdict), one of them after the other until time is up."""

import json
import os
import shutil
import signal
import statistics
import subprocess
import time
import traceback

import cases
import golden
import machine as machines
from machine import Skip

PASSED, FAILED, SKIPPED, TOLD = "passed", "failed", "skipped", "told"
NO_GPU, LEFT = 77, 75
# bfloat16 products of an H200, as measured by large ones; the limit that model flops utilisation is held against.
PEAK_FLOPS = 790e12


def verdict(good):
    return PASSED if good else FAILED


def about(machine):
    """What runs here."""
    rows = [("GPU", line, TOLD) for line in machines.gpus()]
    for name in ("jax", "torch"):
        try:
            rows.append((name, __import__(name).__version__, TOLD))
        except ImportError:
            rows.append((name, "not installed", TOLD))
    for variable, file, _ in machines.LIBRARIES:
        rows.append((file, machine.environment.get(variable, "as the system finds it"), TOLD))
    return rows


def numerics(machine):
    """Loss and every gradient beside JAX's on the same GPU, by a graph and without."""
    from safetensors.numpy import load_file
    rows = []
    for case in cases.NUMERICS:
        try:
            inputs, expected = golden_step_of(machine, case.name)
            reference = golden_step_of(machine, case.name, case.reference)[1] if case.reference else None
            for how, flags in (("graph", []), ("no graph", ["--no-graph"])):
                out = machine.out / "found.safetensors"
                machine.pp_run(case.name, f"--inputs={inputs}", f"--outputs={out}", "--steps=3", "--check-memory",
                               "--devices=" + ",".join("0" * case.stages), *flags)
                rows.append((f"{case.name}, {how}", *compare(expected, load_file(out), reference)))
        except Skip as reason:
            rows.append((case.name, str(reason), SKIPPED))
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            rows.append((case.name, str(problem), FAILED))
    return rows


def golden_step_of(machine, name, model=None):
    import golden_step
    return golden_step.make(machine, name, model)


def compare(expected, found, reference):
    if reference:
        ours, theirs = golden.short_float_errors(expected, found, reference)
        return f"error against float32: ours {ours:.2e}, JAX's {theirs:.2e}", verdict(ours <= 1.5 * theirs)
    problems = golden.disagreements(expected, found)
    table = golden.norms(expected, found)
    worst = max(d / g for d, g in table.values() if g) if table else 0.0
    return problems[0] if problems else f"{len(table)} results, largest relative difference {worst:.1e}", verdict(not problems)


def measured(machine, name, *flags, steps=30):
    inputs = machine.out / f"{name}.inputs.safetensors"
    if not inputs.exists():
        golden_step_of(machine, name)
    text = machine.pp_run(name, f"--inputs={inputs}", f"--steps={steps}", "--json",
                          "--devices=" + ",".join("0" * machine.case(name)["stages"]), *flags)
    found = json.loads(text)
    return statistics.median(found["seconds"][3:]), statistics.median(found["enqueue_seconds"][3:])


def step(machine):
    """One-stage GPT-2 small in bfloat16 beside jax.jit and torch.compile."""
    import peers
    row = machine.case("gpt2-small")
    ours, _ = measured(machine, "gpt2-small")
    share = peers.flops(row) / ours / PEAK_FLOPS
    rows = [("our step", f"{ours * 1e3:.3f} ms, {100 * share:.1f} % of {PEAK_FLOPS / 1e12:.0f} TFLOP/s", TOLD)]
    for name, time_of in (("jax.jit", lambda: peers.jax_seconds(machine, row)), ("torch.compile", lambda: peers.torch_seconds(row))):
        try:
            theirs = time_of()
            rows.append((f"ours beside {name}", f"{ours / theirs:.3f} (theirs {theirs * 1e3:.3f} ms)", verdict(ours <= theirs)))
        except Skip as reason:
            rows.append((f"ours beside {name}", str(reason), SKIPPED))
    return rows


def executor(machine):
    """What four stages on one GPU cost beside one, and what the host does in a step, for several numbers of microbatches."""
    rows = []
    one, _ = measured(machine, "gpt-1")
    for name in ("gpt-2", "gpt-4"):
        graph, host = measured(machine, name)
        direct, _ = measured(machine, name, "--no-graph")
        rows.append((f"{name}, graph", f"{graph * 1e3:.3f} ms, {graph / one:.3f} of one stage's, {graph / direct:.3f} of no graph's",
                     TOLD))
        rows.append((f"{name}, host in a step", f"{host * 1e6:.1f} us, wanted at most 50", verdict(host <= 50e-6)))
    for count in (2, 8, 32):
        try:
            host = measured(machine, "gpt-4", f"--microbatches={count}", "--repeat-microbatch")[1]
            rows.append((f"host in a step of {count} microbatches", f"{host * 1e6:.1f} us", verdict(host <= 50e-6)))
        except RuntimeError as problem:
            rows.append((f"host in a step of {count} microbatches", str(problem), TOLD))
    return rows


def profile(machine):
    """Measured costs of every action, for pp-sim to predict the step from; the files come back with the report."""
    rows = []
    for name in ("gpt-1", "gpt-2", "gpt-4"):
        path = machine.out / f"{name}.profile.json"
        plain, _ = measured(machine, name)
        measured(machine, name, f"--profile={path}", f"--trace={machine.out / f'{name}.trace.json'}")
        costs = json.loads(path.read_text())
        rows.append((name, f"{len(costs['actions'])} kinds of action; the step takes {plain * 1e3:.3f} ms without stamps", TOLD))
        if name == "gpt-1":
            # One stage: its actions are one after the other, so their sum is the step.
            busy = sum(costs["actions"].values()) * machine.case(name)["microbatches"]
            rows.append((f"{name}, actions beside the step", f"{busy / plain:.3f}, wanted 0.95 to 1.05", verdict(0.95 <= busy / plain <= 1.05)))
    return rows


def sanitizer(machine):
    """compute-sanitizer on a small step: accesses and races."""
    if not shutil.which("compute-sanitizer"):
        raise Skip("compute-sanitizer is not installed")
    rows = []
    for name in ("gpt-2", "gpt-bfloat16-2"):
        for tool in ("memcheck", "racecheck"):
            inputs, _ = golden_step_of(machine, name)
            try:
                machine.pp_run(name, f"--inputs={inputs}", "--no-graph", "--devices=0,0", "--deadline=200", timeout=200,
                               before=["compute-sanitizer", f"--tool={tool}", "--error-exitcode=9"])
                rows.append((f"{name}, {tool}", "clean", PASSED))
            except (RuntimeError, subprocess.TimeoutExpired) as problem:
                rows.append((f"{name}, {tool}", str(problem), FAILED))
    return rows


def kill(machine):
    """A step that is killed leaves no process on the GPU."""
    inputs, _ = golden_step_of(machine, "gpt-2")
    child = subprocess.Popen(machine.command("gpt-2", f"--inputs={inputs}", "--steps=1000000", "--devices=0,0"),
                             env=machine.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(5)
    if child.poll() is not None:
        return [("kill in a step", f"the step ended by itself with status {child.returncode}", FAILED)]
    start = time.monotonic()
    child.send_signal(signal.SIGKILL)
    child.wait(timeout=30)
    taken = time.monotonic() - start
    listed = subprocess.run(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], capture_output=True, text=True)
    gone = str(child.pid) not in listed.stdout.split()
    return [("kill in a step", f"gone after {taken:.2f} s, {'none' if gone else 'one'} of its processes is on the GPU",
             verdict(gone and taken < 10))]


SECTIONS = {"about": about, "numerics": numerics, "executor": executor, "step": step, "profile": profile,
            "sanitizer": sanitizer, "kill": kill}
NAMES = list(SECTIONS)


def write(out, done):
    (out / "report.json").write_text(json.dumps(done, indent=1) + "\n")
    lines = ["# Checks on a GPU", ""]
    for name, section in done.items():
        lines += [f"## {name}", "", SECTIONS[name].__doc__, "", "| what | value | |", "| --- | --- | --- |"]
        lines += ["| " + " | ".join(str(cell).replace("|", "/").replace("\n", " ") for cell in row) + " |" for row in section["rows"]]
        lines += ["", f"{section['seconds']:.0f} s", ""]
    counts = {kind: sum(row[2] == kind for section in done.values() for row in section["rows"]) for kind in (PASSED, FAILED, SKIPPED)}
    lines.append(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    (out / "report.md").write_text("\n".join(lines) + "\n")
    return counts


def run(bundle, out, wanted, seconds):
    """Runs what is left, or the sections that are wanted; the exit status."""
    if not machines.gpus():
        print("gpu-check: no NVIDIA GPU here (nvidia-smi finds none): nothing was checked")
        return NO_GPU
    if not (bundle / "cases.json").exists():
        print(f"gpu-check: {bundle} is no bundle; make one with gpu-check --pack")
        return 1
    out.mkdir(parents=True, exist_ok=True)
    report, start = out / "report.json", time.monotonic()
    done = json.loads(report.read_text()) if report.exists() else {}
    machine = machines.Machine(bundle.resolve(), out.resolve())
    # JAX would take most of the memory for itself, beside our step.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    left = [name for name in NAMES if name in wanted] if wanted else [name for name in NAMES if name not in done]
    for number, name in enumerate(left):
        if number and time.monotonic() - start > seconds:
            print(f"gpu-check: {len(left) - number} sections are left; call again")
            write(out, done)
            return LEFT
        began = time.monotonic()
        try:
            rows = SECTIONS[name](machine)
        except Skip as reason:
            rows = [(name, str(reason), SKIPPED)]
        except Exception:  # One section's failure must not hide the others' results.
            rows = [(name, traceback.format_exc(limit=3)[-1500:], FAILED)]
        done[name] = {"rows": rows, "seconds": time.monotonic() - began}
        for row in rows:
            print(f"{name}: {row[0]}: {row[1]} [{row[2]}]", flush=True)
        write(out, done)
    return 1 if write(out, done)[FAILED] else 0
