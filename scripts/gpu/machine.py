"""The machine with the GPU: whether there is one, where its libraries lie, and running pp-run on it."""

import importlib.util
import json
import os
import pathlib
import shutil
import subprocess

# Variable of the runtime, file, and the folder of PyPI's package below site-packages.
LIBRARIES = [("STAGEWRIGHT_CUBLASLT_LIBRARY", "libcublasLt.so.13", "nvidia/cu13/lib"),
             ("STAGEWRIGHT_NCCL_LIBRARY", "libnccl.so.2", "nvidia/nccl/lib"),
             ("STAGEWRIGHT_NVTX_LIBRARY", "libnvtx3interop.so.1", "nvidia/cu13/lib")]


class Skip(Exception):
    """What a section needs is not here."""


def gpus():
    """One line per GPU, as nvidia-smi tells; none where there is none."""
    if not shutil.which("nvidia-smi"):
        return []
    done = subprocess.run(["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"],
                          capture_output=True, text=True)
    return done.stdout.strip().splitlines() if done.returncode == 0 else []


def packages_folder():
    spec = importlib.util.find_spec("nvidia")
    return pathlib.Path(list(spec.submodule_search_locations)[0]).parent if spec else None


class Machine:
    def __init__(self, bundle, out):
        self.bundle, self.out = bundle, out
        self.cases = {row["name"]: row for row in json.loads((bundle / "cases.json").read_text())}
        self.environment = {**os.environ, "LD_LIBRARY_PATH": str(bundle / "lib")}
        folder = packages_folder()
        for variable, file, below in LIBRARIES:
            path = folder / below / file if folder else None
            if variable not in os.environ and path and path.exists():
                self.environment[variable] = str(path)

    def case(self, name):
        row = self.cases.get(name)
        if not row or row["problem"]:
            raise Skip(f"{name} was not compiled: {row['problem'] if row else 'it is not in the bundle'}")
        return row

    def command(self, name, *flags):
        return [str(self.bundle / "bin/pp-run"), str(self.bundle / "artifacts" / f"{name}.swx"), *map(str, flags)]

    def pp_run(self, name, *flags, timeout=120, before=()):
        """What pp-run printed; an error's text is raised."""
        self.case(name)
        done = subprocess.run([*before, *self.command(name, *flags)], capture_output=True, text=True, timeout=timeout,
                              env=self.environment)
        if done.returncode:
            raise RuntimeError(f"{name} {' '.join(map(str, flags))}: {(done.stdout[-2000:] + done.stderr[-2000:]).strip()}")
        return done.stdout
