"""Two hosts with a slow link, one core each: a convolutional net partitioned by a plan that knows the link, and by one that
does not. The hosts are network namespaces, the link is shaped by tc, messages use MPI over TCP."""

import json
import statistics

from ..harness.hosts import AS_ROOT, Hosts, cluster, why_not
from ..harness.models import MODELS
from ..harness.report import Result, Table, time
from ..harness.sides import call

MODEL = MODELS["convnet"].sized("convnet-hosts", S=64, C=16, B=8)
RATES = (12.5e6, 25e6, 125e6)  # 100 Mb/s, 200 Mb/s, 1 Gb/s
SLOTS = (1, 1)


def cut(session, module, rate, name):
    """(artifact, last layer of the first host, predicted seconds of a step) of a plan for a link of this rate."""
    path = session.work / f"{name}.json"
    path.write_text(json.dumps(cluster(name, SLOTS, rate)))
    artifact = session.compiled(module, 2, "--schedule=1f1b", name=name, cluster=path)
    plan = json.loads(call([session.tool("pp-run"), artifact, "--info=json"]))["plan"]
    return artifact, plan["stages"][0]["layers"][-1], plan["time"]


def measure(session, hosts, artifact, inputs):
    command = hosts.command(SLOTS, session.tool("pp-run"), artifact, f"--inputs={inputs}", "--any-hosts",
                            "--repeat-microbatch", "--json", "--steps=4")
    return statistics.median(json.loads(call(command, AS_ROOT))["seconds"][1:])


def run(session):
    columns = ["link", "cut behind", "expected", "step", "link unknown: cut behind", "step", "known / unknown", "of all rounds",
               "limit"]
    result, table = Result("hosts"), Table(__doc__, columns)
    if reason := why_not():
        session.say(f"  hosts: {reason}")
        return result
    result.tables.append(table)
    module = session.imported(MODEL)
    inputs = module.with_suffix(".inputs.safetensors")
    blind, blind_layer, _ = cut(session, module, None, "blind")
    for rate in RATES:
        label = f"{rate * 8e-6:g} Mb/s"
        aware, layer, expected = cut(session, module, rate, label.replace(" ", "-").replace("/", "-"))
        found = {"known": [], "not known": []}
        with Hosts(session.work, len(SLOTS), rate) as hosts:
            for number in range(session.options.rounds):
                for name, artifact in (("known", aware), ("not known", blind)):
                    found[name].append(measure(session, hosts, artifact, inputs))
                session.say(f"  {label}, round {number + 1}: " + ", ".join(
                    f"{name} {time(seconds[-1])}" for name, seconds in found.items()))
        ratios = [a / b for a, b in zip(*found.values())]
        known, unknown = (time(statistics.median(seconds)) for seconds in found.values())
        result.ratios[label], result.figures[label] = statistics.median(ratios), found
        table.rows.append([label, layer, time(expected), known, blind_layer, unknown, f"{result.ratios[label]:.2f}",
                           f"{min(ratios):.2f} to {max(ratios):.2f}",
                           result.want(f"{label}, known / not known", result.ratios[label], 1.0)])
    return result
