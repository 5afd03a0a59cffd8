"""Where the stores of GraphSAGE's features lie: three hosts with a worker each, and stores that each hold the nodes of some
communities.

`explored`: the hosts are those that `pp-plan --planner=explore` finds for the tasks of the step, with seconds of a run on one
host and bytes of the artifact's messages; `one host`: all stores on the first; `hashed`: nodes are distributed over the hosts
by their number. All compute the same losses. The hosts are network namespaces whose sends `tc` limits to 100 Mb/s; steps are
compared with the time that `pp-plan` predicts with max-min fair rates.

`paced`: messages keep to the rates that a NIC guarantees (`pp-compile --policy=oes`, `pp-run --pace=sends`). D is the max number of
connections of a NIC, P the critical path with the measured seconds of the layers and every transfer alone on its link.
"""

import json
import re
from statistics import median

from ..harness.hosts import AS_ROOT, Hosts, cluster, why_not
from ..harness.models import FOLDER
from ..harness.report import Result, Table, size, time
from ..harness.sides import call

HOSTS, MICROBATCHES, STEPS = 3, 8, 4
SIZES = {"STAGEWRIGHT_GRAPHS": "N=100000,E=1000000,C=33,F=128,H=32,B=64,K=10,L=5"}
LINK = 12.5e6
PAYLOAD = 0.95  # of what a link carries: 1448 bytes in a packet of 1514, and acknowledgements
NIC = LINK * PAYLOAD
SHARE, ERROR, SPAN = 0.75, 0.15, 1.1


class Model:
    """The step with nodes distributed by community, or by number."""

    def __init__(self, session, hashed):
        self.session, self.name = session, "hashed" if hashed else "communities"
        self.environment = {**SIZES, "STAGEWRIGHT_STORES": f"{HOSTS},{int(hashed)}"}
        self.module = session.work / f"stores.{self.name}.mlir"
        call([session.python, "-m", "stagewright", "import", "jax", f"{FOLDER}/stores.py:stored_sage", "-o", self.module, "--quiet"],
             self.environment)
        self.machines = session.work / "stores.cluster.json"
        # A host has a core for each store and worker, of which a plan uses some.
        self.machines.write_text(json.dumps(cluster("stores", (2 * HOSTS,) * HOSTS, NIC)))
        self.run = [f"--inputs={self.module.with_suffix('.inputs.safetensors')}", f"--source={FOLDER / 'stores.py'}:fetched", "--json"]

    def compile(self, placed, *flags):
        """An artifact, or what --emit asks for, with store and worker i on the hosts placed[i] and i."""
        layers = [*placed, *range(HOSTS)]
        plan = " ".join(f"[{i},{i + 1})@core{2 * HOSTS * host + i}" for i, host in enumerate(layers))
        path = self.module.with_suffix(f".{''.join(map(str, placed))}{'.mlir' if '--emit=schedule' in flags else '.swx'}")
        call([self.session.tool("pp-compile"), self.module, f"--cluster={self.machines}", f"--plan={plan}", "--schedule=1f1b",
              f"--microbatches={MICROBATCHES}", "--policy=oes", "--quiet", *flags, "-o", path])
        return path

    def measured(self, artifact):
        """The profile of a run with threads, and what the run printed."""
        profile = self.module.with_suffix(".profile.json")
        found = call([self.session.tool("pp-run"), artifact, *self.run, f"--steps={STEPS}", f"--profile={profile}",
                      *(f"--fetched=fetch/p{store}w{worker}=features/p{store}" for store in range(HOSTS) for worker in range(HOSTS))],
                     self.environment)
        return profile, json.loads(found)


def tasks(artifact, profile):
    """The step as a dataflow, of which an iteration is a step. Its tasks are the stores, which may lie on any host, the
    workers, and the parameters on the first host. The next step begins when all tasks have ended."""
    manifest = json.loads(call([profile["tool"], artifact, "--info=json"]))
    names = [f"store{i}" for i in range(HOSTS)] + [f"worker{i}" for i in range(HOSTS)]
    seconds = {name: MICROBATCHES * sum(time for action, time in profile["actions"].items() if action.startswith(str(stage)))
               for stage, name in enumerate(names)}
    sent = {}
    for channel in manifest["channels"]:
        ends = [names[channel[end]] for end in ("from", "to")]
        if channel["name"].startswith("gradient."):
            ends[1] = "parameters"
        elif channel.get("once"):
            ends[0] = "parameters"
        key = (*ends, int(ends[0] == "parameters"))
        sent[key] = sent.get(key, 0) + channel["bytes"] * (1 if channel.get("once") else MICROBATCHES)
    sent |= {("worker0", "parameters", 0): 4} | {("parameters", name, 1): 4 for name in names if name[-1] == "0" or name[0] == "s"}
    # Only sends are limited: a host can receive at the rates of all its senders together.
    machines = [dict(name=f"m{host}", cores=HOSTS, gpus=1, out=NIC, **{"in": HOSTS * NIC}) for host in range(HOSTS)]
    placed = [dict(name=name, seconds=seconds[name], cores=1) if name[0] == "s" else
              dict(name=name, seconds=seconds[name], gpus=1, machine=f"m{name[-1]}") for name in names]
    return dict(iterations=10, machines=machines, tasks=[*placed, dict(name="parameters", seconds=0, machine="m0")],
                edges=[{"from": start, "to": end, "bytes": count, "distance": distance}
                       for (start, end, distance), count in sent.items()])


