"""Whole steps on the emulator (test/Cuda): kernels as PTX, products, graphs, streams in every permitted order. Results equal
JAX's; errors in a kernel or a call are reported."""

import collections
import os
import re
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file

import golden
from emulator import NEEDED, TARGET, emulated
from test_kernels import compiled
from tiers import thorough
from workshop import BUILD, tool

pytestmark = NEEDED

# Lengths that no tile of our attention divides, two of them long; unusual widths; enough rows for row kernels.
SIZES = {"STAGEWRIGHT_GPT": "V=61,D=26,H=2,L=3,T=83,B=1", "STAGEWRIGHT_LLAMA": "V=61,D=24,H=4,G=2,F=30,L=2,T=70,B=1",
         "STAGEWRIGHT_ATTENTION": "D=24,H=2,S=40,B=2", "STAGEWRIGHT_CONVNET": "S=9,C=5,B=3,K=5"}
OWN_ATTENTION = "--score-bytes=0"
MICROBATCHES = 2


def values(workshop, model, sizes):
    """(path of inputs, JAX's golden values)."""
    return workshop.golden(model, MICROBATCHES, sizes)


class Run:
    """A run of a step on the emulator: its exit, errors and differences from JAX."""

    def __init__(self, workshop, model, artifact, *flags, sizes=SIZES, steps=2, **variables):
        inputs, expected = values(workshop, model, sizes)
        out = workshop.path("emulated.out.safetensors")
        out.unlink(missing_ok=True)
        self.done = subprocess.run([BUILD / "bin/pp-run", artifact, f"--inputs={inputs}", f"--microbatches={MICROBATCHES}",
                                    f"--outputs={out}", f"--steps={steps}", *flags], capture_output=True, text=True,
                                   env={**os.environ, **emulated(**variables)})
        self.error = self.done.stderr
        self.wrong = golden.disagreements(expected, load_file(out)) if out.exists() else ["no results"]

    def good(self):
        return self.done.returncode == 0 and not self.wrong


# With a graph and without one, on one GPU and on several.
WAYS = [dict(flags=["--check-memory"], seed=0, several=False), dict(flags=["--no-graph"], seed=2, several=False),
        dict(flags=[], seed=1, several=True), dict(flags=["--no-graph"], seed=3, several=True)]
MODELS = [("llama.py:llama", 2, (OWN_ATTENTION,)), ("moe.py:moe_sorted", 3, ()), ("convnet.py:convnet", 2, ()),
          ("attention.py:dropped", 1, (OWN_ATTENTION,)), ("einsums.py:batch_last", 2, ()), ("einsums.py:grouped", 2, ()),
          ("norms.py:layers", 2, ())]
OTHERS = [("gpt.py:gpt_tied", 4, ("--schedule=zb-h1",)), ("norms.py:roots", 1, ()), ("gpt.py:gpt_scan", 2, ()),
          ("gpt.py:gpt_dropout", 3, ()), ("moe.py:moe", 2, ()), ("mlp.py:mlp", 2, ()),
          ("encoder_decoder.py:encoder_decoder", 4, ()), ("attention.py:masked", 1, (OWN_ATTENTION,)),
          ("attention.py:biased", 1, (OWN_ATTENTION,)), ("attention.py:capped", 1, (OWN_ATTENTION,)),
          ("gpt.py:gpt", 1, (OWN_ATTENTION,)), ("llama.py:llama", 4, ("--schedule=interleaved",))]


def check_orders(workshop, model, stages, flags, ways):
    artifact = compiled(workshop, model, SIZES, stages, *TARGET, "--max-replicas=1", *flags)
    for way in ways:
        run = Run(workshop, model, artifact, *way["flags"], seed=way["seed"], devices=stages if way["several"] else 1)
        assert run.good(), (way, run.error, run.wrong)


@pytest.mark.parametrize("model, stages, flags", [*MODELS, *thorough(OTHERS)])
def test_steps_equal_jax_in_every_order(workshop, model, stages, flags):
    """Seeds choose the order of independent operations."""
    check_orders(workshop, model, stages, flags, WAYS)


