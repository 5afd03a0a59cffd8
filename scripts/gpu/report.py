"""The results of the checks so far, as JSON and as Markdown."""

import json
import pathlib

import rows
from sections import SECTIONS

KINDS = (rows.PASSED, rows.FAILED, rows.SKIPPED)


def load(path):
    """Results by section; empty if there is no report yet."""
    path = pathlib.Path(path)
    return json.loads(path.read_text())["sections"] if path.exists() else {}


def all_rows(known):
    return [(name, row) for name, state in known.items() for item in state["items"].values() for row in item["rows"]]


def summary(counts):
    return ", ".join(f"{counts[kind]} {kind}" for kind in KINDS)


def cell(value):
    return " ".join(str(value).replace("|", "/").split())


def page(known, counts):
    lines = ["# Checks on a GPU", "", summary(counts), ""]
    for name, state in known.items():
        title = SECTIONS[name].title if name in SECTIONS else "The step that pp-sim predicts from the measured costs"
        lines += [f"## {name}", "", f"{title}. {state['seconds']:.0f} s" + ("" if state["ended"] else "; not all of it ran"), ""]
        lines += ["| what | asked | seen | |", "| --- | --- | --- | --- |"]
        lines += ["| " + " | ".join(cell(row[key]) for key in ("what", "asked", "seen", "verdict")) + " |"
                  for section, row in all_rows({name: state})]
        lines.append("")
    return "\n".join(lines)


def write(out, known):
    """Writes report.json and report.md into the folder `out`; returns the number of rows by verdict."""
    counts = {kind: sum(row["verdict"] == kind for _, row in all_rows(known)) for kind in KINDS}
    (out / "report.json").write_text(json.dumps({"counts": counts, "sections": known}, indent=1) + "\n")
    (out / "report.md").write_text(page(known, counts))
    return counts
