"""Builds a wheel: the Python package with the compiled tools and the libraries that they need.

The tools are in stagewright/native/bin; commands of the same names start them. The tools load copies of their shared libraries
from stagewright/native/lib; only the C and C++ libraries and those of MPI and NVIDIA are the machine's."""

import pathlib
import re
import shutil

from . import setup
from .console import BUILD, ROOT, Failure, Progress, capture, say, stream

PLACE = BUILD / "wheel"
TOOLS = ("pp-compile", "pp-opt", "pp-plan", "pp-run", "pp-sim", "pp-translate")
# System libraries: the C and C++ libraries, which every Linux with a C library of this version has.
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s))\.so.*")
# Loaded if present: MPI, CUDA and cuDNN are the machine's.
OPTIONAL = re.compile(r"lib(mpi|open-pal|open-rte|cuda|nvrtc|cudnn|hwloc|event).*")


def _needs(file):
    """The libraries that the loader finds for a file, by name."""
    found = {}
    for name, path in re.findall(r"^\s*(\S+) => (\S+|not found)", capture(["ldd", file]), re.MULTILINE):
        if SYSTEM.fullmatch(name) or OPTIONAL.match(name):
            continue
        if not path.startswith("/"):
            raise Failure(f"'{file}' needs {name}, which the loader does not find")
        found[name] = path
    return found


def _copy(prefix, native):
    """Copies tools and libraries from an installed tree, with everything that they need; returns the files."""
    binding, = (prefix / "python").glob("_stagewright_runtime*.so")
    wanted = {native / binding.name: binding, native / "bin" / "ld.lld": pathlib.Path("/usr/lib/llvm-22/bin/lld")}
    wanted |= {native / "bin" / tool: prefix / "bin" / tool for tool in TOOLS}
    wanted |= {native / "lib" / library.name: library for library in sorted((prefix / "lib").glob("*.so"))}
    for file in list(wanted.values()):
        for name, path in _needs(file).items():
            wanted.setdefault(native / "lib" / name, pathlib.Path(path))
    for to, file in wanted.items():
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, to)
    return list(wanted)


def build(out):
    """Writes the wheel into the folder `out` and returns its path."""
    setup.everything()
    setup.environment(BUILD / "wheel-venv", "Environment of wheels", ROOT / "scripts" / "wheel-requirements.txt")
    shutil.rmtree(PLACE, ignore_errors=True)
    prefix, package = PLACE / "prefix", PLACE / "package"
    capture(["cmake", "--install", setup.tree("release"), "--prefix", prefix, "--strip"])
    shutil.copytree(ROOT / "python/stagewright", package / "stagewright", ignore=shutil.ignore_patterns("__pycache__"))
    native, tools = package / "stagewright/native", BUILD / "wheel-venv/bin"
    progress = Progress("Libraries of the wheel")
    for file in _copy(prefix, native):
        progress.update(file.name)
        search = {"bin": "$ORIGIN/../lib", "lib": "$ORIGIN"}.get(file.parent.name, "$ORIGIN/lib")
        capture([tools / "patchelf", "--set-rpath", search, file])
    progress.done(f"{sum(f.stat().st_size for f in native.rglob('*')) >> 20} MiB")
    project = (ROOT / "python/pyproject.toml").read_text()
    commands = "".join(f'{tool} = "stagewright.tools:main"\n' for tool in TOOLS)
    (package / "pyproject.toml").write_text(
        project.replace("[project.scripts]\n", "[project.scripts]\n" + commands) +
        '\n[tool.setuptools.package-data]\nstagewright = ["native/*.so", "native/bin/*", "native/lib/*"]\n')
    # Not a pure Python wheel: it is for this platform and, because of the binding, for this Python version.
    (package / "setup.py").write_text(
        "from setuptools import Distribution, setup\n\n\nclass Native(Distribution):\n"
        "    def has_ext_modules(self):\n        return True\n\n\nsetup(distclass=Native)\n")
    out.mkdir(parents=True, exist_ok=True)
    stream("Writing the wheel", [tools / "python", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", out, package],
           lambda line: line)
    return max(out.glob("stagewright-*.whl"), key=lambda file: file.stat().st_mtime)


def run(options):
    wheel = build(options.out)
    say(f"{wheel} ({wheel.stat().st_size >> 20} MiB); install it with pip install '{wheel.name}[jax]'")
    return 0