@pytest.mark.parametrize("number", range(len(OTHERS)), ids=[model for model, *_ in OTHERS])
def test_the_other_models_equal_jax_in_one_order(workshop, number):
    check_orders(workshop, *OTHERS[number], [WAYS[number % len(WAYS)]])


def test_a_scatter_adds_in_the_order_of_its_ids(workshop):
    """Equal to the last bit to a loop over tokens in float32, in whatever order blocks run."""
    model = "tables.py:sums"
    artifact = compiled(workshop, model, {}, 1, *TARGET)
    inputs = load_file(values(workshop, model, {})[0])
    ids, factors = (next(a for a in inputs.values() if a.dtype.kind == kind and a.shape[:2] == (MICROBATCHES, 600)) for kind in "if")
    ids, factors = ids.reshape(-1), factors.reshape(-1, 24)

    def added(order):
        table = np.zeros((7, 24), np.float32)
        for token in order:
            table[ids[token]] += factors[token]
        return table / MICROBATCHES

    expected = added(range(len(ids)))
    assert not np.array_equal(expected, added(reversed(range(len(ids)))))
    out = workshop.path("emulated.scatter.safetensors")
    for seed in range(3):
        tool("pp-run", artifact, f"--inputs={values(workshop, model, {})[0]}", f"--microbatches={MICROBATCHES}", f"--outputs={out}",
             env=emulated(seed=seed))
        gradient = next(a for a in load_file(out).values() if a.shape == (7, 24))
        assert np.array_equal(gradient, expected)


def barriers(assembly):
    """The kernels with barriers in the PTX, each with the number of its barriers."""
    found = collections.Counter()
    for line in assembly.splitlines():
        if entry := re.search(r"\.entry (\w+)", line):
            kernel = entry[1]
        elif re.match(r"\s*(@\S+\s+)?bar(rier)?\.", line):
            found[kernel] += 1
    return found


# Rows that a team of several warps computes, several rows in turn, with one sum per row and with several.
WIDE = {"norms.py:layers": {"STAGEWRIGHT_NORMS": "R=4096,D=520"}, "norms.py:roots": {"STAGEWRIGHT_NORMS": "R=4096,D=520"}}
# More rows than a tile of tensor cores has; rows of 13 numbers are not copied asynchronously.
SHORT = {"attention.py:capped_float16": {"STAGEWRIGHT_ATTENTION": "D=26,H=2,S=83,B=1"},
         "attention.py:dropped_bfloat16": {"STAGEWRIGHT_ATTENTION": "D=32,H=2,S=83,B=1"}}


@pytest.mark.parametrize("model, flags, least", [
    ("gpt.py:gpt", (OWN_ATTENTION,), 11), ("convnet.py:convnet", (), 10), ("moe.py:moe_sorted", (), 4),
    ("attention.py:capped_float16", (OWN_ATTENTION,), 7), ("norms.py:layers", (), 6), ("gpt.py:gpt_bfloat16", (OWN_ATTENTION,), 9),
    ("attention.py:dropped_bfloat16", (OWN_ATTENTION,), 4), ("encoder_decoder.py:encoder_decoder", (), 4),
    ("llama.py:llama", (OWN_ATTENTION,), 12), ("attention.py:masked", (OWN_ATTENTION,), 10),
    ("attention.py:dropped", (OWN_ATTENTION,), 10)])
def test_every_barrier_is_needed_and_missed_where_it_is_not_there(workshop, model, flags, least):
    check_barriers(workshop, model, flags, least, SHORT.get(model, SIZES))


@pytest.mark.parametrize("model, least", thorough((("norms.py:layers", 12), ("norms.py:roots", 9))))
def test_every_barrier_between_long_rows_is_needed(workshop, model, least):
    artifact = check_barriers(workshop, model, (), least, WIDE[model])
    assert Run(workshop, model, artifact, sizes=WIDE[model]).good()


