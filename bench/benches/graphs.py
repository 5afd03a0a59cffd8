"""GraphSAGE and GAT with Adam on sampled neighbours of a graph with communities: loss, and accuracy on held-out nodes, beside JAX
with the same samples.

Our batches come from `pp-run --source` with the sampler in Python. The allowed difference is 0.01 for accuracies, and 1e-5
relative for losses in the first 20 steps. Later, differences of rounding grow: the row of JAX shows how far two of its runs are
apart that sum the microbatches in opposite orders. A run that stops after half of the steps and resumes must write the same
checkpoint as one that did not stop.
"""

import itertools
import json
import shutil
from statistics import median

from ..harness.hosts import AS_ROOT
from ..harness.models import FOLDER, Model
from ..harness.report import Result, Table, size, time
from ..harness.session import PEERS
from ..harness.sides import call
from .training import apart, followed

MODEL = Model("graphs", "graphs.py", dict(N=100_000, E=1_000_000, C=32, F=128, H=128, B=64, K=10, L=5), 0.0)
KINDS = ("sage", "gat")
PARTS = (*KINDS, "store")
RUNS = ((1, "threads"), (2, "threads"), (2, "MPI"))
STEPS, MICROBATCHES = 200, 4
FIRST, LOSS, ACCURACY = 20, 1e-5, 0.01
EXTRA = 1.25  # a row that two operations read is sent once for each


def peer(session, kind, what, *more):
    return [session.python, PEERS / "jax_graphs.py", what, FOLDER, kind, *more]


def ours(session, kind, module, ranks, transport, folder, steps, *flags):
    """(losses, seconds of the steps, seconds of the run for each step) of one of our runs."""
    artifact = session.compiled(module, ranks, "--schedule=1f1b", microbatches=MICROBATCHES)
    launch = ["mpirun", "--quiet", "--oversubscribe", "-n", ranks] if transport == "MPI" else []
    losses, seconds, log = followed(
        session, f"{kind}, {ranks} {transport}",
        [*launch, session.tool("pp-run"), artifact, f"--inputs={module.with_suffix('.inputs.safetensors')}",
         f"--source={FOLDER / 'sampling.py'}:sample", f"--steps={steps}", f"--checkpoints={folder}", "--json", *flags, "--metrics"],
        {**AS_ROOT, **MODEL.environment}, steps)
    wall = json.loads(next(line for line in log.splitlines() if line.startswith("{")))["wall_seconds"]
    return losses, seconds, wall / len(seconds)


def by_jax(session, kind, order):
    """(losses, seconds of the steps, what it printed) of JAX."""
    losses, seconds, log = followed(session, f"{kind}, JAX {order} microbatch first",
                                    peer(session, kind, "train", STEPS, MICROBATCHES, order), MODEL.environment, STEPS)
    return losses, seconds, json.loads(log.splitlines()[-1])


def files(folder):
    last = max(folder.glob("step-*"))
    return [(last / name).read_bytes() for name in ("params.safetensors", "state.safetensors")]


