"""The compiled tools of a wheel as commands: pp-compile, pp-run and the others."""

import os
import pathlib
import sys

NATIVE = pathlib.Path(__file__).parent / "native" / "bin"


def main():
    name = pathlib.Path(sys.argv[0]).name
    tool = NATIVE / name
    if not tool.exists():
        sys.exit(f"error: this installation of stagewright has no {name}; install a wheel that ./dev wheel made")
    # pp-compile finds its linker in this folder through PATH.
    path = os.pathsep.join(filter(None, (str(NATIVE), os.environ.get("PATH"))))
    os.execve(tool, [name, *sys.argv[1:]], {**os.environ, "PATH": path})