def check_barriers(workshop, model, flags, least, sizes):
    """In one run, in which each launch is tried without each barrier; so its results are not those of the step."""
    artifact = compiled(workshop, model, sizes, 1, *TARGET, *flags)
    assembly = compiled(workshop, model, sizes, 1, *TARGET, "--emit=assembly", *flags).read_text()
    log = workshop.path("emulated.barriers")
    run = Run(workshop, model, artifact, sizes=sizes, steps=1, fault="barriers", log=log)
    assert run.done.returncode == 0, run.error
    # Without a barrier between a loop and its product, a warp may also be incomplete at the product.
    reported = "race on|has written" + ("|is not there" if "float16" in model else "")
    errors = re.findall(r"^needed line=\d+ kernel '(\w+)', (.*)$", log.read_text(), re.MULTILINE)
    assert all(re.search(reported, error) for _, error in errors), errors
    assert collections.Counter(kernel for kernel, _ in errors) == barriers(assembly)
    assert len(errors) >= least
    return artifact


# Orders of streams: a missing or wrong dependency shows only if the other stream runs first.
SEEDS = (3, 7)
SMALL = {"STAGEWRIGHT_GPT": "V=61,D=24,H=2,L=2,T=16,B=2"}


def reported(workshop, fault, *flags, model="gpt.py:gpt_deep", sizes=SMALL):
    """Whether a run with this fault (STAGEWRIGHT_EMULATOR_FAULT) fails or has other results than JAX, in some order."""
    artifact = compiled(workshop, model, sizes, 2, *TARGET, "--schedule=1f1b", "--max-replicas=1")

    def good(**fault):
        return all(Run(workshop, model, artifact, *flags, sizes=sizes, devices=2, seed=seed, **fault).good() for seed in SEEDS)
    assert workshop.once(("without faults", model, flags), good)
    return not good(fault=fault)


# Calls to NVIDIA's libraries, by number, that are left out in turn. Of waits, only those that no other wait implies.
FAULTS = {"cuStreamWaitEvent": (5, 8, 9, 11), "cuMemcpyPeerAsync": (0, 1, 2), "cuLaunchKernel": (0, 50, 150),
          "cublasLtMatmul": (1, 10, 50), "cuMemcpyHtoDAsync_v2": (0, 5, 20), "cuMemcpyDtoHAsync_v2": (0, 10),
          "cuEventRecordWithFlags": (4, 8)}


def test_a_call_that_is_left_out_is_found(workshop):
    assert sum(map(len, FAULTS.values())) == 20
    assert not [(symbol, number) for symbol, calls in FAULTS.items() for number in calls
                if not reported(workshop, f"{symbol}:{number}")]


