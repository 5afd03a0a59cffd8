"""Runs training steps of the libraries that people use, as a new user would, and compares each with JAX.

    python suite.py --report=models.json                  all of them
    python suite.py flax-linen/* --dtype=float32          some of them, by patterns of their names
    python suite.py --sample                              those that the ordinary tests run
    python suite.py flax-nnx/mlp --keep=FOLDER            leaves module, artifact and inputs in the folder

Every step is imported, compiled for 1 stage, for 2, for the planner's choice on two devices, with all layers split over two
shards, the same in two stages, and for a GPU (on the emulator), and runs two different microbatches. A step that crashes or hangs
does not affect others. Exit code 1: a wrong number, a crash, a time-out, a step that JAX itself cannot run, or too few that equal
JAX."""

import argparse
import collections
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "Integration"))

from emulator import MISSING, emulated  # noqa: E402

ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", ROOT / "build"))
EQUAL_AT_LEAST = 0.97  # of all outcomes, besides steps that must be refused
STEPS_PER_WORKER = 60  # a new worker frees what libraries and JAX keep
GRAVE = ("wrong number", "crash", "time-out", "invalid", "not refused")


def options(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("patterns", nargs="*", metavar="NAME", help="steps whose names match these patterns (default: all)")
    parser.add_argument("--sample", action="store_true", help="only steps of the sample")
    parser.add_argument("--dtype", help="run steps only in this type")
    parser.add_argument("--stages", help="compile only in these ways, separated by commas: 1, 2, auto, shards, groups, gpu")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="steps at a time (default: all processors)")
    parser.add_argument("--seconds", type=float, default=240, help="time limit of a step in one type (default: 240)")
    parser.add_argument("--report", type=pathlib.Path, help="write the outcomes to this file, as JSON")
    parser.add_argument("--merge", action="store_true", help="keep what the report has of other steps")
    parser.add_argument("--resume", action="store_true", help="run what the report lacks, after a run that was cut off")
    parser.add_argument("--table", type=pathlib.Path, help="write the outcomes to this file, as a page of Markdown")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="keep the files of every step")
    parser.set_defaults(before={})
    return parser.parse_args(arguments)