def run(session):
    result, sizes = Result("graphs"), MODEL.sizes
    table = Table(f"{__doc__.strip()} {sizes['N']:,} nodes, {sizes['E']:,} edges, {sizes['C']} communities, {sizes['F']} features, "
                  f"hidden width {sizes['H']}; {STEPS} steps of {MICROBATCHES} microbatches of {sizes['B']} nodes, {sizes['K']} "
                  f"neighbours of each and {sizes['L']} of each of these.",
                  ["", "first loss", "last", f"difference in {FIRST} steps", "limit", "in all", "accuracy", "difference", "limit",
                   "a step", "with the time between"])
    asked = session.parts(PARTS)
    for kind in filter(KINDS.__contains__, asked):
        module = session.imported(MODEL.sized(kind), f"{FOLDER}/graphs.py:{kind}_adam")
        (golden, seconds, about), (opposite, *_) = [by_jax(session, kind, order) for order in ("first", "last")]
        own = apart(opposite, golden)
        table.rows.append([f"{kind}, JAX", f"{golden[0]:.4f}", f"{golden[-1]:.4f}", f"{max(own[:FIRST]):.1e}", "",
                           f"{max(own):.1e}", f"{about['accuracy']:.4f}", "", "", time(median(seconds)), ""])
        for ranks, transport in RUNS:
            name, folder = f"{kind}, {ranks} rank{'s' * (ranks > 1)}, {transport}", session.work / f"graphs.{kind}.{ranks}.{transport}"
            shutil.rmtree(folder, ignore_errors=True)
            losses, seconds, whole = ours(session, kind, module, ranks, transport, folder, STEPS)
            found = json.loads(call(peer(session, kind, "accuracy", max(folder.glob("step-*")) / "params.safetensors"),
                                    MODEL.environment))["accuracy"]
            differences, away = apart(losses, golden), abs(found - about["accuracy"])
            early = max(differences[:FIRST])
            table.rows.append([name, f"{losses[0]:.4f}", f"{losses[-1]:.4f}", f"{early:.1e}",
                               result.want(f"{name}: loss", early, LOSS), f"{max(differences):.1e}", f"{found:.4f}", f"{away:.4f}",
                               result.want(f"{name}: accuracy", away, ACCURACY), time(median(seconds)), time(whole)])
            result.figures[name] = dict(losses=losses, accuracy=found, seconds=seconds)
        result.tables.append(resumed(session, result, kind, module))
    if table.rows:
        result.tables.insert(0, table)
    if "store" in asked:
        result.tables.append(store(session, result))
    return result


def store(session, result):
    """Bytes that a step sends if the features are split by nodes over two ranks, and the bytes of the rows in the two ranks'
    messages: features of the other rank, own rows, padding."""
    module = session.imported(MODEL.sized("sage"), f"{FOLDER}/graphs.py:sage_adam")
    artifact = session.compiled(module, 2, "--tensor-parallel=2", "--shard=features=0,ids=0,mask=0,classes=0,*=whole",
                                name="store", microbatches=MICROBATCHES, whole=True)
    command = [session.tool("pp-run"), artifact, f"--inputs={module.with_suffix('.inputs.safetensors')}", "--json",
               f"--source={FOLDER / 'sampling.py'}:sample"]
    sent = [rank["microbatches"] for rank in json.loads(call(command, MODEL.environment))["sent_bytes"]]
    rows = json.loads(call(peer(session, "sage", "rows", MICROBATCHES, 2), MODEL.environment))
    width = 4 * MODEL.sizes["F"]
    needed, own, padding = (rows[name] * width for name in ("other", "own", "padding"))
    ratio = sum(sent) / (needed + own + padding)
    return Table("GraphSAGE with the features split by nodes over two ranks, each with half of the samples: MiB of a step. A message "
                 "has a place for every row of a rank's samples: features from the other rank, rows that the rank has itself, padding.",
                 ["sent", "rows of messages", "features of the other rank", "own rows", "padding", "sent / rows", "limit"],
                 [[size(sum(sent)), *map(size, (needed + own + padding, needed, own, padding)), f"{ratio:.3f}",
                   result.want("store: sent / rows", ratio, EXTRA)]])


def resumed(session, result, kind, module):
    """Compares the checkpoint of a run in two halves, on 2 threads, with those of the uninterrupted runs on 2 threads and under
    MPI."""
    folder = session.work / f"graphs.{kind}.halves"
    shutil.rmtree(folder, ignore_errors=True)
    for steps, flags in ((STEPS // 2, ()), (STEPS, ("--resume",))):
        ours(session, kind, module, 2, "threads", folder, steps, *flags)
    pairs = itertools.pairwise([files(session.work / f"graphs.{kind}.2.{transport}") for transport in ("MPI", "threads")] +
                               [files(folder)])
    differ = sum(a != b for one, other in pairs for a, b in zip(one, other, strict=True))
    return Table(f"{kind}: checkpoints of 2 threads, 2 processes, and 2 threads that resume after {STEPS // 2} steps.",
                 ["files that differ", "limit"], [[differ, result.want(f"{kind}: files that differ", differ, 0)]])
