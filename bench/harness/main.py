"""The options of ./dev bench, and the run."""

import argparse
import contextlib
import importlib
import json
import sys

from devtool import setup
from devtool.console import Failure, say

from .models import MODELS
from .ratio import FEWEST, SPREAD
from .session import Session

BENCHES = {
    "step": "time of a step, compared with jax.jit, IREE, torch.distributed.pipelining and products by OpenBLAS, on one core and on two",
    "contractions": "a step compared with its contractions alone; the speed of each shape",
    "pipeline": "two ranks, compared with torch.distributed.pipelining and jax.jit on two cores; the bubble",
    "overhead": "microseconds that an action and a hop cost",
    "hosts": "two hosts with a slow link: plans with and without the speed of the link",
    "family": "every plan of a family on four devices, executed: the planner's choice compared with the best",
    "unequal": "two fast and two slow devices (ranks slowed down): shares by speed compared with equal shares",
    "ready": "1F1B on four ranks with actions delayed at random: ordered and ready-first execution, and pp-sim's figures",
    "shards": "every layer split over two cores, compared with two threads and jax.jit with NamedSharding",
    "sums": "two replicas: gradients summed during the rest of the backward, or at the end",
    "averaging": "delayed averages: simulated on 1 to 256 workers; over a slow link; the losses of a GPT compared with synchronous training",
    "messages": "a message between two processes, compared with MPI's own ping-pong and torch.distributed's",
    "compile": "compile time by pass and by number of operations, compared with jax.jit's",
    "elementary": "exp, tanh, erf and others compared with SLEEF, glibc's vector library and XLA: ns per value",
    "memory": "bytes of a step compared with jax.jit's; resident memory of compiler and runtime",
    "size": "LLaMA-2 7B and 70B, Mixtral and GPT-3 on 8 to 1,024 GPUs: plan, compile, dry run; no GPU is needed",
    "published": "GPT and LLaMA of 1.3 to 1,008 billion parameters: our plans compared with published ones of Megatron-LM, Galvatron and Aceso, in one simulator",
    "drivers": "plans that each driver of pp-plan --search evaluates until one is within 1 % of the optimum; no step is run",
    "flows": "sampled training of graph neural networks: policies for NICs, placements; no step is run",
    "predict": "the step that pp-sim predicts from measured actions, compared with the measured one",
    "training": "the loss curve of a GPT of 3 million parameters on 1, 2 and 4 ranks, compared with JAX and optax",
    "graphs": "GraphSAGE and GAT on sampled neighbours of 100,000 nodes: loss and accuracy compared with JAX on the same samples",
    "stores": "placements of the stores of GraphSAGE on three hosts with slow links: measured and predicted; sends that keep to their rates",
    "planners": "seconds of the planners compared with those of public programs",
    "faults": "fifty runs with injected faults (killed, stopped, raised errors) on four ranks and on two, and what is lost; false alarms on busy processors",
    "growth": "20,000 steps with checkpoints: memory and open files of every process",
    "checkpoints": "what a checkpoint every 20 steps costs",
    "counts": "instruction counts, compared with bench/counts.json; a test allows 3 %",
}
PEERS = ("jax", "iree", "torch", "openblas")
EPILOG = """\
The sides of a comparison take turns in one run, round after round, each pinned to its cores. The output has the medians, their
ratio (ours / peer, less is better) with its 95 % interval by bootstrap over the rounds, and the ratio of the min times. If half
of that interval is wider than --spread times the ratio after --rounds rounds, the run continues, for at most three times as
many rounds in all; if it is still wider then, the reason is printed instead of a ratio. Peers are installed into
build/venv-iree and build/venv-torch (5.3 GB) when they are first needed.

  ./dev bench step                        every model, one core and two: a quarter of an hour
  ./dev bench step --model gpt --cores 1  one comparison
  ./dev bench step --peer jax             without IREE, which takes minutes to compile gpt-512
  ./dev bench faults --part injected-2    only faults on two ranks: five minutes; the result is faults-injected-2
  ./dev bench counts --update             write the current instruction counts into the table
  ./dev bench step --json                 an object on standard output, progress on standard error

Each bench writes build/bench/NAME.json and build/bench/NAME.md. Benches:
"""


def options(parser):
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG + "\n".join(f"  {name:14}{text}" for name, text in BENCHES.items())
    parser.add_argument("what", nargs="*", metavar="NAME", help="what to measure (default: everything)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON, progress to standard error")
    parser.add_argument("--model", dest="models", action="append", choices=MODELS, help="only this model; may repeat")
    parser.add_argument("--cores", type=int, action="append", choices=(1, 2), help="only with this number of cores")
    parser.add_argument("--peer", dest="peers", action="append", choices=PEERS,
                        help="step, messages (torch): only this peer; may repeat")
    parser.add_argument("--rounds", type=int, default=7, metavar="N", help="min number of rounds (default: 7)")
    parser.add_argument("--turn", type=float, default=1.0, metavar="SECONDS", help="approximate length of a turn (default: 1)")
    parser.add_argument("--spread", type=float, default=SPREAD, metavar="PART",
                        help=f"max half width of the 95 %% interval, relative to the ratio (default: {SPREAD})")
    parser.add_argument("--part", dest="parts", action="append", metavar="NAME",
                        help="size, published, drivers, family, faults, graphs, growth, checkpoints, shards, flows, "
                             "elementary, averaging: only this part (the error for an unknown name lists all); may repeat")
    parser.add_argument("--runs", type=int, default=50, metavar="N", help="faults: number of runs with a fault (default: 50)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="faults: seed of the random numbers (default: 1)")
    parser.add_argument("--update", action="store_true", help="counts: rewrite the table")


def check(given):
    if unknown := [name for name in given.what if name not in BENCHES]:
        raise Failure(f"unknown bench {' '.join(unknown)}; expected one of {', '.join(BENCHES)}")
    if given.rounds < FEWEST:
        raise Failure(f"--rounds is {given.rounds}, expected at least {FEWEST}: with fewer the spread is not known")
    if given.runs < 1:
        raise Failure(f"--runs is {given.runs}, expected at least 1")
    if given.turn <= 0 or given.spread <= 0:
        raise Failure(f"--turn is {given.turn} and --spread {given.spread}, expected both above 0")


def run(given):
    check(given)
    given.models, given.cores = given.models or list(MODELS), given.cores or [1, 2]
    given.peers = given.peers or list(PEERS)
    with contextlib.redirect_stdout(sys.stderr) if given.json else contextlib.nullcontext():
        setup.everything()
        session, results = Session(given), []
        machine = session.machine()
        say(machine)
        for name in given.what or list(BENCHES):
            say(f"== {name}: {BENCHES[name]}")
            bench = importlib.import_module(f"bench.benches.{name}")
            if given.parts and not hasattr(bench, "PARTS"):
                raise Failure(f"{name} has no parts")
            results.append(bench.run(session))
            results[-1].parts = given.parts or []
            results[-1].write(session.work, machine)
            say("\n" + results[-1].markdown())
            say(f"written: {session.work / results[-1].file}.json, {results[-1].file}.md")
    if given.json:
        whole = {result.name: {**result.json(), "machine": machine} for result in results}
        print(json.dumps(whole[given.what[0]] if len(given.what) == 1 else whole, indent=1))
    return 0
