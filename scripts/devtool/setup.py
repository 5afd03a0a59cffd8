"""Set-up: system packages, the Python environment, CMake configuration. Each first checks whether it is needed."""

import hashlib
import os
import re
import shutil
import subprocess
import sys

from .console import BUILD, ROOT, Failure, capture, say, stream

VENV = BUILD / "venv"
PYTHON = VENV / "bin" / "python"
PRESETS = ("release", "dev", "asan", "asan-compiler", "tsan")
REQUIREMENTS = ROOT / "python" / "requirements.txt"
HEADERS = ROOT / "python" / "headers.txt"


def packages(names=None):
    """Installs missing Debian packages; without root, reports them and the command."""
    if names is None:
        lines = (ROOT / "scripts" / "packages.txt").read_text().splitlines()
        names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not shutil.which("dpkg-query"):
        raise Failure("this is no Debian system; see scripts/packages.txt for what the build needs")
    query = subprocess.run(["dpkg-query", "-W", "-f=${binary:Package} ${db:Status-Status}\n", *names],
                           capture_output=True, text=True)
    have = {line.split()[0].split(":")[0] for line in query.stdout.splitlines() if line.endswith(" installed")}
    missing = [name for name in names if name not in have]
    if not missing:
        return
    say(f"System packages missing: {' '.join(missing)}")
    if os.geteuid() == 0:
        apt = ["apt-get"]
    elif shutil.which("sudo") and subprocess.run(["sudo", "-n", "true"], capture_output=True).returncode == 0:
        apt = ["sudo", "-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    else:
        raise Failure("they need root (or sudo without a password) to install; as root, run once:\n"
                      f"  apt-get update && apt-get install -y --no-install-recommends {' '.join(missing)}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    stream("Looking for packages", [*apt, "update"], lambda line: line, env=quiet)
    count = {"Get": 0, "Unpacking": 0, "Setting up": 0}

    def watch(line):
        if match := re.match(r"(\d+) upgraded, (\d+) newly installed", line):
            count["all"] = int(match[1]) + int(match[2])
        for verb in ("Get", "Unpacking", "Setting up"):
            if line.startswith(verb):
                count[verb] += 1
                return f"{'Fetching' if verb == 'Get' else verb} {count[verb]}/{count.get('all', '?')}"
        return None

    stream("Installing packages", [*apt, "install", "-y", "--no-install-recommends", *missing], watch, env=quiet)


def venv():
    """Creates build/venv from the lists in python/."""
    environment(VENV, "Python environment", REQUIREMENTS, HEADERS)


def environment(folder, title, requirements, alone=None):
    """Creates a Python environment with this tree's packages, again if one of its lists or the interpreter changes.

    `alone`: a list of packages to install without their dependencies."""
    text = b"".join(file.read_bytes() for file in dict.fromkeys((REQUIREMENTS, requirements, alone)) if file)
    want, stamp = hashlib.sha256(text + sys.version.encode() + str(ROOT).encode()).hexdigest(), folder / "requirements.sha256"
    if stamp.exists() and stamp.read_text() == want:
        return
    shutil.rmtree(folder, ignore_errors=True)
    capture([sys.executable, "-m", "venv", folder])

    def watch(line):
        match = re.match(r"(Collecting|Installing) \S+( packages)?", line)
        return match[0] if match else None

    install = [folder / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check"]
    stream(title, [*install, "-r", requirements], watch, env={"PIP_NO_INPUT": "1"})
    if alone:
        stream(f"{title}, more", [*install, "--no-deps", "-r", alone], watch, env={"PIP_NO_INPUT": "1"})
    site = next((folder / "lib").glob("python3*/site-packages"))
    (site / "stagewright-tree.pth").write_text(f"{BUILD / 'python'}\n{ROOT / 'python'}\n")
    stamp.write_text(want)


def compiler_cache():
    """Lets clones of the source share compiled objects: paths are relative to the clone."""
    return {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1",
            "CCACHE_SLOPPINESS": "pch_defines,time_macros",  # required for precompiled headers
            "NINJA_STATUS": "[%f/%t] "}


def tree(preset):
    return BUILD if preset == "release" else BUILD / preset


def configure(preset):
    """Configures a preset, again if presets have changed; CMake itself handles later changes of its own files."""
    built = tree(preset) / "build.ninja"
    if built.exists() and built.stat().st_mtime > (ROOT / "CMakePresets.json").stat().st_mtime:
        return
    stream(f"Configuring {preset}", ["cmake", "--preset", preset, f"-DPython_EXECUTABLE={PYTHON}"],
           lambda line: line.removeprefix("-- "), env=compiler_cache())


def build(preset="release", targets=("all",)):
    """Builds; prints nothing if there is nothing to do."""
    configure(preset)
    listed = subprocess.run(["ninja", "-C", str(tree(preset)), "-n", *targets], capture_output=True, text=True)
    if "ninja: no work to do." in listed.stdout:
        return
    stream(f"Building {preset}", ["ninja", "-C", tree(preset), *targets],
           lambda line: line if line.startswith("[") else None, env=compiler_cache())


def everything(preset="release", targets=("all",)):
    """All set-up a command needs: packages, Python, configuration, build."""
    packages()
    venv()
    build(preset, targets)