class Worker:
    """A process of worker.py, replaced if it crashes or hangs."""

    def __init__(self, log):
        self.log, self.process, self.count = log, None, 0

    def start(self, *arguments):
        paths = [BUILD / "python", ROOT / "python", *filter(None, [os.environ.get("PYTHONPATH")])]
        self.count, self.process = 0, subprocess.Popen(
            [sys.executable, HERE / "worker.py", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self.log, text=True, start_new_session=True,
            env={**os.environ, **emulated(), "STAGEWRIGHT_BUILD": str(BUILD), "PYTHONPATH": os.pathsep.join(map(str, paths))})

    def stop(self):
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process = None

    def ask(self, request, seconds):
        """(outcomes by stages, facts about the step)."""
        if self.process is None or self.count >= STEPS_PER_WORKER:
            self.stop()
            self.start()
        self.count += 1
        outcomes, late = {}, threading.Event()
        timer = threading.Timer(seconds, lambda: (late.set(), os.killpg(self.process.pid, signal.SIGKILL)))
        timer.start()
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            while line := self.process.stdout.readline():
                answer = json.loads(line)
                if "done" in answer:
                    return outcomes, answer["done"]
                outcomes[answer["stages"]] = answer["outcome"]
        except BrokenPipeError:
            pass
        finally:
            timer.cancel()
        code = self.process.wait()
        self.stop()
        lost = dict(kind="time-out", message=f"not done after {seconds:.0f} s", seconds=seconds) if late.is_set() else \
            dict(kind="crash", message=f"the process of the importer ended with code {code}", seconds=0)
        return {**{stages: lost for stages in request["stages"]}, **outcomes}, {}


def catalog(libraries):
    """The entries of libraries, by name. A library that cannot be imported is an error."""
    with tempfile.TemporaryFile("w+") as log:
        worker = Worker(log)
        worker.start("--list", *libraries)
        lines = worker.process.stdout.read().splitlines()
        if worker.process.wait() or len(lines) != len(libraries):
            log.seek(0)
            failed = libraries[len(lines)] if len(lines) < len(libraries) else "?"
            sys.exit(f"error: the steps of '{failed}' cannot be loaded:\n{log.read()[-3000:]}")
    return {entry["name"]: entry for line in lines for entry in json.loads(line)}


def chosen(arguments):
    """(entry, dtype, stages) of every step to run."""
    names = sorted(path.stem.replace("_", "-") for path in (HERE / "steps").glob("[a-z]*.py"))
    patterns = arguments.patterns or ["*"]
    wanted = [n for n in names if any(fnmatch.fnmatch(n, p.split("/")[0]) for p in patterns)]
    for name, entry in catalog(wanted).items():
        if not any(fnmatch.fnmatch(name, p) for p in patterns) or arguments.sample and not entry["sample"]:
            continue
        for dtype in entry["dtypes"]:
            stages = [s for s in entry["stages"] if (not arguments.stages or s in arguments.stages.split(",")) and
                      not (s == "gpu" and MISSING)]
            if stages and arguments.dtype in (None, dtype):
                yield entry, dtype, stages


def judged(entry, outcome):
    """The outcome; its kind changes if the step must be refused: by whether it is, with the expected message."""
    if entry["refused"] and outcome["kind"] == "refused":
        expected = re.search(entry["refused"], outcome["message"])
        return {**outcome, "kind": "refused as expected" if expected else "refused"}
    if entry["refused"] and outcome["kind"] == "equal":
        return {**outcome, "kind": "not refused", "message": f"it should be refused ('{entry['refused']}'), but compiles"}
    return outcome


def run(arguments, tell=print):
    """The outcomes by "name dtype"; calls `tell` with a line for each as it finishes."""
    todo, results, lock = list(chosen(arguments)), {}, threading.Lock()
    if arguments.resume:
        todo = [(entry, dtype, stages) for entry, dtype, stages in todo if f"{entry['name']} {dtype}" not in arguments.before]
    workers, began = threading.local(), time.monotonic()
    everyone = []
    with tempfile.TemporaryDirectory(prefix="stagewright-models-") as temporary, open(os.devnull, "w") as log:
        folder = (arguments.keep or pathlib.Path(temporary)).resolve()

        def one(job):
            entry, dtype, stages = job
            if not hasattr(workers, "mine"):
                workers.mine = Worker(log)
                everyone.append(workers.mine)
            request = dict(step=entry["name"], dtype=dtype, stages=stages, keep=bool(arguments.keep),
                           directory=str(folder / entry["name"].replace("/", "-") / dtype))
            outcomes, about = workers.mine.ask(request, arguments.seconds)
            outcomes = {s: judged(entry, o) for s, o in outcomes.items()}
            with lock:
                results[f"{entry['name']} {dtype}"] = dict(name=entry["name"], dtype=dtype, stages=outcomes, **about)
                write(arguments, results)
                tell(f"[{len(results)}/{len(todo)} {time.monotonic() - began:.0f} s] {entry['name']} {dtype}: "
                     f"{brief(outcomes)}")
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            try:
                list(pool.map(one, todo))
            finally:
                for worker in everyone:
                    worker.stop()
    return results


def write(arguments, results):
    """Writes the report so far, and keeps its earlier results of other steps."""
    if arguments.report:
        draft = arguments.report.with_name(f".{arguments.report.name}.writing")  # a run may be interrupted at any time
        draft.write_text(json.dumps({**arguments.before, **results}, indent=1, sort_keys=True) + "\n")
        os.replace(draft, arguments.report)


def brief(outcomes):
    """One line for the outcomes of a step."""
    kinds = list(dict.fromkeys(o["kind"] for o in outcomes.values()))
    text = kinds[0] if len(kinds) == 1 else ", ".join(f"{s}: {o['kind']}" for s, o in outcomes.items())
    message = next((o["message"] for o in outcomes.values() if o["kind"] not in ("equal", "refused as expected")), "")
    lines = [line for line in message.splitlines() if line.strip()]
    last = lines and lines[0].startswith("Traceback")
    return f"{text}{' | ' + (lines[-1] if last else lines[0])[:200] if lines else ''}"


def verdict(results):
    """(counts of outcomes by kind, whether the suite passes)."""
    counts = collections.Counter(o["kind"] for r in results.values() for o in r["stages"].values())
    total = sum(counts.values()) - counts["refused as expected"]
    good = not any(counts[k] for k in GRAVE) and counts["equal"] >= EQUAL_AT_LEAST * total
    return counts, bool(good and sum(counts.values()))


def main():
    arguments = options()
    if not (BUILD / "bin/pp-compile").exists():
        sys.exit(f"error: '{BUILD}' has no bin/pp-compile; run ./dev build, or set STAGEWRIGHT_BUILD to a folder with a build")
    if (arguments.merge or arguments.resume) and arguments.report and arguments.report.exists():
        arguments.before = json.loads(arguments.report.read_text())
    results = run(arguments, lambda line: print(line, flush=True))
    if arguments.table:
        from table import page
        arguments.table.write_text(page(json.loads(arguments.report.read_text()) if arguments.report else results))
    counts, good = verdict(results)
    print(", ".join(f"{count} {kind}" for kind, count in counts.most_common()) or "no step has such a name")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