# Calls with one argument altered: its position, and what is added to it or replaces it. Arguments of kernels follow the stream.
# Each of some 3700 such faults of this step, in every call in turn, was reported unless it changed no result by more than the
# tolerance of golden.py: blocks and threads beyond the extent of a kernel, or whose work others do; padding of copies; zeros
# instead of zeros; records and waits that others imply; C of a product whose beta is 0; values that an earlier microbatch or
# step has left, and that are the same (masks, results); indices that a kernel only compares with their range; the maxima of a
# softmax, which may be any number; small terms of the gradient of a norm; and a product that kernels compute instead.
ALTERED = (
    "cuLaunchKernel:0:8=0", "cuLaunchKernel:45:8=0",  # the default stream
    "cuLaunchKernel:34:1-1", "cuLaunchKernel:1:1+1",  # a block fewer, one more
    "cuLaunchKernel:2:4-1", "cuLaunchKernel:50:4-32", "cuLaunchKernel:73:7-4",  # threads, bytes of shared memory
    "cuLaunchKernel:1:12+64", "cuLaunchKernel:4:9+64", "cuLaunchKernel:59:16+64",
    "cuLaunchKernel:133:15+4294967296",  # the divisor of a mean
    "cublasLtMatmul:0:2+1", "cublasLtMatmul:0:7+1", "cublasLtMatmul:15:7=0",  # alpha, beta
    "cublasLtMatmul:1:3+64", "cublasLtMatmul:2:5+64", "cublasLtMatmul:13:8+64", "cublasLtMatmul:25:10+64",  # A to D
    "cublasLtMatmul:3:13+64", "cublasLtMatmul:3:13-256", "cublasLtMatmul:3:14-256", "cublasLtMatmul:17:15=0",  # workspace, stream
    "cublasLtMatrixLayoutCreate:0:4+8", "cublasLtMatrixLayoutCreate:84:4+8", "cublasLtMatrixLayoutSetAttribute:1:2+8",
    "cublasLtMatmulDescSetAttribute:14",  # a product without its epilogue
    "cuMemcpyHtoDAsync_v2:4:0+4", "cuMemcpyHtoDAsync_v2:0:1+4", "cuMemcpyHtoDAsync_v2:0:2-4", "cuMemcpyHtoDAsync_v2:4:3=0",
    "cuMemcpyDtoHAsync_v2:1:0+4", "cuMemcpyDtoHAsync_v2:0:1+4", "cuMemcpyDtoHAsync_v2:6:2-4", "cuMemcpyDtoHAsync_v2:1:3=0",
    "cuMemcpyPeerAsync:0:0+4", "cuMemcpyPeerAsync:3:2+4", "cuMemcpyPeerAsync:1:4-4", "cuMemcpyPeerAsync:0:5=0",
    "cuMemsetD8Async:2:1=64", "cuMemsetD8Async:2:2-64", "cuStreamWaitEvent:5:0=0", "cuEventRecordWithFlags:4:1=0")
# Messages between processes: the count, the peer, the type, the address, the stream.
MESSAGES = ("ncclSend:1:1-4", "ncclRecv:1:1-4", "ncclSend:2:3+1", "ncclSend:1:2=7", "ncclSend:1:0+4", "ncclRecv:2:0+64",
            "ncclRecv:1:5=0")
# Convolutions by the graph library: the stream, the workspace (invalid; over values that are still read), an operand, the call itself.
GRAPHS = ("graph:1:0=0", "graph:0:1=64", "graph:2:1-20480", "graph:2:2+64", "graph:3:4+4", "graph:2")


@pytest.mark.parametrize("fault", ALTERED)
def test_an_altered_call_is_found(workshop, fault):
    assert reported(workshop, fault)


@pytest.mark.parametrize("fault", MESSAGES)
def test_an_altered_message_is_found(workshop, fault):
    assert reported(workshop, fault, "--processes")


@pytest.mark.parametrize("fault", GRAPHS)
def test_an_altered_call_of_the_graph_library_is_found(workshop, fault):
    assert reported(workshop, fault, model="convnet.py:convnet", sizes=SIZES)


def test_accesses_of_kernels_are_whole_sectors(workshop):
    """In a GPT's step kernels use at least 60 % of the bytes of the sectors they move, with few bank conflicts."""
    model = "gpt.py:gpt_deep"
    artifact = compiled(workshop, model, {}, 1, *TARGET)
    path = workshop.path("emulated.counters")
    tool("pp-run", artifact, "--init=7", f"--microbatches={MICROBATCHES}",
         env=emulated(counters=path))
    names, *rows = [line.split() for line in path.read_text().splitlines()]
    assert names[5:8] == ["loads", "sectors", "bytes"] and len(rows) > 10
    loaded, stored = ([sum(int(row[i]) for row in rows) for i in places] for places in ((6, 7), (9, 10)))
    requests, waves = (sum(int(row[i]) for row in rows) for i in (11, 12))
    for sectors, bytes_ in (loaded, stored):
        assert bytes_ >= 0.6 * 32 * sectors, (bytes_, 32 * sectors)
    assert waves <= 4.5 * requests  # 16 bytes per thread take four
