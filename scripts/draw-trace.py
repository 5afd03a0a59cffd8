#!/usr/bin/env python3
"""Draws a trace of `pp-run --trace` as a picture of its schedule: one row per rank, time to scale, a bar per action.

usage: draw-trace.py TRACE.json -o PICTURE.svg [--title TEXT]

Forwards are blue, whole backwards orange, gradients of inputs orange, of weights green; the number is the microbatch.
Bars are what was measured, gaps are waiting. Standard library only."""

import argparse
import html
import json
import pathlib

COLOURS = {"F": "#4c78a8", "B": "#f58518", "I": "#f58518", "W": "#54a24b", "U": "#79706e"}
WORDS = {"F": "forward", "B": "backward", "I": "gradient of inputs", "W": "gradient of weights", "U": "update"}
WIDTH, LEFT, ROW, GAP, TOP, BOTTOM = 960, 64, 34, 8, 44, 34


def actions(trace):
    """(rank, kind, microbatch, start, length) of the actions, in microseconds from the first."""
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") == "action"]
    first = min(e["ts"] for e in events)
    kind = lambda name: next(c for c in name if c.isalpha())  # noqa: E731
    return [(e["pid"], kind(e["name"]), e["args"]["microbatch"], e["ts"] - first, e["dur"]) for e in events]


def bar(x, y, width, kind, microbatch, length):
    text = ""
    if width >= 11:
        text = (f'<text x="{x + width / 2:.1f}" y="{y + ROW / 2 + 4:.1f}" text-anchor="middle" fill="#fff">'
                f'{microbatch}</text>')
    return (f'<g><title>{WORDS.get(kind, kind)} of microbatch {microbatch}: {length / 1000:.2f} ms</title>'
            f'<rect x="{x:.1f}" y="{y}" width="{max(width - 0.8, 0.4):.1f}" height="{ROW}" rx="2" '
            f'fill="{COLOURS.get(kind, "#999")}"/>{text}</g>')


def draw(bars, title):
    ranks = 1 + max(b[0] for b in bars)
    end = max(b[3] + b[4] for b in bars)
    scale = (WIDTH - LEFT - 16) / end
    height = TOP + ranks * (ROW + GAP) + BOTTOM
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
           f'font-size="12">', f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           f'<text x="16" y="24" font-size="14" fill="#222">{html.escape(title)}</text>']
    for rank in range(ranks):
        y = TOP + rank * (ROW + GAP)
        out.append(f'<text x="16" y="{y + ROW / 2 + 4:.0f}" fill="#222">rank {rank}</text>')
        out.append(f'<rect x="{LEFT}" y="{y}" width="{WIDTH - LEFT - 16}" height="{ROW}" fill="#f2f2f2"/>')
    for rank, kind, microbatch, start, length in sorted(bars):
        out.append(bar(LEFT + start * scale, TOP + rank * (ROW + GAP), length * scale, kind, microbatch, length))
    x, y = LEFT, height - 20
    for kind in [k for k in COLOURS if any(b[1] == k for b in bars)]:
        out.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{COLOURS[kind]}"/>'
                   f'<text x="{x + 17}" y="{y + 10}" fill="#222">{WORDS[kind]}</text>')
        x += 40 + 7 * len(WORDS[kind])
    out.append(f'<text x="{WIDTH - 16}" y="{y + 10}" text-anchor="end" fill="#222">{end / 1000:.1f} ms</text></svg>')
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--title", default="One step, as it ran")
    options = parser.parse_args()
    bars = actions(json.loads(options.trace.read_text()))
    options.output.write_text(draw(bars, options.title))
    print(f"{options.output}: {len(bars)} actions on {1 + max(b[0] for b in bars)} ranks")


if __name__ == "__main__":
    main()
