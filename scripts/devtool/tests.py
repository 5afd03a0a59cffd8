"""Runs and counts the tests of every kind: each runner writes a report, and the last line sums the reports.

Kinds: unit (GoogleTest binaries), lit (test/**/*.mlir, *.test), python (test/**/test_*.py), consumer (a project built against
an installed tree), wheel (the wheel in a fresh environment), fuzz (random programs, test/Fuzz; one test each), models (training
steps of third-party libraries, test/Models, in an environment of their own; one test for each step, type and number of stages),
torch (models of PyTorch, test/Models/pytorch, in another environment), onnx (the same as ONNX files, test/Models/onnx),
thorough (the Python tests on models, types, stages and runs that python omits). `build/reports/<preset>.json` keeps the counts
for .ci/run."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

from . import setup
from . import wheel as wheels
from .console import BUILD, ROOT, Failure, Progress, capture, say, stream

LIT = "/usr/lib/llvm-22/bin/lit"
MODELS = BUILD / "models-venv"
TORCH = BUILD / "torch-venv"


class Count:
    """How many tests passed, failed and were skipped."""

    def __init__(self, passed=0, failed=0, skipped=0):
        self.passed, self.failed, self.skipped = passed, failed, skipped

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed" + (f", {self.skipped} skipped" if self.skipped else "")


def sanitizers():
    """Options of the sanitizers' runtimes. LLVM and MLIR are not instrumented, so containers passed to them are not annotated
    on both sides: overflow inside a container's capacity and use of an arena's free bytes are not checked."""
    return {"ASAN_OPTIONS": "allow_user_poisoning=0:detect_container_overflow=0:detect_leaks=0:strict_string_checks=1",
            "UBSAN_OPTIONS": "print_stacktrace=1", "TSAN_OPTIONS": "second_deadlock_stack=1"}


def unit(preset, part):
    """Runs every GoogleTest binary that CMake registers as a test, each with a report: as many at a time as there are
    processors, those with the highest COST first."""
    listed = json.loads(capture(["ctest", "--test-dir", setup.tree(preset), "--show-only=json-v1"]))

    def cost(test):
        return max((p["value"] for p in test["properties"] if p["name"] == "COST"), default=0)

    entries = sorted((t for t in listed["tests"] if "command" in t), key=cost, reverse=True)
    count, progress = Count(), Progress("Unit tests")
    reports = setup.tree(preset) / "reports"
    reports.mkdir(exist_ok=True)

    def run_one(test):
        report = reports / f"{test['name']}.json"
        report.unlink(missing_ok=True)
        command = test["command"] + ([f"--gtest_filter=*{part}*"] if part else [])
        return _binary(test["name"], command, setup.tree(preset), report)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        tests = {pool.submit(run_one, test): test["name"] for test in entries}
        for index, done in enumerate(concurrent.futures.as_completed(tests), 1):
            count.add(done.result())
            progress.update(f"[{index}/{len(entries)}] {tests[done]}")
    progress.done(str(count))
    return count


def _binary(name, command, directory, report, timeout=900):
    """Runs one binary; a timeout or a missing report is also a failure."""
    try:
        result = subprocess.run(command, cwd=directory, env={**_environment(), "GTEST_OUTPUT": f"json:{report}"},
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                                timeout=timeout)
    except subprocess.TimeoutExpired:
        say(f"\n{name} failed: not done after {timeout} s")
        return Count(failed=1)
    count = _gtest(report) if report.exists() else Count(failed=1)
    if result.returncode and not count.failed:
        count.failed = 1
    if count.failed:
        why = f"exit {result.returncode}" if report.exists() else f"exit {result.returncode}, no report"
        say(f"\n{name} failed ({why}):\n{(result.stdout + result.stderr)[-6000:]}")
    return count


def _gtest(report):
    data = json.loads(report.read_text())
    cases = [c for suite in data["testsuites"] for c in suite["testsuite"] if c["status"] == "RUN"]
    failed = sum("failures" in c for c in cases)
    skipped = sum(c.get("result") == "SKIPPED" for c in cases)
    return Count(len(cases) - failed - skipped, failed, skipped)


def lit(preset, part):
    """Runs the lit suite of the build, with lit's own report."""
    suite = setup.tree(preset) / "test"
    if not (suite / "lit.site.cfg.py").exists():
        return Count()
    report = setup.tree(preset) / "reports" / "lit.json"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    command = [LIT, "-v", "--no-progress-bar", "-o", report, *(["--filter", part] if part else []), suite]

    def watch(line):
        match = re.match(r"\w+: Stagewright\S* :: (\S+) \((\d+ of \d+)\)", line)
        return f"[{match[2].replace(' of ', '/')}] {match[1]}" if match else None

    try:
        stream("Lit tests", command, watch, env=_environment(), keep=report.with_suffix(".log"))
    except Failure:
        if not report.exists():
            raise
        print(_lit_failures(report), flush=True)
    tests = json.loads(report.read_text())["tests"] if report.exists() else []
    passed = sum(t["code"] in ("PASS", "XFAIL", "FLAKYPASS") for t in tests)
    unsupported = [t for t in tests if t["code"] in ("UNSUPPORTED", "SKIPPED", "EXCLUDED")]
    required = [t["name"] for t in unsupported
                if "cuda-toolkit" in t["output"] and os.environ.get("STAGEWRIGHT_GPU_TESTS") == "required"]
    if required:
        say(f"tests of GPU code are required (STAGEWRIGHT_GPU_TESTS), but there is no ptxas for {', '.join(required)}")
    skipped = len(unsupported) - len(required)
    return Count(passed, len(tests) - passed - skipped, skipped)


