"""Prints fields of the JSON object on standard input in one line, list elements separated by blanks:

fields.py LABEL FIELD[:DIGITS]..."""
import json
import sys

values = json.load(sys.stdin)


def text(field):
    name, _, digits = field.partition(":")
    value = values[name]
    if digits:
        return f"{value:.{digits}f}"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


print(f"{sys.argv[1]}:", ", ".join(map(text, sys.argv[2:])))
