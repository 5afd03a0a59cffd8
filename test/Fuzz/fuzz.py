"""Runs random JAX programs through the importer, the compiler and the runtime, and compares with `jax.jit`.

    python fuzz.py --programs 100 --seed 1      programs 0 to 99 of this seed
    python fuzz.py --seed 17 --only 4,9         some programs of one seed again
    python fuzz.py --file FILE.py               one program from a file, such as a kept failure

Every program has 2 different microbatches and 1 to 3 stages; most have gradients of all their parameters. A wrong number, a
crash and a refusal are failures; each is written to the failures folder as a stand-alone file, the first few shrunk. A program
whose results depend on rounding is "unclear". Without --seed, half of the programs are of seed 1 and half of a new seed, which
is printed. Unless --only or --file is given, the programs under kept/ (earlier failures) run first."""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import queue
import random
import shutil
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_TRACEBACK_FILTERING", "off")
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
import jax  # noqa: E402

import survive  # noqa: E402
from generate import generate  # noqa: E402
from minimise import minimise  # noqa: E402
from pipeline import BUILD, Pipeline  # noqa: E402
from trial import conclude, execute, prepare, title  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
NO_VERDICT = ("unclear", "known", "invalid")
MOST_WITHOUT_VERDICT = 0.2  # of all programs: more could hide failures
LAST = 4 * 10**6  # program N is replaced by N + 10**6 and so on, up to this number


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=100, metavar="N", help="how many programs (default: 100)")
    parser.add_argument("--seed", type=int,
                        help="seed of all programs (default: 1 for half of them, a random one for the rest)")
    parser.add_argument("--only", help="run only the programs with these numbers, separated by commas")
    parser.add_argument("--families", help="use only operations of these files of operations/, separated by commas")
    parser.add_argument("--file", action="append", help="run this file instead of random programs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1,
                        help="programs at a time (default: the number of processors)")
    parser.add_argument("--failures", default=str(BUILD / "fuzz"), help="where failures go (default: build/fuzz)")
    parser.add_argument("--minimise", type=int, default=5, metavar="N", help="how many failures are shrunk (default: 5)")
    parser.add_argument("--gpu", action="store_true", help="compile for a GPU, and run on the emulator (test/Cuda)")
    parser.add_argument("--upstream", action="store_true", help="compile with MLIR's own passes, to test only the importer")
    parser.add_argument("--report", help="write the counts to this file, as JSON")
    return parser.parse_args()


def programs(arguments):
    """([(name, text of a file)], [(seed, number)]): the files run first."""
    if arguments.file:
        return [(pathlib.Path(file).stem, pathlib.Path(file).read_text()) for file in arguments.file], []
    kept = [(f"kept-{file.stem}", file.read_text()) for file in sorted((HERE / "kept").glob("*.py"))]
    if arguments.only:
        return [], [(arguments.seed or 1, int(n)) for n in arguments.only.split(",")]
    if arguments.seed is not None:
        return kept, [(arguments.seed, n) for n in range(arguments.programs)]
    drawn = random.SystemRandom().randrange(10**6)
    half = arguments.programs // 2
    print(f"seeds 1 ({half} programs) and {drawn} ({arguments.programs - half} programs, drawn now)", flush=True)
    return kept, [(1, n) for n in range(half)] + [(drawn, n) for n in range(arguments.programs - half)]