def _lit_failures(report):
    tests = json.loads(report.read_text())["tests"]
    return "\n".join(f"FAILED {t['name']}\n{t['output'][-3000:]}" for t in tests
                     if t["code"] not in ("PASS", "XFAIL", "FLAKYPASS", "UNSUPPORTED", "SKIPPED", "EXCLUDED"))


def python(preset, part):
    """Runs what pytest finds under test/, without the thorough tests: the importer's own tests and the integration tests."""
    if not any((ROOT / "test").rglob("test_*.py")):
        return Count()
    return _pytest(preset, part, "python", "Python tests", setup.PYTHON, ROOT / "test")


def thorough(preset, part):
    """Runs the Python tests on the models, types, stages and runs that `python` omits (test/tiers.py)."""
    return _pytest(preset, part, "thorough", "Thorough tests", setup.PYTHON, ROOT / "test", "--thorough")


def torch(preset, part):
    """Runs PyTorch models, in an environment that has it."""
    setup.environment(TORCH, "Environment of PyTorch", ROOT / "test/Models/pytorch/requirements.txt")
    return _pytest(preset, part, "torch", "PyTorch's models", TORCH / "bin" / "python", ROOT / "test/Models/pytorch")


def onnx(preset, part):
    """Runs models that PyTorch exports as ONNX files, in the same environment."""
    setup.environment(TORCH, "Environment of PyTorch", ROOT / "test/Models/pytorch/requirements.txt")
    return _pytest(preset, part, "onnx", "Exported models", TORCH / "bin" / "python", ROOT / "test/Models/onnx")


