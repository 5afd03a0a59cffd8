"""Charts as hand-written SVG, so that the page needs no script and no library."""

from __future__ import annotations

import html
import math

WIDTH, HEIGHT = 860, 300
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 12, 34
POINTS = 2000  # max points of a line; more are not visible


def number(value):
    """Formats a number briefly."""
    if value == 0:
        return "0"
    size = abs(value)
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size >= limit:
            return f"{value / limit:.3g}{unit}"
    return f"{value:.3g}" if size >= 1e-3 else f"{value:.1e}"


def size(count):
    """Formats a number of bytes with a unit."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024


def ticks(low, high, wanted=5):
    """Round numbers within [low, high]."""
    if not high > low:
        return [low]
    step = 10 ** math.floor(math.log10((high - low) / wanted))
    step *= next(f for f in (1, 2, 5, 10) if (high - low) / (step * f) <= wanted)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def thin(steps, values):
    """At most POINTS points: the min and the max of each group, in order."""
    if len(steps) <= POINTS:
        return steps, values
    group, kept = math.ceil(len(steps) / (POINTS // 2)), []
    for first in range(0, len(steps), group):
        part = range(first, min(first + group, len(steps)))
        kept += sorted({min(part, key=values.__getitem__), max(part, key=values.__getitem__)})
    return [steps[i] for i in kept], [values[i] for i in kept]


def smooth(values, weight=0.8):
    """An exponential moving average with bias correction at the start, as in Adam."""
    mean, total, out = 0.0, 0.0, []
    for value in values:
        mean, total = weight * mean + (1 - weight) * value, weight * total + (1 - weight)
        out.append(mean / total)
    return out


def line_chart(series, unit="", zero=False, height=HEIGHT):
    """`series`: (name, css class, steps, values, whether to draw points); the x axis is the step number."""
    series = [s for s in series if s[2]]
    if not series:
        return "<p class=none>nothing was measured</p>"
    xs, ys = [x for s in series for x in s[2]], [y for s in series for y in s[3]]
    x0, x1 = min(xs), max(max(xs), min(xs) + 1)
    y0, y1 = (0 if zero else min(ys)), max(ys)
    room = (y1 - y0) * 0.05 or abs(y1) * 0.05 or 1
    y0, y1 = (y0 if zero else y0 - room), y1 + room

    def place(x, y):
        return (LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT),
                TOP + (y1 - y) / (y1 - y0) * (height - TOP - BOTTOM))

    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img">']
    for y in ticks(y0, y1):
        _, at = place(x0, y)
        parts.append(f'<line class=grid x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
                     f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{number(y)}{unit}</text>')
    for x in (x for x in ticks(x0, x1, 8) if x == int(x)):
        at, _ = place(x, y0)
        parts.append(f'<text x="{at:.1f}" y="{height - 14}" text-anchor="middle">{int(x)}</text>')
    parts.append(f'<text x="{WIDTH - RIGHT}" y="{height - 3}" text-anchor="end">step</text>')
    for name, css, steps, values, points in series:
        places = [place(x, y) for x, y in zip(*thin(steps, values))]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="line {css}" points="{path}"/>')
        if points or len(places) == 1:
            parts += [f'<circle class="dot {css}" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{html.escape(name)}, step {s}: '
                      f'{v:.6g}{unit}</title></circle>' for (x, y), s, v in zip(places, *thin(steps, values))]
    names = "".join(f'<span class="key {css}">{html.escape(name)}</span>' for name, css, *_ in series)
    return f"<div class=keys>{names}</div>" + "".join(parts) + "</svg>"


def bar_chart(rows, text):
    """`rows`: (name, [(label, css class, value)]); horizontal bars on one scale, with `text(value)` at the end of each."""
    largest = max((value for _, bars in rows for *_, value in bars), default=0) or 1
    bar, gap, y, parts = 16, 14, 4, []
    room = WIDTH - 130 - 110
    for name, bars in rows:
        parts.append(f'<text x="120" y="{y + bar * len(bars) / 2 + 4:.0f}" text-anchor="end">{html.escape(name)}</text>')
        for what, css, value in bars:
            parts.append(f'<rect class="{css}" x="130" y="{y}" width="{max(1, value / largest * room):.1f}" '
                         f'height="{bar - 2}"><title>{html.escape(what)}: {text(value)}</title></rect>'
                         f'<text x="{136 + value / largest * room:.1f}" y="{y + bar - 4}">{text(value)}</text>')
            y += bar
        y += gap
    kinds = dict.fromkeys((what, css) for _, bars in rows for what, css, _ in bars)
    names = "".join(f'<span class="key {css}">{html.escape(what)}</span>' for what, css in kinds)
    return f'<div class=keys>{names}</div><svg viewBox="0 0 {WIDTH} {y}" role="img">{"".join(parts)}</svg>'
