#!/usr/bin/env python3
"""Draws a schedule: the plan above, the run below. One row per rank, time to scale, a bar per action.

usage: draw-trace.py TRACE.json [--grid PLAN.txt] -o PICTURE.svg [--title TEXT]

TRACE.json is written by `pp-run --trace` or `pp-sim --trace`, PLAN.txt is the output of `pp-compile`. Forwards are blue, whole
backwards orange; the number is the microbatch, a gap is waiting. Uses only the standard library."""

import argparse
import html
import json
import pathlib
import re

COLOURS = {"F": "#4c78a8", "B": "#f58518", "I": "#f58518", "W": "#54a24b", "U": "#79706e"}
WORDS = {"F": "forward", "B": "backward", "I": "gradient of inputs", "W": "gradient of weights", "U": "update"}
WIDTH, LEFT, ROW, GAP = 960, 64, 26, 5


def actions(trace):
    """(rank, kind, microbatch, start, length) of the actions, in microseconds from the first action."""
    processes = {e["pid"]: e["args"]["name"] for e in trace["traceEvents"] if e.get("name") == "process_name"}
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and processes.get(e["pid"]) == "devices"]
    first = min(e["ts"] for e in events)

    def bar_of(e):
        kind = next(c for c in e["name"] if c.isalpha())
        return e["tid"], kind, e["args"]["microbatch"], e["ts"] - first, e["dur"]

    return [bar_of(e) for e in events]


def bar(x, y, width, kind, microbatch, text):
    number = ""
    if width >= 11:
        number = (f'<text x="{x + width / 2:.1f}" y="{y + ROW / 2 + 4:.1f}" text-anchor="middle" fill="#fff">'
                  f'{microbatch}</text>')
    return (f'<g><title>{WORDS.get(kind, kind)} of microbatch {microbatch}{text}</title>'
            f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.8, 0.4):.1f}" height="{ROW}" rx="2" '
            f'fill="{COLOURS.get(kind, "#999")}"/>{number}</g>')


def planned(text):
    """(rank, kind, microbatch, start, length) of the actions in the grid that pp-compile prints, in its columns."""
    bars = []
    for rank, blanks, row in re.findall(r"^rank (\d+) ( *)\|(.*)\|$", text, re.MULTILINE):
        start = len(blanks)
        for cell in row.split("|"):
            if match := re.fullmatch(r"([A-Z])(\d+) *", cell):
                bars.append((int(rank), match[1], int(match[2]), start, len(cell) + 1))
            start += len(cell) + 1
    return bars


def panel(bars, top, title, note, say):
    """Draws `bars` from y = `top`; returns the y below them."""
    end = max(b[3] + b[4] for b in bars)
    scale = (WIDTH - LEFT - 16) / end
    out = [f'<text x="16" y="{top + 16}" font-size="14" fill="#222">{html.escape(title)}</text>',
           f'<text x="{WIDTH - 16}" y="{top + 16}" text-anchor="end" fill="#222">{note(end)}</text>']
    top += 28
    for rank in range(1 + max(b[0] for b in bars)):
        y = top + rank * (ROW + GAP)
        out.append(f'<text x="16" y="{y + ROW / 2 + 4:.0f}" fill="#222">rank {rank}</text>')
        out.append(f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 16}" height="{ROW}" fill="#f2f2f2"/>')
    for rank, kind, microbatch, start, length in sorted(bars):
        out.append(bar(LEFT + start * scale, top + rank * (ROW + GAP), length * scale, kind, microbatch, say(length)))
    return out, top + (1 + max(b[0] for b in bars)) * (ROW + GAP)


def legend(kinds, y):
    out, x = [], LEFT
    for kind in [k for k in COLOURS if k in kinds]:
        out.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOURS[kind]}"/>'
                   f'<text x="{x + 17}" y="{y + 10}" fill="#222">{WORDS[kind]}</text>')
        x += 40 + 7 * len(WORDS[kind])
    return out


def draw(ran, plan, title):
    parts, y = [], 14
    if plan:
        more, y = panel(plan, y, f"{title}, as planned", lambda end: "", lambda length: "")
        parts, y = parts + more, y + 14
    more, y = panel(ran, y, f"{title}, as it ran", lambda end: f"{end / 1000:.1f} ms",
                    lambda length: f": {length / 1000:.2f} ms")
    parts += more + legend({b[1] for b in ran} - {"U"}, y + 6)
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y + 30}" '
                      'font-family="sans-serif" font-size="12">',
                      f'<rect width="{WIDTH}" height="{y + 30}" fill="#fff"/>', *parts, "</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("--grid", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--title", default="One step")
    options = parser.parse_args()
    ran = actions(json.loads(options.trace.read_text()))
    plan = planned(options.grid.read_text()) if options.grid else []
    options.output.write_text(draw(ran, plan, options.title))
    print(f"{options.output}: {len(ran)} actions on {1 + max(b[0] for b in ran)} ranks")


if __name__ == "__main__":
    main()