def _pytest(preset, part, kind, title, interpreter, *arguments):
    """Runs pytest, one test file per processor at a time, with its own report."""
    report = setup.tree(preset) / "reports" / f"{kind}.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    command = [interpreter, "-m", "pytest", "-v", "--color=no", "-p", "no:cacheprovider", "--durations=15",
               "-n", str(os.cpu_count() or 1), "--dist=loadfile", "--no-loadscope-reorder", f"--junitxml={report}", "--rootdir", ROOT,
               *(["-k", part] if part else []), *arguments]

    def watch(line):
        match = re.match(r"\[gw\d+\] (\[\s*\d+%\]) (PASSED|FAILED|ERROR|SKIPPED|XFAIL) (.*::.*)", line)
        return f"{match[1]} {match[3].rsplit('/', 1)[-1].strip()}" if match else None

    try:
        stream(title, command, watch, keep=report.with_suffix(".log"),
               env={**_environment(), "STAGEWRIGHT_BUILD": str(setup.tree(preset)),
                    "STAGEWRIGHT_PYTHON": _cached(preset, "STAGEWRIGHT_PYTHON")})
    except Failure:
        if not report.exists():
            raise
    suite = ElementTree.parse(report).getroot().find("testsuite")
    number = {k: int(suite.get(k, 0)) for k in ("tests", "failures", "errors", "skipped")}
    failed = number["failures"] + number["errors"]
    return Count(number["tests"] - failed - number["skipped"], failed, number["skipped"])


