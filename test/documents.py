"""The examples of a document: commands in its console blocks, and what they print.

A line `...` stands for any lines, and `...` within a line for any text. A command that ends with a backslash continues in the
next line.
"""

import re
import subprocess


def examples(text):
    """Pairs of a command and the lines that it is said to print."""
    for block in re.findall(r"```console\n(.*?)```", text, re.DOTALL):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *expected = example.replace("\\\n", "").rstrip("\n").split("\n")
            yield command, expected


def matches(expected, lines):
    if not expected:
        return not lines
    if expected[0] == "...":
        return any(matches(expected[1:], lines[skip:]) for skip in range(len(lines) + 1))
    pattern = ".*".join(map(re.escape, expected[0].split("...")))
    return bool(lines) and bool(re.fullmatch(pattern, lines[0])) and matches(expected[1:], lines[1:])


def difference(command, expected, **options):
    """Runs the command in a shell; returns "" if it prints what is expected, else a message."""
    result = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    printed = result.stdout.rstrip("\n")
    if matches(expected, printed.split("\n") if printed else []):
        return ""
    return f"'{command}' prints\n{result.stdout}instead of\n" + "\n".join(expected)