def run(session):
    result = Result("stores")
    if reason := why_not():
        session.say(f"  stores: {reason}")
        return result
    model, hashed = Model(session, False), Model(session, True)
    together, apart = (0,) * HOSTS, tuple(range(HOSTS))
    predicted, plans, profiles, fetches = {}, {}, {}, {}
    for one, placements in ((model, {"one host": together, "explored": None}), (hashed, {"hashed": apart})):
        artifact = one.compile(together)
        profiles[one], found = one.measured(artifact)
        fetches[one.name] = found["fetched_bytes"]
        file = session.work / f"stores.{one.name}.tasks.json"
        file.write_text(json.dumps(tasks(artifact, {"tool": session.tool("pp-run"), **json.loads(profiles[one].read_text())})))
        plan = lambda *more: json.loads(call([session.tool("pp-plan"), file, "--json", "--policy=fair", *more]))  # noqa: E731
        for name, placed in placements.items():
            where = file.with_suffix(f".{name.replace(' ', '-')}.json")
            if placed is None:
                found = plan("--planner=explore", "--evals=500", "--seed=1")
                placed = tuple(int(found["placement"][f"store{i}"][1:]) for i in range(HOSTS))
            else:
                where.write_text(json.dumps({"placement": {**{f"store{i}": f"m{host}" for i, host in enumerate(placed)},
                                                           **{f"worker{i}": f"m{i}" for i in range(HOSTS)}, "parameters": "m0"}}))
                found = plan(f"--plan={where}")
            predicted[name], plans[name] = found["seconds"] / 10, (one, placed)
    measured, losses = measure(session, plans)
    result.tables += [report_placements(result, predicted, plans, measured), report_paced(result, plans, profiles, measured),
                      report_fetches(fetches)]
    result.want("largest relative difference of losses", max(losses) / min(losses) - 1, 1e-4)
    result.figures |= dict(predicted=predicted, fetched=fetches, **{f"{name}{' paced' if paced else ''}": seconds
                                                                 for (name, paced), seconds in measured.items()})
    return result


def measure(session, plans):
    """({(name, whether paced): seconds of the steps}, losses)."""
    seconds, losses = {}, []
    artifacts = {name: one.compile(placed) for name, (one, placed) in plans.items()}
    with Hosts(session.work, HOSTS, LINK) as hosts:
        for number in range(session.options.rounds):
            for name, artifact in artifacts.items():
                ranks = json.loads(call([session.tool("pp-run"), artifact, "--info=json"]))["ranks"]
                slots = [sum(rank["host"] == host for rank in ranks) for host in range(HOSTS)]
                for paced in (False, True):
                    one = plans[name][0]
                    found = json.loads(call(hosts.command(slots, session.tool("pp-run"), artifact, *one.run, f"--steps={STEPS}",
                                                          *["--pace=sends"] * paced), {**AS_ROOT, **one.environment}))
                    seconds.setdefault((name, paced), []).extend(found["seconds"][1:])
                    losses.append(found["loss"])
                    session.say(f"  round {number + 1}, {name}{', paced' if paced else ''}: {time(median(found['seconds'][1:]))}")
    return seconds, losses


def report_placements(result, predicted, plans, measured):
    table = Table(" ".join(__doc__.split("`paced`")[0].split()),
                  ["placement", "hosts of the stores", "predicted", "step", "error", "limit", "explored relative to it", "limit"])
    best = median(measured["explored", False])
    for name, (_, placed) in plans.items():
        step = median(measured[name, False])
        error, ratio = predicted[name] / step - 1, best / step
        table.rows.append([name, ", ".join(map(str, placed)), time(predicted[name]), time(step), f"{100 * error:+.1f} %",
                           result.want(f"{name}: error of the prediction", abs(error), ERROR),
                           *(("", "") if name == "explored" else
                           (f"{ratio:.2f}", result.want(f"explored relative to {name}", ratio, SHARE if name == "one host" else 1)))])
    return table


def report_paced(result, plans, profiles, measured):
    table = Table(" ".join(__doc__.split("\n\n")[2].split()),
                  ["placement", "D", "P", "step, not paced", "paced", "paced / (D P)", "limit"])
    for name, (one, placed) in plans.items():
        text = one.compile(placed, f"--profile={profiles[one]}", "--emit=schedule").read_text()
        degree, path = (float(re.search(rf"flow_schedule = .*?{key} = ([0-9.e+-]+)", text)[1]) for key in ("degree", "critical_path"))
        step, paced = (median(measured[name, paced]) for paced in (False, True))
        ratio = paced / (degree * path)
        table.rows.append([name, f"{degree:g}", time(path), time(step), time(paced), f"{ratio:.2f}",
                           result.want(f"{name}: paced step relative to D P", ratio, SPAN)])
    return table


def report_fetches(fetches):
    table = Table("Rows that workers fetch in a step (`pp-run --fetched`): fixed numbers of rows, of which some are padding. A worker "
                  "fetches a row once for all of its samples of a microbatch.", ["nodes by", "bytes", "padding", "repeated"])
    for name, lists in fetches.items():
        table.rows.append([name, *(size(sum(one[what] for one in lists)) for what in ("bytes", "padding", "repeated"))])
    return table
