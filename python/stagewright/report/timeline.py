"""The timeline of a trace that pp-run wrote: a row for each rank, a bar for each action."""

from __future__ import annotations

import html
import json

from stagewright.errors import ReportFailure
from stagewright.report.charts import RIGHT, WIDTH, ticks

LEFT, ROW = 96, 26
BARS = 6000  # the limit of what a browser draws well


def read_trace(path):
    """({row: name}, [(row, name, category, begin, end)] in seconds) of the devices."""
    try:
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        devices = {e["pid"] for e in events if e["ph"] == "M" and e["name"] == "process_name"
                   and e["args"]["name"] == "devices"}
        rows = {e["tid"]: e["args"]["name"] for e in events
                if e["ph"] == "M" and e["name"] == "thread_name" and e["pid"] in devices}
        bars = [(e["tid"], e["name"], e["cat"], e["ts"] * 1e-6, (e["ts"] + e["dur"]) * 1e-6)
                for e in events if e["ph"] == "X" and e["pid"] in devices]
    except OSError as error:
        raise ReportFailure(f"cannot read '{path}': {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise ReportFailure(f"'{path}' is not a trace of pp-run --trace") from error
    if not bars:
        raise ReportFailure(f"'{path}' has no action of a rank; a trace of pp-run --trace is expected")
    return rows, sorted(bars, key=lambda bar: bar[3])


def timeline(path):
    rows, bars = read_trace(path)
    left_out = len(bars) - BARS
    bars = bars[:BARS]
    begin, end = bars[0][3], max(bar[4] for bar in bars)
    height, span = 8 + ROW * len(rows) + 26, end - begin or 1

    def place(time):
        return LEFT + (time - begin) / span * (WIDTH - LEFT - RIGHT)

    order = {row: number for number, row in enumerate(sorted(rows))}
    parts = [f'<svg viewBox="0 0 {WIDTH} {height}" role="img">']
    for row, number in order.items():
        y = 8 + ROW * number
        parts.append(f'<rect class=idle x="{LEFT}" y="{y}" width="{WIDTH - LEFT - RIGHT}" height="{ROW - 6}"/>'
                     f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{html.escape(rows[row])}</text>')
    for row, name, category, start, stop in bars:
        x, y, width = place(start), 8 + ROW * order[row], max(place(stop) - place(start), 0.3)
        css = category.replace(" ", "-")
        parts.append(f'<rect class="{css}" x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 6}">'
                     f'<title>{html.escape(name)}, {category}: {(stop - start) * 1e3:.3f} ms</title></rect>')
        if width > 7 * len(name):
            parts.append(f'<text class=name x="{x + width / 2:.1f}" y="{y + 14}" text-anchor="middle">'
                         f'{html.escape(name)}</text>')
    for time in ticks(0, end - begin, 8):
        parts.append(f'<text x="{place(begin + time):.1f}" y="{height - 8}" text-anchor="middle">{time * 1e3:.4g} ms</text>')
    kinds = dict.fromkeys(bar[2] for bar in bars)
    names = "".join(f'<span class="key {kind.replace(" ", "-")}">{kind}</span>' for kind in kinds)
    more = f"<p>{left_out} later actions are not drawn.</p>" if left_out > 0 else ""
    return f"<div class=keys>{names}</div>" + "".join(parts) + "</svg>" + more
