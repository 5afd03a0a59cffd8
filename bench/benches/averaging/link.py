"""Four replicas on four hosts (network namespaces) whose links are shaped by `tc`: synchronous training, and an average every 8
steps, for which steps wait (local SGD) or which is merged later, with the delay that `pp-compile` chooses from measured times.
Actions take a set time (`pp-run --pace`), so two cores suffice; messages and sums are real, by MPI over TCP. Steps without any
sum are the computation alone. A perceptron of 0.8 million parameters; its replicas take eight microbatches in turn."""

import json
import statistics

from ...harness.hosts import AS_ROOT, Hosts, cluster, why_not
from ...harness.models import TINY
from ...harness.report import Table, time
from ...harness.sides import call

MODEL = TINY.sized("averaging-link", I=16, D=512, O=8, L=4, B=1)
SOURCE = MODEL.source.replace("mlp.py:mlp", "training.py:mlp_sgd")
REPLICAS, MICROBATCHES, EVERY, ROUNDS = 4, 8, 8, 2
PACE = "--pace=F:20ms,B:40ms"
RATES = (12.5e6, 25e6, 50e6)  # 100, 200 and 400 Mb/s
SYNCHRONOUS, DELAYED = 1.5, 1.05  # of the computation
NEVER = 1_000_000
SIDES = {"computation": [f"--average-every={NEVER}"], "synchronous": [], "waiting": [f"--average-every={EVERY}", "--average-delay=0"],
         "delayed": [f"--average-every={EVERY}"]}


def profiled(session, module):
    """A profile of paced steps on one rank."""
    path = session.work / "averaging-link.profile.json"
    artifact = session.compiled(module, 1, "--schedule=1f1b", microbatches=2)
    call([session.tool("pp-run"), artifact, f"--inputs={module.with_suffix('.inputs.safetensors')}", "--repeat-microbatch",
          "--steps=5", PACE, f"--profile={path}"])
    return path


def seconds(session, hosts, artifact, inputs):
    """Mean seconds of a step in whole rounds between averages, after the first."""
    command = hosts.command((1,) * REPLICAS, session.tool("pp-run"), artifact, f"--inputs={inputs}", "--any-hosts",
                            "--repeat-microbatch", "--json", f"--steps={EVERY * (ROUNDS + 1)}", PACE)
    return statistics.mean(json.loads(call(command, AS_ROOT))["seconds"][EVERY:])


def measure(session, result):
    if reason := why_not():
        session.say(f"  link: {reason}")
        return
    table = Table(__doc__.replace("\n", " "), ["link", *SIDES, "delay", "synchronous / computation", "required",
                                              "waiting / computation", "delayed / computation", "limit"])
    result.tables.append(table)
    module = session.imported(MODEL, SOURCE)
    inputs, profile = module.with_suffix(".inputs.safetensors"), profiled(session, module)
    for rate in RATES:
        label = f"{rate * 8e-6:g} Mb/s"
        path = session.work / "averaging-link.json"
        path.write_text(json.dumps(cluster("link", (1,) * REPLICAS, rate)))
        artifacts = {name: session.compiled(module, 1, f"--plan=[0,5)x{REPLICAS}", "--schedule=1f1b", f"--profile={profile}", *flags,
                                            name=name, microbatches=MICROBATCHES, cluster=path) for name, flags in SIDES.items()}
        delay = json.loads(call([session.tool("pp-run"), artifacts["delayed"], "--info=json"]))["plan"]["averaging"]["delay"]
        found = {name: [] for name in SIDES}
        with Hosts(session.work, REPLICAS, rate) as hosts:
            for number in range(session.options.rounds):
                for name, artifact in artifacts.items():
                    found[name].append(seconds(session, hosts, artifact, inputs))
                session.say(f"  {label}, round {number + 1}: " + ", ".join(f"{name} {time(f[-1])}" for name, f in found.items()))
        result.figures[label] = dict(delay=delay, **found)
        ratio = {name: statistics.median(a / b for a, b in zip(found[name], found["computation"])) for name in SIDES}
        result.ratios[label] = ratio["delayed"]
        enough = result.want(f"{label}, computation / synchronous", 1 / ratio["synchronous"], 1 / SYNCHRONOUS)
        table.rows.append([label, *(time(statistics.median(f)) for f in found.values()), delay, f"{ratio['synchronous']:.2f}",
                           f"{SYNCHRONOUS}: {enough.split(': ')[1]}", f"{ratio['waiting']:.2f}", f"{ratio['delayed']:.3f}",
                           result.want(f"{label}, delayed / computation", ratio["delayed"], DELAYED)])
