"""Formatting and lint of the C++ files that git tracks."""

import concurrent.futures
import os
import subprocess

from . import setup
from .console import ROOT, Progress, capture, say, stream


def _files(*patterns):
    listed = capture(["git", "ls-files", "-z", "--", *patterns]).split("\0")
    return [name for name in listed if name and (ROOT / name).exists()]


def run(options):
    setup.packages(["clang-format-22"] + (["clang-tidy-22"] if options.tidy is not None else []))
    if options.tidy is not None:
        return tidy(options.tidy)
    files = _files("*.cpp", "*.h", "*.c")
    if options.check:
        stream(f"Checking the format of {len(files)} files",
               ["clang-format-22", "--dry-run", "-Werror", "--ferror-limit=1", *files], lambda line: None,
               keep=ROOT / "build/logs/format.log")
    else:
        capture(["clang-format-22", "-i", *files])
        say(f"Formatted {len(files)} files")
    return 0


def tidy(names):
    """clang-tidy over `names`, or over every source of lib/ and tools/; needs the generated headers."""
    setup.everything("tidy", ["stagewright-headers"])
    names = names or _files("lib/*.cpp", "tools/*.cpp")
    progress, failed = Progress("clang-tidy"), []

    def one(name):
        return subprocess.run(["clang-tidy-22", "-p", setup.tree("tidy"), "--quiet", "--warnings-as-errors=*", name],
                              cwd=ROOT, capture_output=True, text=True)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for index, (name, result) in enumerate(zip(names, pool.map(one, names)), 1):
            progress.update(f"[{index}/{len(names)}] {name}")
            if result.returncode:
                failed.append(result.stdout)
    progress.done(f"{len(names) - len(failed)} of {len(names)} files clean")
    for text in failed:
        say(text)
    return 1 if failed else 0
