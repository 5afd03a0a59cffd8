"""The GPU machine: whether it has a GPU, where its libraries are, and how to run pp-run on it."""

import ctypes
import hashlib
import importlib.util
import json
import lzma
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile

from rows import Skip

# Variable of the runtime, file name, and the folder of its PyPI package in site-packages. The first file that exists is used.
LIBRARIES = [("STAGEWRIGHT_CUBLASLT_LIBRARY", "libcublasLt.so.13", "nvidia/cu13/lib"),
             ("STAGEWRIGHT_CUBLASLT_LIBRARY", "libcublasLt.so.12", "nvidia/cublas/lib"),
             ("STAGEWRIGHT_CUDNN_LIBRARY", "libcudnn.so.9", "nvidia/cudnn/lib"),
             ("STAGEWRIGHT_NCCL_LIBRARY", "libnccl.so.2", "nvidia/nccl/lib"),
             ("STAGEWRIGHT_NVTX_LIBRARY", "libnvtx3interop.so.1", "nvidia/cu13/lib")]
# The first NCCL version that lets several ranks share a GPU.
SHARING_NCCL = 23000


def smi(*query):
    """The output lines of nvidia-smi; none if it is missing."""
    if not shutil.which("nvidia-smi"):
        return []
    done = subprocess.run(["nvidia-smi", *query, "--format=csv,noheader"], capture_output=True, text=True)
    return done.stdout.strip().splitlines() if done.returncode == 0 else []


def gpus():
    """One line per GPU."""
    return smi("--query-gpu=name,memory.total,driver_version")


def processes_on_gpu():
    """PIDs of the processes that hold a context on a GPU."""
    return {int(line) for line in smi("--query-compute-apps=pid") if line.strip().isdigit()}


def packages_folder():
    spec = importlib.util.find_spec("nvidia")
    return pathlib.Path(list(spec.submodule_search_locations)[0]).parent if spec else None


def nccl_version(path):
    """The version in NCCL's encoding, 23007 for 2.30.7; 0 if the library cannot be opened."""
    number = ctypes.c_int(0)
    try:
        ctypes.CDLL(str(path)).ncclGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return 0
    return number.value


def tool(name):
    """The path of a CUDA toolkit program; None if it is missing."""
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    if nvcc := shutil.which("nvcc"):
        homes.append(pathlib.Path(nvcc).resolve().parents[1])
    folders = [os.environ.get("PATH", os.defpath), *(f"{home}/bin" for home in homes if home)]
    return shutil.which(name, path=os.pathsep.join(folders))


def unpack(packed, target):
    """Decompresses an .xz file; `target` is complete or absent."""
    if target.exists():
        return target
    with lzma.open(packed) as source, tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as part:
        shutil.copyfileobj(source, part, 1 << 22)
    pathlib.Path(part.name).chmod(0o644)
    return pathlib.Path(part.name).rename(target)


class Machine:
    """`out` is returned to the caller; `scratch` is for large files that can be made again."""

    def __init__(self, bundle, out, scratch):
        self.bundle, self.out, self.scratch = bundle, out, scratch
        self.cases = {row["name"]: row for row in json.loads((bundle / "cases.json").read_text())}
        # The driver may be found only through this machine's own library path.
        paths = [str(bundle / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        self.environment = {**os.environ, "LD_LIBRARY_PATH": ":".join(paths)}
        folder = packages_folder()
        for variable, file, below in LIBRARIES:
            path = folder / below / file if folder else None
            if variable not in self.environment and path and path.exists():
                self.environment[variable] = str(path)
                # Libraries that it opens are next to it, or in another package.
                if str(path.parent) not in self.environment["LD_LIBRARY_PATH"]:
                    self.environment["LD_LIBRARY_PATH"] += f":{path.parent}"
        scratch.mkdir(parents=True, exist_ok=True)
        for program in (bundle / "bin").iterdir():
            if not os.access(program, os.X_OK):  # The transfer may drop the executable bit.
                program.chmod(0o755)
        # Uses this machine's C++ library, unless it is too old for our programs: Python's modules may need the newer one.
        if subprocess.run(self.program("pp-run", "--help"), env=self.environment, capture_output=True).returncode:
            self.environment["LD_LIBRARY_PATH"] += f":{bundle / 'lib/cpp'}"

    def case(self, name):
        row = self.cases.get(name)
        if not row or row["problem"]:
            raise Skip(f"{name} was not compiled: {row['problem'] if row else 'it is not in the bundle'}")
        return row

    def named(self, group):
        """The cases of a group."""
        return [row for row in self.cases.values() if group in row["groups"]]

    def sharing_nccl(self):
        """Makes pp-run use an NCCL that lets ranks share a GPU: this machine's, or the bundle's."""
        packed, unpacked = self.bundle / "lib/libnccl.so.2.xz", self.scratch / "libnccl.so.2"
        here = self.environment.get("STAGEWRIGHT_NCCL_LIBRARY", "libnccl.so.2")
        found = nccl_version(here)
        if found < SHARING_NCCL and packed.exists():
            here = unpack(packed, unpacked)
            found = nccl_version(here)
        if found < SHARING_NCCL:
            raise Skip(f"NCCL is version {found}, and ranks share a GPU from {SHARING_NCCL} on: pack one with --nccl=FILE")
        self.environment.update(STAGEWRIGHT_NCCL_LIBRARY=str(here), NCCL_MULTI_RANK_GPU_ENABLE="1")
        return found

    def program(self, name, *flags):
        return [str(self.bundle / "bin" / name), *map(str, flags)]

    def artifact(self, name):
        """The unpacked artifact, unpacked once; artifacts of the same name in other bundles have other paths."""
        packed = self.bundle / "artifacts" / f"{name}.swx.xz"
        stamp = hashlib.sha256(packed.read_bytes()).hexdigest()[:12]
        return unpack(packed, self.scratch / f"{name}-{stamp}.swx")

    def command(self, name, *flags):
        return self.program("pp-run", self.artifact(name), *flags)

    def call(self, command, timeout=120):
        """The output of a command; raises the error text if it fails."""
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=self.environment)
        if done.returncode:
            raise RuntimeError(f"status {done.returncode}: {(done.stdout[-1500:] + done.stderr[-1500:]).strip()}")
        return done.stdout

    def pp_run(self, name, *flags, timeout=120, before=()):
        self.case(name)
        return self.call([*before, *self.command(name, *flags)], timeout)

    def one_gpu(self, name):
        """The flag that puts all ranks on the first GPU."""
        return "--devices=" + ",".join("0" * self.case(name)["stages"])

    def times(self, name, inputs, *flags, steps=30):
        """(median of the steps, median of the host's time to enqueue one), after warm-up."""
        text = self.pp_run(name, f"--inputs={inputs}", f"--steps={steps + 3}", "--json", self.one_gpu(name), *flags)
        found = json.loads(text)
        return statistics.median(found["seconds"][3:]), statistics.median(found["enqueue_seconds"][3:])
