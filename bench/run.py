#!/usr/bin/env python3
"""Measures Stagewright beside its peers on the machine it runs on, and prints ratios. `./dev bench` calls it.

The step is that of a GPT (vocabulary 512, width 256, 4 heads, 4 layers, sequence 128, microbatch 4) with 8 microbatches:
loss and gradients, accumulated. Runs of the two sides alternate, so that a slow minute of the machine meets both.

  jax      1 stage on one core beside jax.jit on the same core
  torch    2 stages on two cores beside torch.distributed.pipelining, 2 processes with one thread each (with --torch)
  growth   compile time of 24 and of 72 layers, with each pass's share
  predict  the step that pp-sim predicts from measured actions, beside the measured one, 2 stages on two cores
  planners seconds of the planners beside those of public programs, one core (bench/planners)
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SIZES, MICROBATCHES = dict(V=512, D=256, H=4, L=4, T=128, B=4), 8
PEER_SIZES = [str(n) for n in SIZES.values()] + [str(MICROBATCHES)]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "THREADS": "1",
              "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}


def output(command, **environment):
    done = subprocess.run([str(c) for c in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Bench:
    def __init__(self, options):
        self.options, self.work = options, options.build / "bench"
        self.work.mkdir(parents=True, exist_ok=True)

    def model(self, name, **sizes):
        path = self.work / f"{name}.mlir"
        text = ",".join(f"{k}={v}" for k, v in {**SIZES, **sizes}.items())
        output([self.options.python, "-m", "stagewright", "import", "jax",
                HERE.parent / "test/Integration/models/gpt.py:gpt", "-o", path], STAGEWRIGHT_GPT=text)
        return path

    def artifact(self, model, stages):
        path = model.with_suffix(f".{stages}.swx")
        output([self.options.build / "bin/pp-compile", model, f"--cluster=local:{stages}", f"--stages={stages}",
                f"--microbatches={MICROBATCHES}", "-o", path])
        return path

    def ours(self, artifact, model, cores):
        """(median, least) seconds of a step."""
        text = output(["taskset", "-c", cores, self.options.build / "bin/pp-run", artifact, "--repeat-microbatch",
                       f"--inputs={model.with_suffix('.inputs.safetensors')}", f"--steps={self.options.steps + 2}"])
        median, least = re.search(r"step +([0-9.]+) ms \(median of \d+, fastest ([0-9.]+) ms\)", text).groups()
        return float(median) / 1e3, float(least) / 1e3

    def peer(self, command):
        """(median, least) seconds of a step, from the JSON line that a peer's script prints last."""
        last = [line for line in output(command, **ONE_THREAD).splitlines() if line.startswith("{")][-1]
        return tuple(json.loads(last)[k] for k in ("median_s", "min_s"))

    def beside(self, title, limit, ours, peer):
        """Alternates both sides and prints the ratio of the medians and of the least times."""
        pairs = []
        for number in range(self.options.rounds):
            pairs.append((ours(), peer()))
            print(f"  {title}, round {number + 1}: ours {pairs[-1][0][0] * 1e3:.1f} ms, peer {pairs[-1][1][0] * 1e3:.1f} "
                  "ms", flush=True)
        medians = [statistics.median(p[side][0] for p in pairs) for side in (0, 1)]
        least = [min(p[side][1] for p in pairs) for side in (0, 1)]
        print(f"{title}: median {medians[0] * 1e3:.1f} / {medians[1] * 1e3:.1f} ms, ratio "
              f"{medians[0] / medians[1]:.2f}; least {least[0] * 1e3:.1f} / {least[1] * 1e3:.1f} ms, ratio "
              f"{least[0] / least[1]:.2f} (wanted: at most {limit})", flush=True)


def jax(bench):
    model = bench.model("gpt")
    artifact = bench.artifact(model, 1)
    bench.beside("1 stage beside jax.jit, one core", 0.75, lambda: bench.ours(artifact, model, "0"),
                 lambda: bench.peer(["taskset", "-c", "0", bench.options.python, HERE / "peers/jax_gpt_step.py",
                                     *PEER_SIZES, bench.options.steps]))


