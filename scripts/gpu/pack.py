"""Makes the folder that is carried to a machine with a GPU: pp-run with its libraries, artifacts, the models' sources."""

import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import cases

MOST_BYTES = 60 << 20
# What every Linux has and what belongs to its kernel or loader; the rest of what pp-run needs is carried.
OF_THE_SYSTEM = re.compile(r"^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread)[.\-]")


def libraries(program):
    """Paths of the shared libraries that a program needs beyond the system's."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in listed.splitlines():
        name, _, path = line.strip().partition(" => ")
        if "not found" in line:
            raise SystemExit(f"{program} needs {name.split()[0]}, which is not here: build it again")
        if path and not OF_THE_SYSTEM.match(name):
            found[name] = path.split(" (")[0]
    return found


def compile_case(case, build, root, target):
    """Imports the model and compiles it; the error's text where that fails. What the import writes does not stay."""
    with tempfile.TemporaryDirectory() as folder:
        return compile_in(pathlib.Path(folder), case, build, root, target)


def compile_in(folder, case, build, root, target):
    module = folder / "step.mlir"
    environment = {**os.environ, **case.environment, "PYTHONPATH": str(root / "python"), "JAX_PLATFORMS": "cpu"}
    python = root / "build/venv/bin/python"  # of ./dev setup, with JAX
    commands = [[python if python.exists() else sys.executable, "-m", "stagewright", "import", "jax", root / "test/Integration/models" / case.model, "-o", module],
                [build / "bin/pp-compile", module, "--target=cuda", f"--cluster=local:{case.stages}", f"--stages={case.stages}",
                 f"--schedule={case.schedule}", f"--microbatches={case.microbatches}", "--target-cpu=x86-64-v3", "-o", target],
                [build / "bin/pp-run", target, "--dry-run"]]
    for command in commands:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment)
        if done.returncode:
            target.unlink(missing_ok=True)
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            return lines[-1 if lines[0].startswith("Traceback") else 0]  # Python says what it was at the end
    return None


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def make(bundle, build, root):
    """The folder at `bundle`; 0 if everything compiled, 1 if some cases did not (they are listed)."""
    if bundle.exists() and not (bundle / "cases.json").exists():
        raise SystemExit(f"{bundle} exists and is no bundle; name another folder")
    shutil.rmtree(bundle, ignore_errors=True)
    for folder in ("bin", "lib", "artifacts", "models"):
        (bundle / folder).mkdir(parents=True)
    shutil.copy2(build / "bin/pp-run", bundle / "bin")
    for name, path in libraries(build / "bin/pp-run").items():
        shutil.copy2(path, bundle / "lib" / name)
    shutil.copy2(root / "scripts/gpu-check", bundle)
    shutil.copytree(root / "scripts/gpu", bundle / "gpu", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (root / "test/Integration/models").glob("*.py"):
        shutil.copy2(path, bundle / "models")
    shutil.copy2(root / "test/Integration/golden.py", bundle / "gpu")

    table = []
    for case in cases.ALL:
        problem = compile_case(case, build, root, bundle / "artifacts" / f"{case.name}.swx")
        print(f"{case.name}: {problem or 'compiled and proved'}", flush=True)
        table.append({**dataclasses.asdict(case), "problem": problem})
    (bundle / "cases.json").write_text(json.dumps(table, indent=1) + "\n")
    bytes_ = size_of(bundle)
    print(f"{bundle}: {bytes_ / 2**20:.1f} MiB, {sum(not row['problem'] for row in table)} of {len(table)} cases")
    if bytes_ > MOST_BYTES:
        raise SystemExit(f"{bundle} has {bytes_} bytes, more than the {MOST_BYTES} that can be carried")
    return int(any(row["problem"] for row in table))
