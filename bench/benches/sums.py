"""Two replicas of a GPT, one core each: gradients summed in buckets after their last backward, compared with one bucket at the
end of the step. With threads, with processes, and with processes on two hosts with a slow link (network namespaces, `tc`). The
share of waiting is reported; with two equal replicas it is the wait for the sums."""

import json
import statistics

from ..harness.hosts import AS_ROOT, Hosts, why_not
from ..harness.models import GPT
from ..harness.report import Result, Table, time
from ..harness.sides import call

LAST, BUCKETS = "at the end", {"4 MiB": 4 << 20, "1 MiB": 1 << 20}
MICROBATCHES, STEPS = 2, 5
RATES = {"1 Gb/s": 125e6, "10 Gb/s": 1250e6}
PROCESSES = ["mpirun", "--quiet", "-n", "2", "--bind-to", "core"]


def step(session, launch, artifact, inputs, *flags):
    """(seconds of a step, share of it in which a replica waits) of one turn."""
    said = json.loads(call([*launch, session.tool("pp-run"), artifact, f"--inputs={inputs}", "--repeat-microbatch",
                            f"--microbatches={MICROBATCHES}", f"--steps={STEPS}", "--json",
                            f"--profile={session.work}/sums.profile.json", *flags], AS_ROOT))
    return statistics.median(said["seconds"][1:]), max(said.get("idle") or [0.0])


def place(session, result, table, label, sides, measure):
    """The rows for one way to run replicas; the sides take turns."""
    found = {name: [] for name in sides}
    for number in range(session.options.rounds):
        for name, artifact in sides.items():
            found[name].append(measure(artifact))
        session.say(f"  {label}, round {number + 1}: " + ", ".join(f"{name} {time(f[-1][0])}" for name, f in found.items()))
    seconds = {name: [turn[0] for turn in turns] for name, turns in found.items()}
    result.figures[label] = found
    for name in sides:
        ratios = [a / b for a, b in zip(seconds[name], seconds[LAST])]
        ratio = result.ratios[f"{label}, {name}"] = statistics.median(ratios)
        waited = statistics.median(turn[1] for turn in found[name])
        table.rows.append([f"{label}, {name}", time(statistics.median(seconds[name])), f"{100 * waited:.1f} %", f"{ratio:.2f}",
                           f"{min(ratios):.2f} to {max(ratios):.2f}"])


def run(session):
    table = Table(__doc__, ["buckets", "step", "waited", f"/ {LAST}", "of all rounds"])
    result, module = Result("sums", [table]), session.imported(GPT)
    inputs = module.with_suffix(".inputs.safetensors")
    sides = {name: session.compiled(module, 1, "--plan=[0,6)x2", "--schedule=1f1b", f"--bucket-bytes={size}",
                                    name=f"sums-{size}", microbatches=MICROBATCHES, cluster="local:2")
             for name, size in {LAST: 1 << 40, **BUCKETS}.items()}
    place(session, result, table, "threads", sides,
          lambda artifact: step(session, ["taskset", "-c", "0,1"], artifact, inputs))
    if reason := why_not():
        session.say(f"  sums: {reason}")
        return result
    place(session, result, table, "processes", sides, lambda artifact: step(session, PROCESSES, artifact, inputs))
    for label, rate in RATES.items():
        with Hosts(session.work, 2, rate) as hosts:
            place(session, result, table, label, sides,
                  lambda artifact, hosts=hosts: step(session, hosts.command((1, 1)), artifact, inputs, "--any-hosts"))
    return result