def torch(bench):
    model = bench.model("gpt")
    artifact = bench.artifact(model, 2)
    launch = bench.options.torch.parent / "torchrun"
    bench.beside("2 stages beside torch.distributed.pipelining, two cores", 0.8,
                 lambda: bench.ours(artifact, model, "0,1"),
                 lambda: bench.peer(["taskset", "-c", "0,1", launch, "--nproc-per-node", "2",
                                     HERE / "peers/torch_pipelining_gpt.py", *PEER_SIZES, "1f1b", bench.options.steps]))


def growth(bench):
    """Compile time with every pass's share, at two numbers of layers."""
    seconds = {}
    for layers in (24, 72):
        model = bench.model(f"gpt-{layers}", L=layers)
        began = time.monotonic()
        done = subprocess.run([bench.options.build / "bin/pp-compile", model, "--cluster=local:4",
                               f"--microbatches={MICROBATCHES}", "--timing", "-o", model.with_suffix(".swx")],
                              capture_output=True, text=True)
        seconds[layers] = time.monotonic() - began
        if done.returncode:
            sys.exit(f"error: {done.stdout}{done.stderr}")
        model.with_suffix(".timing.txt").write_text(done.stdout + done.stderr)
        print(f"compile {layers} layers: {seconds[layers]:.1f} s (each pass: {model.with_suffix('.timing.txt')})",
              flush=True)
    print(f"growth from 24 to 72 layers: {seconds[72] / seconds[24]:.2f} times (linear: 3.00; wanted: at most 3.60, "
          f"and under 60 s for 72 layers)", flush=True)


def predict(bench):
    """pp-run --profile measures actions, hops and the step; pp-sim --profile puts them together by the schedule."""
    model = bench.model("gpt")
    for schedule in ("gpipe", "1f1b", "zb-h1"):
        flags = ["--cluster=local:2", "--stages=2", f"--schedule={schedule}", f"--microbatches={MICROBATCHES}"]
        plan, artifact, profile = (model.with_suffix(f".{schedule}.{end}") for end in ("plan.mlir", "swx", "json"))
        compiler = bench.options.build / "bin/pp-compile"
        output([compiler, model, *flags, "--emit=schedule", "-o", plan])
        output([compiler, model, *flags, "-o", artifact])
        found = []
        for _ in range(bench.options.rounds):
            output(["taskset", "-c", "0,1", bench.options.build / "bin/pp-run", artifact, "--repeat-microbatch", "--pin",
                    f"--inputs={model.with_suffix('.inputs.safetensors')}", f"--steps={bench.options.steps + 2}",
                    f"--profile={profile}"])
            found.append(json.loads(output([bench.options.build / "bin/pp-sim", plan, f"--profile={profile}",
                                            "--json"]))["measured"])
        step = min(found, key=lambda one: one["step_s"])
        print(f"{schedule}: step {step['step_s'] * 1e3:.1f} ms, predicted {step['predicted_s'] * 1e3:.1f} ms "
              f"({100 * step['error']:+.1f} %; of all rounds "
              f"{', '.join(format(100 * one['error'], '+.1f') for one in found)}; wanted: within 10 %)", flush=True)


def planners(bench):
    """A program of its own, for it asks the dynamic program from inside."""
    done = subprocess.run(["taskset", "-c", "0", bench.options.build / "bin/bench-planners"])
    if done.returncode:
        sys.exit(f"error: bench-planners ended with {done.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="jax, torch, growth, predict, planners")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build tree")
    parser.add_argument("--python", type=pathlib.Path, required=True, help="a Python with JAX and Stagewright")
    parser.add_argument("--torch", type=pathlib.Path, help="a Python with torch")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=7, help="measured steps of one run; two more warm up")
    options = parser.parse_args()
    kinds = {"jax": jax, "torch": torch, "growth": growth, "predict": predict, "planners": planners}
    for name in options.what or [k for k in kinds if k != "torch" or options.torch]:
        kinds[name](Bench(options))


if __name__ == "__main__":
    main()
