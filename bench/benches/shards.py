"""Every layer of a GPT on two cores at once, split by parameters: two of our shards compared with one rank with two threads,
with the same shards that communicate by collectives (`--shard-collectives`), and with jax.jit with NamedSharding on two host devices. Loss and gradients of 8 microbatches, float32."""

import json
import statistics

from ..harness.hosts import AS_ROOT, Hosts, cluster, why_not
from ..harness.models import GPT, MODELS
from ..harness.report import RATIO_COLUMNS, Result, Table, time
from ..harness.sides import call

PARTS = ("steps", "choices", "links")
CORES = "0,1"
# Megatron-LM's split; the projection to queries, keys and values is three arrays side by side.
OURS = "*/qkv=1:3,*/o=0,*/fc=1,*/proj=0"
THEIRS = OURS.replace(":3", "")
THREADS_AT_MOST, COLLECTIVES_AT_MOST, JAX_AT_MOST = 1.10, 1.05, 1.0
LINKS = """Two hosts (network namespaces) with links of several rates: two shards of each of two stages, a stage on each host (four
processes on two cores, each slowed down so that two cores suffice), and two shards of all layers, one on each host. The step
that the compiler predicts is compared with the measured one: medians of rounds. The compiler knows the times of nodes, measured
in each round without limits, and the link's latency and the part of the set rate that messages get, both fitted once to
messages of two sizes at the middle rate. Shards of a stage are on different cores."""
RATES = 25e6, 12.5e6, 6.25e6
SLOWER = 4  # What four processes on two cores are slowed down by: each uses at most a quarter of a core.
# What crosses the link: devices of each host, flags, and the rates.
CROSSING = {"activations": ((2, 2), ("--tensor-parallel=2", "--stages=2"), RATES),
            "messages of shards": ((1, 1), ("--tensor-parallel=2",), RATES[:2]),
            "collectives of shards": ((1, 1), ("--tensor-parallel=2", "--shard-collectives"), RATES[:2])}
NODES = MODELS["gpt"].sized("gpt-links", V=512, D=128, H=4, L=4, T=64, B=2)
FITTED_SIZES, FITTED_ROUNDS = (1 << 10, 1 << 20), 5  # Bytes of a message.
ERROR_AT_MOST = 0.10
CHOICES = """Which of two plans for two cores `--tensor-parallel=auto` chooses by their predicted steps, whole layers or two
shards, and the median steps of both, which alternate."""
CHOICE_MICROBATCHES, SLOWER_AT_MOST = (1, 2, 8), 0.10


def run(session):
    result = Result("shards")
    for part in session.parts(PARTS):
        {"steps": steps, "choices": choices, "links": links}[part](session, result)
    return result


def steps(session, result):
    result.tables.append(Table(__doc__, RATIO_COLUMNS))
    for model in (GPT, MODELS["gpt-512"]):
        module = session.imported(model)
        shards = session.compiled(module, 2, "--tensor-parallel=2", f"--shard={OURS}", name="shards", whole=True)
        collectives = session.compiled(module, 2, "--tensor-parallel=2", f"--shard={OURS}", "--shard-collectives", name="collectives", whole=True)
        alone = session.compiled(module, 1)

        def ours(artifact, name, threads=1):
            side = session.ours(artifact, module, CORES, threads)
            side.name = name
            return side
        found = session.compare(f"{model.name}, two shards", [
            lambda: session.ours(shards, module, CORES), lambda: ours(alone, "threads", 2),
            lambda: ours(collectives, "collectives"), lambda: session.jax(model, CORES, THEIRS)])
        for peer, limit in (("threads", THREADS_AT_MOST), ("collectives", COLLECTIVES_AT_MOST), ("jax", JAX_AT_MOST)):
            session.note(result, result.tables[-1], f"{model.name}, two shards, beside {peer}", found[peer], limit,
                         f"{model.name}_{peer}")


def expectation(session, artifact):
    return json.loads(call([session.tool("pp-run"), artifact, "--info=json"]))["plan"]["time"]


def median_step(command):
    return statistics.median(json.loads(call(command, AS_ROOT))["seconds"][1:])


def flags_of(module):
    return f"--inputs={module.with_suffix('.inputs.safetensors')}", "--repeat-microbatch", "--json", "--steps=8"


