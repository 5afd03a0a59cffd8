"""Runs the commands in a page's console blocks and compares their output: run-examples.py PAGE PROGRAM."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from documents import difference, examples  # noqa: E402

page, program = sys.argv[1:]
count = 0
for command, expected in examples(pathlib.Path(page).read_text()):
    assert command.split()[0] == program, command
    if wrong := difference(command, expected):
        sys.exit(f"{page}: {wrong}")
    count += 1
print(f"{count} examples print what the page says")