def consumer(preset, part):
    """Installs the build under a fresh prefix and builds and runs test/Consumer against it."""
    prefix, work = setup.tree(preset) / "consumer/prefix", setup.tree(preset) / "consumer/build"
    shutil.rmtree(prefix.parent, ignore_errors=True)
    base = [a for a in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"] if a["name"] == "base"][0]
    cache = [f"-D{name}={value}" for name, value in base["cacheVariables"].items()]
    steps = [["cmake", "--install", setup.tree(preset), "--prefix", prefix],
             ["cmake", "-G", "Ninja", "-S", ROOT / "test/Consumer", "-B", work, "-DCMAKE_BUILD_TYPE=Release",
              f"-DCMAKE_PREFIX_PATH={prefix}", *cache],
             ["ninja", "-C", work], ["ctest", "--test-dir", work, "--output-on-failure"]]
    progress = Progress("Consumer project")
    try:
        for index, step in enumerate(steps, 1):
            progress.update(f"[{index}/{len(steps)}] {step[0]}")
            capture(step, env=setup.compiler_cache())
    except Failure as failure:
        progress.done("FAILED")
        say(failure)
        return Count(failed=1)
    progress.done()
    return Count(passed=1)


def wheel(_preset, _part):
    """Builds the wheel and uses it in a fresh environment, without access to the tree and its tools."""
    place = wheels.PLACE / "test"
    step = ROOT / "test/Dialect/Pipeline/form-graph-factors.mlir"
    script = ("import stagewright, numpy as np; step = stagewright.load('step.swx'); "
              "loss, gradient = step.run([np.ones((4, 8), np.float32), np.ones((1, 16, 4), np.float32)]); "
              "assert gradient.shape == (4, 8) and np.isfinite(loss).all()")
    try:
        built = wheels.build(BUILD / "wheels")
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        capture([sys.executable, "-m", "venv", place / "venv"])
        tools = place / "venv/bin"
        alone = {"PATH": f"{tools}:/usr/bin:/bin", "PYTHONPATH": "", "LD_LIBRARY_PATH": ""}
        for command in ([tools / "pip", "install", "--disable-pip-version-check", built], [tools / "stagewright", "--help"],
                        [tools / "pp-compile", step, "--cluster=local:1", "--microbatches=1", "-o", "step.swx"],
                        [tools / "pp-run", "step.swx", "--init=1"], [tools / "python", "-c", script]):
            capture(command, env=alone, cwd=place)
        used = capture(["ldd", next((place / "venv/lib").glob("python3*/site-packages/stagewright/native/bin/pp-compile"))])
        if "/usr/lib/llvm" in used:
            raise Failure(f"the wheel's pp-compile uses the machine's LLVM:\n{used}")
    except Failure as failure:
        say(failure)
        return Count(failed=1)
    return Count(passed=1)


def fuzz(preset, _part, programs=100, seed=None):
    """Compares random programs with JAX, each a test; failing ones are reduced and kept under fuzz/ of the build."""
    report = setup.tree(preset) / "reports" / "fuzz.json"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    command = [setup.PYTHON, ROOT / "test/Fuzz/fuzz.py", "--programs", programs, "--report", report,
               *(["--seed", seed] if seed is not None else [])]

    def watch(line):
        if line.startswith(("seeds ", "program ", "/")):
            say(line)
        match = re.match(r"(\d+) programs, ", line)
        return f"[{match[1]}/{programs}]" if match else None

    try:
        stream("Random programs", list(map(str, command)), watch, keep=report.with_suffix(".log"),
               env={**_environment(), "STAGEWRIGHT_BUILD": str(setup.tree(preset))})
    except Failure:
        if not report.exists():
            raise
    return Count(**json.loads(report.read_text()))


def models(preset, part):
    """Runs the whole suite of training steps. Results are kept in docs/models.md, unless only a part has run."""
    setup.environment(MODELS, "Environment of the models", ROOT / "test/Models/requirements.txt",
                      ROOT / "test/Models/requirements-alone.txt")
    report = setup.tree(preset) / "reports" / "models.json"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    command = [MODELS / "bin" / "python", ROOT / "test/Models/suite.py", "--report", report,
               *([f"*{part}*"] if part else ["--table", ROOT / "docs/models.md"])]

    def watch(line):
        match = re.match(r"\[(\d+/\d+) \d+ s\] (\S+ \w+): (.*)", line)
        if match and match[3] not in ("equal", "refused as expected"):
            say(f"{match[2]}: {match[3]}")
        return f"[{match[1]}] {match[2]}" if match else None

    try:
        stream("Models", command, watch, keep=report.with_suffix(".log"),
               env={**_environment(), "STAGEWRIGHT_BUILD": str(setup.tree(preset))})
    except Failure:
        if not report.exists():
            raise
    kinds = [o["kind"] for entry in json.loads(report.read_text()).values() for o in entry["stages"].values()]
    good = sum(kind in ("equal", "refused as expected") for kind in kinds)
    return Count(good, len(kinds) - good)


KINDS = {"unit": unit, "lit": lit, "python": python, "consumer": consumer, "wheel": wheel, "fuzz": fuzz, "models": models,
         "thorough": thorough, "torch": torch, "onnx": onnx}
# The others run only when named.
DEFAULT = ("unit", "lit", "python", "consumer", "wheel", "fuzz")
# Of these, the ones that --filter selects from; each of the others is one test.
FILTERED = ("unit", "lit", "python")


def _cached(preset, name):
    """The value of an option in a build's CMake cache, empty if it has none."""
    found = re.search(rf"^{name}:\w+=(.*)$", (setup.tree(preset) / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found[1] if found else ""


def _environment():
    return {**os.environ, **sanitizers()}


def run(options):
    """Builds, runs the kinds asked for, prints `N passed, M failed` last."""
    kinds = options.kinds or [kind for kind in DEFAULT if kind in FILTERED or not options.filter]
    if unknown := [k for k in kinds if k not in KINDS]:
        raise Failure(f"no such kind of test: {' '.join(unknown)}; there are {', '.join(KINDS)}")
    setup.everything(options.preset)
    total, began = Count(), time.monotonic()
    counts = {}
    for kind in kinds:
        more = dict(programs=options.programs, seed=options.seed) if kind == "fuzz" else {}
        counts[kind] = KINDS[kind](options.preset, options.filter, **more)
        if not counts[kind].passed and (options.kinds or not options.filter):
            say(f"{kind}: no test passed, which counts as a failure")
            counts[kind].failed += 1
        total.add(counts[kind])
    report = BUILD / "reports" / f"{options.preset}.json"
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text(json.dumps({kind: vars(count) for kind, count in counts.items()}))
    say(f"{', '.join(f'{kind}: {count}' for kind, count in counts.items())} ({time.monotonic() - began:.0f} s)")
    say(str(total))
    return 1 if total.failed or not total.passed else 0