def choices(session, result):
    """Appends the table of CHOICES."""
    table = Table(CHOICES, ["model", "microbatches", "whole layers, expected", "step", "two shards, expected", "step", "taken", "slower than the other", "limit"])
    result.tables.append(table)
    for model in (GPT, MODELS["gpt-512"].sized("gpt-512-1", V=512, D=512, H=8, L=4, T=256, B=1)):
        module = session.imported(model)
        for count in CHOICE_MICROBATCHES:
            artifacts = {ways: session.compiled(module, 2, f"--tensor-parallel={ways}", name=f"choice-{ways}-{count}", microbatches=count, whole=True)
                         for ways in (1, 2)}
            expected = {ways: expectation(session, artifact) for ways, artifact in artifacts.items()}
            seconds = {ways: [] for ways in artifacts}
            for _ in range(session.options.rounds):
                for ways, artifact in artifacts.items():
                    seconds[ways].append(median_step([session.tool("pp-run"), artifact, *flags_of(module)]))
            step = {ways: statistics.median(those) for ways, those in seconds.items()}
            chosen = expectation(session, session.compiled(module, 2, "--tensor-parallel=auto", name=f"choice-auto-{count}",
                                                           microbatches=count, whole=True))
            taken = min(expected, key=lambda ways: abs(expected[ways] - chosen))  # the plan that is expected to take as long
            slower = step[taken] / min(step.values()) - 1
            label = f"{model.name}, {count} microbatches"
            session.say(f"  {label}: expected {', '.join(map(time, expected.values()))}, {', '.join(map(time, step.values()))}")
            result.figures[label] = dict(expected=expected, steps=seconds)
            table.rows.append([model.name, count, time(expected[1]), time(step[1]), time(expected[2]), time(step[2]),
                               "two shards" if taken == 2 else "whole layers", f"{100 * slower:.0f} %",
                               result.want(f"{label}, slower by", slower, SLOWER_AT_MOST)])


def links(session, result):
    """Appends the table of LINKS."""
    if reason := why_not():
        session.say(f"  shards over links: {reason}")
        return
    table = Table(LINKS, ["what crosses", "link", "expected", "step", "off by", "limit"])
    result.tables.append(table)
    link = fit(session)
    session.say(f"  a message takes {time(link[0])} and gets {100 * link[1]:.1f} % of the set rate")
    for what, (hosts, flags, rates) in CROSSING.items():
        crossing(session, result, table, what, hosts, flags, rates, link)


def fit(session):
    """(latency in seconds, bandwidth relative to the set rate) of a link with the middle rate, from messages of FITTED_SIZES."""
    program, rate = session.tool("bench-messages"), RATES[1]
    with Hosts(session.work, 2, rate) as made:
        told = call(made.command([1, 1], program, program.parent.parent / "lib/libstagewright-mpi.so", FITTED_ROUNDS, *FITTED_SIZES), AS_ROOT)
    small, large = (statistics.median(one["ours"]) for one in json.loads(told))
    bandwidth = (FITTED_SIZES[1] - FITTED_SIZES[0]) / (large - small)
    return max(small - FITTED_SIZES[0] / bandwidth, 0), bandwidth / rate


def crossing(session, result, table, what, hosts, flags, rates, link):
    module, name = session.imported(NODES), what.replace(" ", "-")
    dilated = ["--dilate=" + ",".join(f"{rank}:{SLOWER}" for rank in range(sum(hosts)))] if sum(hosts) > 2 else []
    profile = session.work / f"{name}.profile.json"

    def compiled(rate, *more):
        path = session.work / f"{name}-{rate}.json"
        path.write_text(json.dumps(cluster("links", hosts, rate and link[1] * rate, latency=link[0])))
        return session.compiled(module, sum(hosts), *flags, *more, name=f"{name}-{rate}", cluster=path, whole=True)

    def measure(artifact, rate, *more):
        with Hosts(session.work, len(hosts), rate) as made:
            return median_step(made.command(hosts, session.tool("pp-run"), artifact, "--any-hosts", *flags_of(module), *dilated, *more,
                                            bind="core" if max(hosts) > 1 else "none"))
    unlimited = compiled(None)
    for rate in rates:
        label, rounds = f"{what}, {rate * 8e-6:g} Mb/s", []
        for _ in range(session.options.rounds):
            measure(unlimited, None, f"--profile={profile}")
            artifact = compiled(rate, f"--profile={profile}")
            rounds.append((expectation(session, artifact), measure(artifact, rate)))
        expected, step = map(statistics.median, zip(*rounds))
        error = abs(expected / step - 1)
        session.say(f"  {label}: {', '.join(f'{time(then)} for {time(now)}' for then, now in rounds)}")
        result.figures[label] = dict(rounds=rounds)
        table.rows.append([what, f"{rate * 8e-6:g} Mb/s", time(expected), time(step), f"{100 * (expected / step - 1):+.0f} %",
                           result.want(f"{label}, off by", error, ERROR_AT_MOST)])
