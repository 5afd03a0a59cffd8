"""Runs the commands in a page's console blocks and compares their output: run-examples.py PAGE PROGRAM.

A line `...` matches any lines.
"""
import pathlib
import re
import shlex
import subprocess
import sys


def matches(expected, lines):
    if not expected:
        return not lines
    if expected[0] == "...":
        return any(matches(expected[1:], lines[skip:]) for skip in range(len(lines) + 1))
    return bool(lines) and expected[0] == lines[0] and matches(expected[1:], lines[1:])


page, program = sys.argv[1:]
examples = 0
for block in re.findall(r"```console\n(.*?)```", pathlib.Path(page).read_text(), re.DOTALL):
    for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *expected = example.rstrip("\n").split("\n")
        assert shlex.split(command)[0] == program, command
        result = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = result.stdout.rstrip("\n").split("\n")
        examples += 1
        if not matches(expected, lines):
            sys.exit(f"{page}: '{command}' prints\n{result.stdout}instead of\n" + "\n".join(expected))
print(f"{examples} examples print what the page says")
