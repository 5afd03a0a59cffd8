"""Makes the bundle for a GPU machine: pp-run with its libraries, artifacts, and the models' sources."""

import dataclasses
import json
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import cases
import slim

MOST_BYTES = 60 << 20
PROGRAMS = ("pp-run", "bench-graph")
# Libraries that pp-run opens from the runtime's folder.
OPENED = ("libstagewright-cudnn.so",)
# Libraries that every Linux has, or that belong to its kernel or loader; the bundle has all others that pp-run needs.
OF_THE_SYSTEM = re.compile(r"^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread)[.\-]")
# Compiler libraries: the machine may have newer ones, which other code in the same process needs.
OF_THE_COMPILER = re.compile(r"^(libstdc\+\+|libgcc_s)\.")


def libraries(program):
    """Paths of the shared libraries that a program needs besides the system's."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in listed.splitlines():
        name, _, path = line.strip().partition(" => ")
        if "not found" in line:
            raise SystemExit(f"{program} needs {name.split()[0]}, which is not here: build it again")
        if path and not OF_THE_SYSTEM.match(name):
            found[name] = path.split(" (")[0]
    return found


def first_problem(commands, environment):
    """The error text of the first command that fails."""
    for command in commands:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            return lines[-1 if lines[0].startswith("Traceback") else 0]  # Python prints the error last
    return None


def compile_case(case, build, root, bundle, device="cuda"):
    """Imports and compiles the model, proves the step, and compresses the artifact (to a twelfth of its size). Returns the
    error text if one of these fails. Files written by the import are removed."""
    target, plan = bundle / "artifacts" / f"{case.name}.swx", bundle / "plans" / f"{case.name}.mlir"
    python = root / "build/venv/bin/python"  # made by ./dev setup, with JAX
    environment = {**os.environ, **case.environment, "PYTHONPATH": str(root / "python"), "JAX_PLATFORMS": "cpu"}
    stages = f"--plan={case.plan}" if case.plan else f"--stages={case.stages}"
    flags = [f"--cluster={case.cluster or f'local:{case.stages}'}", stages, f"--schedule={case.schedule}", f"--microbatches={case.microbatches}",
             *case.flags]
    processor = ["--target-cpu=x86-64-v3"] if device == "cuda" else []  # Otherwise, code for this machine.
    with tempfile.TemporaryDirectory() as folder:
        module = pathlib.Path(folder) / "step.mlir"
        commands = [[python if python.exists() else sys.executable, "-m", "stagewright", "import", "jax",
                     root / "test/Integration/models" / case.model, "-o", module],
                    [build / "bin/pp-compile", module, f"--target={device}", *flags, *processor, "-o", target]]
        if device == "cuda":
            # In one process, sums by NCCL need a GPU for each rank.
            proofs = [["--processes"]] if "processes" in case.groups else []
            proofs += [[]] if case.groups != ("processes",) else []
            commands += [[build / "bin/pp-run", target, "--dry-run", *proof] for proof in proofs]
        if "profile" in case.groups:
            commands.append([build / "bin/pp-compile", module, *flags, "--quiet", "--emit=schedule", "-o", plan])
        problem = first_problem(commands, environment)
    if not problem:
        target.with_suffix(".swx.xz").write_bytes(lzma.compress(target.read_bytes()))
    target.unlink(missing_ok=True)
    return problem


def size_of(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def make(bundle, build, root, nccl=None, table=tuple(cases.ALL), device="cuda"):
    """Makes the folder `bundle` with the cases of a table and a reduced copy of the library `nccl`. Returns 0 if everything
    compiled, 1 if some cases did not (they are listed)."""
    if bundle.exists() and not (bundle / "cases.json").exists():
        raise SystemExit(f"{bundle} exists and is not a bundle; name another folder")
    shutil.rmtree(bundle, ignore_errors=True)
    for folder in ("bin", "lib/cpp", "artifacts", "models", "plans"):
        (bundle / folder).mkdir(parents=True)
    for program in PROGRAMS:
        if not (build / "bin" / program).exists():
            raise SystemExit(f"{build} has no bin/{program}: build it, with {', '.join(PROGRAMS)} and pp-compile")
        shutil.copy2(build / "bin" / program, bundle / "bin")
        for name, path in libraries(build / "bin" / program).items():
            shutil.copy2(path, bundle / ("lib/cpp" if OF_THE_COMPILER.match(name) else "lib") / name)
    for name in OPENED:
        for path in sorted(build.glob(f"lib/**/{name}"))[:1]:
            shutil.copy2(path, bundle / "lib")
    if nccl:
        slim.compress(nccl, bundle / "lib/libnccl.so.2.xz")
    shutil.copy2(root / "scripts/gpu-check", bundle)
    shutil.copytree(root / "scripts/gpu", bundle / "gpu", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (root / "test/Integration/models").glob("*.py"):
        shutil.copy2(path, bundle / "models")
    shutil.copy2(root / "test/Integration/golden.py", bundle / "gpu")

    written = []
    for case in table:
        problem = compile_case(case, build, root, bundle, device)
        print(f"{case.name}: {problem or 'compiled and proved'}", flush=True)
        written.append({**dataclasses.asdict(case), "problem": problem})
    (bundle / "cases.json").write_text(json.dumps(written, indent=1) + "\n")
    bytes_ = size_of(bundle)
    print(f"{bundle}: {bytes_ / 2**20:.1f} MiB, {sum(not row['problem'] for row in written)} of {len(written)} cases")
    if bytes_ > MOST_BYTES:
        raise SystemExit(f"{bundle} has {bytes_} bytes, more than the {MOST_BYTES} that can be carried")
    return int(any(row["problem"] for row in written))