class Fuzzer:
    def __init__(self, arguments, directory):
        self.arguments, self.directory = arguments, directory
        self.pipelines = queue.SimpleQueue()
        self.made = [Pipeline(arguments.upstream, arguments.gpu) for _ in range(arguments.jobs)]
        for pipeline in self.made:
            self.pipelines.put(pipeline)
        self.pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)

    def close(self):
        self.pool.shutdown()
        for pipeline in self.made:
            pipeline.close()

    def execute(self, trial):
        pipeline = self.pipelines.get()
        try:
            return execute(trial, pipeline)
        finally:
            self.pipelines.put(pipeline)

    def outcomes(self, keys, at):
        """Yields (key, name, program, outcome, replacement's key) of each program, in order. JAX runs in this thread, after a
        call of `at`, while other programs are compiled and run.

        A program without a verdict is replaced by another one of its seed.
        """
        families = self.arguments.families.split(",") if self.arguments.families else None
        todo, waiting, started = collections.deque(keys), collections.deque(), 0
        while todo or waiting:
            if todo and len(waiting) <= 2 * self.arguments.jobs:
                key = todo.popleft()
                name, program = key if isinstance(key[0], str) else (f"{key[0]}-{key[1]}", generate(*key, families))
                at(key, name)
                trial = prepare(program, self.directory / name, f"Program {name}: ")
                waiting.append((key, name, trial, trial.outcome or self.pool.submit(self.execute, trial)))
                started += 1
                if started % 50 == 0:
                    jax.clear_caches()
                continue
            key, name, trial, made = waiting.popleft()
            if not trial.outcome:
                made = made.result()
                at(key, name)
            outcome = trial.outcome or conclude(trial, made)
            shutil.rmtree(trial.directory)
            again = outcome.kind in NO_VERDICT and not isinstance(key[0], str) and key[1] < LAST
            instead = (key[0], key[1] + 10**6) if again and not self.arguments.only else None
            todo.extend([instead] if instead else [])
            yield key, name, trial.program, outcome, instead

    def outcome(self, program, name="again"):
        """The outcome of one program, computed in this thread."""
        trial = prepare(program, self.directory / name)
        outcome = trial.outcome or conclude(trial, self.execute(trial))
        shutil.rmtree(trial.directory)
        return outcome

    def shrink(self, program, outcome):
        return minimise(program, lambda p: self.outcome(p, "smaller").signature() == outcome.signature())


def runner(arguments, directory):
    """A function that runs programs with a Fuzzer of its own; called once in each process."""
    def run(keys, at):
        fuzzer = Fuzzer(arguments, pathlib.Path(directory))
        yield from fuzzer.outcomes(keys, at)
        fuzzer.close()
    return run


def brief(outcome):
    """The most informative line of a message."""
    lines = [line for line in outcome.message.splitlines() if line.strip()]
    return (lines[-1] if lines and "Traceback" in outcome.message or 'File "' in outcome.message else lines[0])[:300]


def report_failure(fuzzer, name, program, outcome, shrink):
    """Writes a failure to the folder, shrunk if `shrink`; returns (path, outcome)."""
    folder = pathlib.Path(fuzzer.arguments.failures)
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(program, str):
        text = program
    else:
        from source import live, written
        smaller = (shrink and fuzzer.shrink(program, outcome)) or live(program)
        again = fuzzer.outcome(smaller)
        outcome = again if again.failed() else outcome
        text = written(smaller, title(smaller, f"Program {name}: ")).text
    path = folder / f"{name}.py"
    path.write_text(text + "".join(f"# {line}\n" for line in f"{outcome.kind}, {outcome.where}: "
                                   f"{outcome.message}".splitlines()[:30]))
    return path, outcome


def main():
    arguments = options()
    began, counts, failures = time.monotonic(), collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="stagewright-fuzz-") as directory:
        files, numbers = programs(arguments)
        for name, program, outcome in survive.outcomes([*files, *numbers], runner(arguments, directory)):
            counts[outcome.kind] += 1
            if outcome.failed():
                failures.append((name, program, outcome))
                print(f"program {name}: {outcome.kind} in {outcome.where}: {brief(outcome)}", flush=True)
            elif arguments.file or arguments.only:
                print(f"program {name}: {outcome.kind} {outcome.message}", flush=True)
            total = sum(counts.values())
            if total % 50 == 0:
                print(f"{total} programs, {time.monotonic() - began:.0f} s: {dict(counts)}", flush=True)
        fuzzer = Fuzzer(arguments, pathlib.Path(directory))
        seen = collections.Counter()
        for name, program, outcome in failures:
            kind = outcome.signature()
            seen[kind] += 1
            shrink = seen[kind] == 1 and len(seen) <= arguments.minimise
            path, outcome = report_failure(fuzzer, name, program, outcome, shrink)
            print(f"{path}:program: {outcome.kind} in {outcome.where}: {brief(outcome)}", flush=True)
        fuzzer.close()
    total, failed = sum(counts.values()), sum(counts[k] for k in ("wrong", "crash", "refused"))
    without = sum(counts[k] for k in NO_VERDICT)
    if without > max(5, MOST_WITHOUT_VERDICT * total):
        print(f"{without} of {total} programs gave no verdict: too many")
        failed += 1
    if arguments.report:
        pathlib.Path(arguments.report).write_text(json.dumps(dict(passed=counts["passed"], failed=failed, skipped=0)))
    print(f"{dict(counts)} in {time.monotonic() - began:.0f} s", flush=True)
    return 1 if failed or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
