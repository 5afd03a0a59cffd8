"""An HTML page about a run in a single file, without network access or scripts."""

from __future__ import annotations

import html
import os

from stagewright.report.charts import bar_chart, line_chart, number, size, smooth
from stagewright.report.timeline import timeline

STYLE = """
:root { --ink: #1c2430; --soft: #66707d; --grid: #e3e7ec; --paper: #fff; --a: #2563a8; --b: #d2691e; --c: #2e8b57;
  --d: #8a63b8; --e: #c0392b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ee; --soft: #98a2af; --grid: #2c343f; --paper: #14181e;
  --a: #6aa5e8; --b: #e8985a; --c: #5fbf8a; --d: #b493e0; --e: #e87a6c; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 900px;
  margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; margin-bottom: 0; } h2 { font-size: 1.1em; margin: 2em 0 .4em; }
p.about, p.none { color: var(--soft); margin: .2em 0 1em; }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: .6em 1.5em; margin: 1em 0; }
dt { color: var(--soft); font-size: .85em; } dd { margin: 0; font-size: 1.25em; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: var(--soft); } svg text.name { fill: #fff; font-size: 10px; }
.grid { stroke: var(--grid); } .line { fill: none; stroke-width: 1.6; stroke: currentColor; } .dot { fill: currentColor; }
.a { color: var(--a); fill: var(--a); } .b { color: var(--b); fill: var(--b); } .c { color: var(--c); fill: var(--c); }
.pale { color: var(--a); fill: var(--a); opacity: .3; } polyline.line { fill: none; }
.idle { fill: var(--grid); } .forward { fill: var(--a); } .backward { fill: var(--b); } .input-gradient { fill: var(--b); }
.weight-gradient { fill: var(--c); } .update { fill: var(--d); } .recompute { fill: var(--e); }
.keys { display: flex; flex-wrap: wrap; gap: .2em 1.4em; font-size: .85em; color: var(--soft); }
.key { color: var(--soft); opacity: 1; } .key::before { content: ""; display: inline-block; width: 10px; height: 10px;
  margin-right: 6px; background: var(--k); border-radius: 2px; }
.key.a, .key.forward { --k: var(--a); } .key.b, .key.backward, .key.input-gradient { --k: var(--b); }
.key.c, .key.weight-gradient { --k: var(--c); } .key.update { --k: var(--d); } .key.recompute { --k: var(--e); }
.key.pale { --k: color-mix(in srgb, var(--a) 35%, var(--paper)); }
"""


def _median(values):
    return sorted(values)[len(values) // 2]


def _duration(seconds):
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _percent(share):
    return f"{100 * share:.1f} %"


def _facts(metrics):
    """(label, value) pairs for the run as a whole."""
    _, loss = metrics.series("loss")
    _, validation = metrics.series("validation_loss")
    _, seconds = metrics.series("seconds")
    facts = [("steps", f"{metrics.steps[-1]}")]
    if loss:
        facts.append(("loss, first to last", f"{loss[0]:.4g} → {loss[-1]:.4g}"))
    if validation:
        facts.append(("validation loss", f"{validation[-1]:.4g}"))
    if seconds:
        facts += [("median step", f"{_median(seconds) * 1e3:.4g} ms"), ("time in steps", _duration(sum(seconds)))]
    for key, what in (("tokens_per_second", "tokens/s"), ("samples_per_second", "samples/s")):
        _, rates = metrics.series(key)
        if rates:
            facts.append((f"median {what}", number(_median(rates))))
            break
    _, bubble = metrics.series("bubble")
    if bubble:
        facts.append(("median bubble share", _percent(_median(bubble))))
    if planned := metrics.run.get("planned_idle"):
        facts.append(("bubble as planned", _percent(sum(planned) / len(planned))))
    return facts


def _memory(metrics):
    ranks = metrics.run.get("ranks")
    if not ranks:
        return "<p class=none>the metrics do not say what memory was planned</p>"
    live = [max(column) for column in zip(*(line["live_bytes"] for line in metrics.lines if line.get("live_bytes")))]
    rows = []
    for number_, rank in enumerate(ranks):
        bars = [("planned", "b", rank["planned_bytes"])]
        if live:
            bars.append(("live at most, measured", "c", live[number_]))
        bars.append(("allocated", "a", rank["arena_bytes"]))
        rows.append((f"rank {number_} ({rank['device']})", bars))
    more = "" if live else "<p class=about>pp-run --check-memory measures the bytes that are live, too.</p>"
    return bar_chart(rows, size) + more


def _idle(metrics):
    measured, planned = metrics.ranks("idle"), metrics.run.get("planned_idle") or []
    if not measured:
        return "<p class=none>nothing was measured</p>"
    rows = []
    for rank, share in enumerate(measured):
        bars = [("measured, mean of all steps", "a", share)]
        if rank < len(planned):
            bars.append(("planned", "b", planned[rank]))
        rows.append((f"rank {rank}", bars))
    return bar_chart(rows, _percent)


def make_page(metrics, trace=None, title=None):
    """The page as text; `trace` is the path of a trace, or None."""
    run = metrics.run
    title = title or os.path.basename(run.get("artifact", "")) or "run"
    about = ", ".join(text for text in (
        f"{len(run['ranks'])} ranks" if "ranks" in run else "", f"schedule {run['schedule']}" if run.get("schedule") else "",
        f"{run['microbatches']} microbatches" if "microbatches" in run else "") if text)
    steps, loss = metrics.series("loss")
    rate = next((key for key in ("tokens_per_second", "samples_per_second") if metrics.series(key)[0]), None)
    curves = [("training loss", "pale", steps, loss, False), ("its mean", "a", steps, smooth(loss), False)] \
        if len(steps) > 20 else [("training loss", "a", steps, loss, True)]
    curves.append(("validation loss", "b", *metrics.series("validation_loss"), True))
    broken = metrics.missing("loss")
    parts = [f"<h1>{html.escape(title)}</h1><p class=about>{html.escape(about)}</p>", "<dl>"]
    parts += [f"<div><dt>{html.escape(what)}</dt><dd>{html.escape(value)}</dd></div>" for what, value in _facts(metrics)]
    parts += ["</dl><h2>Loss</h2>", line_chart(curves)]
    if broken:
        parts.append(f"<p>The loss was not a finite number in {len(broken)} steps, first in step {broken[0]}.</p>")
    if rate:
        parts += [f"<h2>{'Tokens' if rate[0] == 't' else 'Samples'} per second</h2>",
                  line_chart([("of each step", "a", *metrics.series(rate), False)], zero=True, height=200)]
    parts += ["<h2>Bubble</h2>",
              "<p class=about>The part of the ranks’ time in which no action ran.</p>",
              line_chart([("of each step", "a", metrics.series("bubble")[0],
                           [100 * v for v in metrics.series("bubble")[1]], False)], " %", zero=True, height=200),
              _idle(metrics) if metrics.ranks("idle") else "",
              "<h2>Memory of each rank</h2>", _memory(metrics), "<h2>Timeline</h2>",
              timeline(trace) if trace else "<p class=none>no trace was given; pp-run --trace=FILE.json writes one</p>"]
    return (f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
            f"<title>{html.escape(title)}</title><style>{STYLE}</style><body>{''.join(parts)}</body></html>\n")
