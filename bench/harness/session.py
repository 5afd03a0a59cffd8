"""One call of ./dev bench: its folders, how long to measure, and our tools that benchmarks use."""

import contextlib
import os
import pathlib
import platform
import re

from devtool import setup
from devtool.console import BUILD, ROOT, Failure, say

from . import environments, ratio, turns
from .models import MICROBATCHES
from .report import ratio_row
from .sides import Ours, Peer, call, shortened

PEERS = ROOT / "bench/peers"
ONE_CORE = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1", "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1"}


class CannotDo(Failure):
    """A peer cannot run a model; this is not a failure of the benchmark."""


class Session:
    def __init__(self, options):
        self.options, self.work = options, BUILD / "bench"
        self.work.mkdir(parents=True, exist_ok=True)
        self.python = setup.PYTHON
        self.say = say

    def parts(self, names):
        """The parts of a benchmark that --part selects; without it, all."""
        asked = self.options.parts or list(names)
        if unknown := [name for name in asked if name not in names]:
            raise Failure(f"no such part: {' '.join(unknown)}; there are {', '.join(names)}")
        return asked

    def tool(self, name):
        return setup.tree("release") / "bin" / name

    def machine(self):
        """One line that describes the machine."""
        names = [line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")]
        return (f"{names[0] if names else platform.machine()}, {len(os.sched_getaffinity(0))} cores, load "
                f"{os.getloadavg()[0]:.1f}")

    def imported(self, model, source=None):
        """The model as MLIR, with its inputs next to it; `source` is another model file to use with these sizes."""
        path = self.work / f"{model.name}.mlir"
        call([self.python, "-m", "stagewright", "import", "jax", source or model.source, "-o", path, "--quiet"],
             model.environment)
        return path

    def compiled(self, module, stages, *flags, name=None, microbatches=MICROBATCHES, cluster=None, whole=False):
        """`whole`: `stages` is the number of devices, and the flags or the planner set the stages."""
        path = module.with_suffix(f".{name or stages}.swx")
        call([self.tool("pp-compile"), module, f"--cluster={cluster or f'local:{stages}'}",
              *([] if whole else [f"--stages={stages}"]), "--quiet", f"--microbatches={microbatches}", *flags, "-o", path])
        return path

    def ours(self, artifact, module, cores, threads=1):
        return Ours(self.tool("pp-run"), artifact, module.with_suffix(".inputs.safetensors"), cores, threads)

    def blas(self, artifact, module, cores, threads=1):
        """Our step with products by OpenBLAS instead of the runtime's tiles."""
        try:
            return Ours(self.tool("pp-run"), artifact, module.with_suffix(".inputs.safetensors"), cores, threads,
                        {"STAGEWRIGHT_BLAS": "libopenblas.so.0"}, "openblas")
        except Failure as failure:
            if "STAGEWRIGHT_BLAS" not in str(failure):
                raise
            raise CannotDo(f"OpenBLAS is not installed: {shortened(str(failure), 200)}") from failure

    def has_threads(self):
        """Whether pp-run can split a rank's work over threads."""
        return "--threads-per-rank" in call([self.tool("pp-run"), "--help"])

    def jax(self, model, cores, shards=None):
        """`shards`: one device per core, and how parameters are split over them, as in `--shard` without chunks."""
        command = ["taskset", "-c", cores, self.python, PEERS / "jax_step.py", "serve", model.source, MICROBATCHES]
        environment = {**model.environment, "BENCH_UNROLL": str(int(model.unrolled)), **(ONE_CORE if cores == "0" else {})}
        if shards:
            count = len(cores.split(","))
            environment |= {"BENCH_SHARDS": shards, "XLA_FLAGS": f"--xla_force_host_platform_device_count={count}"}
        return Peer("jax", [command], self.work / "jax.log", environment)

    def jax_says(self, what, model, *more):
        """The output of the JAX peer for `compile`, `memory` or `export`."""
        return call([self.python, PEERS / "jax_step.py", what, model.source, MICROBATCHES, *more], model.environment)

    def iree(self, model, cores):
        """Compiled again only if the step that JAX exports has changed."""
        python, prefix = environments.python(environments.IREE), self.work / f"{model.name}.iree"
        step, built = pathlib.Path(f"{prefix}.stablehlo.mlir"), pathlib.Path(f"{prefix}.vmfb")
        before = step.read_text() if step.exists() and built.exists() else None
        self.jax_says("export", model, prefix)
        if step.read_text() != before:
            built.unlink(missing_ok=True)
            self.say(f"  compiling {model.name} by IREE")
            try:
                call([python, PEERS / "iree_step.py", "compile", prefix])
            except Failure as failure:
                reason = re.search(r"error: (.{,200})", str(failure))
                raise CannotDo(f"IREE does not compile it: {reason[1] if reason else failure}") from failure
        count = len(cores.split(","))
        return Peer("iree", [["taskset", "-c", cores, python, PEERS / "iree_step.py", "serve", prefix, count]],
                    self.work / "iree.log")

    def torch(self, model, ranks, schedule="1f1b", microbatches=MICROBATCHES):
        """One process per rank, each with one thread on its own core."""
        python = environments.python(environments.TORCH)
        sizes = [model.sizes[name] for name in "VDHLTB"] + [microbatches, schedule]
        commands = [["taskset", "-c", rank, python, PEERS / "torch_pipelining.py", *sizes] for rank in range(ranks)]
        told = [{"RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(29511 + microbatches),
                 "OMP_NUM_THREADS": "1"} for rank in range(ranks)]
        return Peer("torch", commands, self.work / "torch.log", told)

    def torch_messages(self, sizes):
        """Two processes that send messages back and forth; a turn's seconds are by size."""
        python = environments.python(environments.TORCH)
        commands = [["taskset", "-c", rank, python, PEERS / "torch_messages.py", *sizes] for rank in range(2)]
        told = [{"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29513",
                 "OMP_NUM_THREADS": "1"} for rank in range(2)]
        return Peer("torch", commands, self.work / "torch-messages.log", told)

    def compare(self, title, make):
        """Runs sides in turns; `make` are functions that create them, ours first. Returns {peer's name: Ratio}; a peer that
        raises CannotDo is left out."""
        options = self.options
        with contextlib.ExitStack() as open_sides:
            sides = []
            for one in make:
                try:
                    sides.append(one())
                    open_sides.callback(sides[-1].close)
                except CannotDo as failure:
                    self.say(f"  {title}: {failure}")
            if wrong := [side.name for side in sides if side.loss is not None and not agree(side.loss, sides[0].loss)]:
                self.say(f"  {title}: loss of {', '.join(wrong)} is not ours")
                raise ValueError(f"the sides of '{title}' do not compute the same: "
                                 f"{', '.join(f'{side.name} {side.loss}' for side in sides)}")
            taken = turns.take(sides, self.say, title, options.rounds, 3 * options.rounds, options.turn, options.spread)
        ours, *peers = sides
        return {peer.name: ratio.compare(taken[ours.name], taken[peer.name], options.spread) for peer in peers}

    def note(self, result, table, title, found, want, key=None):
        """Records a comparison as a row of a table, as `ratios[key]`, and prints it; `want` is its limit."""
        wanted = result.want(title, found.value, want)
        table.rows.append(ratio_row(title, found, wanted))
        result.comparisons[title] = found.json()
        if key:
            result.ratios[key] = found.value
        shown = f"ratio {found.value:.3f}, of least times {found.least:.3f}" if found.value else f"no ratio: {found.refused}"
        self.say(f"{title}: {shown} (limit {wanted})")
        if found.refused:
            again = "".join(f" --model {name}" for name in self.options.models if title.startswith(f"{name},"))
            self.say(f"  let the machine be idle, then: ./dev bench {result.name}{again} --rounds {2 * self.options.rounds}")


def agree(a, b):
    return abs(a - b) <= 1e-4 * abs(b)
