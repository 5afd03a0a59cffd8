"""How well delayed averages hide their sum, for ResNet-50 on 1 to 256 workers. A step takes 80.5 ms (V100, 32 samples; DLPerf),
and an average begins every 4 steps. For a ring the delay is what `pipeline-delay-averaging` chooses; for a butterfly it is the
time of the sum divided by that of a step, rounded up. Both are at most 4 steps. No step is run: all times are computed.
"""

import math
import re

from ...harness.report import Table, time
from ...harness.sides import call

PARAMETERS, STEP, EVERY = 25_600_000, 80.5e-3, 4
WORKERS = [2 ** power for power in range(9)]
RATES = {"70 Gb/s": 70e9 / 8, "25 Gb/s": 25e9 / 8}
COLOURS = {"ring": "#1f77b4", "butterfly": "#d62728"}


def all_reduce(kind, workers, rate):
    """Seconds of a sum of all parameters. Ring: Patarasuk and Yuan (2009). Butterfly: PALEO's formula, as in DaSGD's model."""
    bytes_ = 4 * PARAMETERS
    return 2 * (workers - 1) / workers * bytes_ / rate if kind == "ring" else math.log2(workers) * bytes_ / rate


def module(workers, rate):
    """One stage with a replica for each worker, and a microbatch for each."""
    tensor, seconds = f"tensor<{PARAMETERS}xf32>", 'cost <seconds = {"gpu" = %g : f64}>'
    devices = "\n".join(f'pipeline.device @d{i} class "gpu" memory 16000000000 node {i} flops 1.0e13 bandwidth 9.0e11'
                        for i in range(workers))
    roles = '{pipeline.role = "parameter", pipeline.of = 0}'
    return f"""
pipeline.graph @step(%w: {tensor} {{pipeline.role = "parameter"}}, %x: tensor<f32> {{pipeline.role = "batch"}})
    -> (tensor<f32> {{pipeline.role = "loss", pipeline.combine = "mean"}},
        {tensor} {{pipeline.role = "gradient", pipeline.of = 0, pipeline.combine = "mean"}}) attributes {{layers = ["net"]}} {{
  %l = pipeline.node "net.F" phase F layer 0 (%w, %x) {seconds % (STEP / 3)} : ({tensor}, tensor<f32>) -> tensor<f32>
  %g = pipeline.node "net.B" phase B layer 0 (%l) {seconds % (STEP * 2 / 3)} : (tensor<f32>) -> {tensor}
  pipeline.yield %l, %g results [0, 1] : tensor<f32>, {tensor}
}}
pipeline.cluster @workers {{
  {devices}
  pipeline.fabric between bandwidth {rate!r} latency 0.0
}}
pipeline.program @plan of @step on @workers microbatches {workers} {{
  pipeline.stage 0 on [{", ".join(f"@d{i}" for i in range(workers))}] layers [0]
}}
func.func @update(%w: {tensor} {roles}, %g: {tensor} {{pipeline.role = "gradient", pipeline.of = 0}}) -> ({tensor} {roles}) {{
  return %w : {tensor}
}}"""


def planned(session, workers, rate):
    """(delay, seconds of a sum, seconds of a step) in the compiler's program."""
    path = session.work / "averaging.mlir"
    path.write_text(module(workers, rate))
    text = call([session.tool("pp-opt"), path, "-pipeline-schedule=kind=1f1b", f"-pipeline-delay-averaging=every={EVERY}"])
    found = re.search(r"averaging <every = \d+, delay = (\d+), .*all_reduce = (\S+) : f64, step = (\S+) : f64>", text)
    return int(found[1]), float(found[2]), float(found[3])


def measure(session, result):
    table = Table(__doc__.strip().replace("\n", " "), ["workers", *(f"{kind}, {rate}: {what}" for rate in RATES for kind in COLOURS
                                                              for what in ("sum", "delay", "exposed", "efficiency"))])
    result.tables.append(table)
    curves, wrong, low = {}, 0.0, 0
    for workers in WORKERS:
        cells = [workers]
        for name, rate in RATES.items():
            for kind in COLOURS:
                total, step = all_reduce(kind, workers, rate), STEP
                wanted = max(1, math.ceil(total / STEP - 1e-9))
                if kind == "ring" and workers > 1:
                    delay, found, step = planned(session, workers, rate)
                    wrong = max(wrong, abs(found / total - 1), abs(step / STEP - 1), abs(delay - wanted))
                    total = found
                hidden = min(wanted, EVERY)
                exposed = max(0.0, total - hidden * step)
                efficiency = EVERY * step / (EVERY * step + exposed)
                low += wanted <= EVERY and efficiency < .99
                curves.setdefault((name, kind), []).append(efficiency)
                cells += [time(total) if total else "0", f"{wanted}" + (" (4)" if wanted > EVERY else ""),
                          time(exposed) if exposed else "0", f"{efficiency:.3f}"]
        table.rows.append(cells)
        session.say(" | ".join(map(str, cells)))
    result.want("largest difference of the compiler's times and delays from the formulas", wrong, 1e-9)
    result.want("rows whose delay is at most 4 with an efficiency below 0.99", low, 0)
    result.figures |= {f"{kind}, {name}": curve for (name, kind), curve in curves.items()}
    picture = session.work / "averaging-workers.svg"
    picture.write_text(draw(curves))
    session.say(f"  picture: {picture}")


def draw(curves):
    """Efficiency by workers: a panel for each rate."""
    width, height, left, parts = 300, 200, 50, []
    for panel, name in enumerate(RATES):
        at = left + panel * (width + left)
        parts.append(f'<text x="{at + width / 2}" y="15" text-anchor="middle">{name}</text>'
                     f'<rect x="{at}" y="25" width="{width}" height="{height}" fill="none" stroke="#999"/>')
        place = lambda i, y, at=at: (at + i / (len(WORKERS) - 1) * width, 25 + (1 - y) * height)  # noqa: E731
        for i, workers in enumerate(WORKERS):
            parts.append(f'<text x="{place(i, 0)[0]:.0f}" y="{height + 40}" text-anchor="middle">{workers}</text>')
        for y in (0, .5, 1):
            parts.append(f'<text x="{at - 5}" y="{place(0, y)[1] + 4:.0f}" text-anchor="end">{y:g}</text>')
        for number, (kind, colour) in enumerate(COLOURS.items()):
            points = " ".join("{:.1f},{:.1f}".format(*place(i, y)) for i, y in enumerate(curves[name, kind]))
            parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>'
                         f'<text x="{at + 10}" y="{height - 15 + 15 * number}" fill="{colour}">{kind}</text>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * (width + left) + 20}" height="{height + 60}" font-size="11" '
            f'font-family="sans-serif">{"".join(parts)}<text x="{left}" y="{height + 57}">workers; efficiency: time of four steps '
            "without any sum / with delayed averages</text></svg>\n")
