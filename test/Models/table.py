"""The outcomes of the suite as a page of Markdown: docs/models.md."""

import collections
import re

LIBRARIES = {
    "arrays": "Arrays (jax.numpy, lax)", "control": "Control flow, transformations, random numbers", "distrax": "distrax",
    "dm-pix": "dm-pix", "equinox": "Equinox", "flax-linen": "Flax linen", "flax-nnx": "Flax NNX", "gemma": "Google's gemma",
    "haiku": "Haiku", "hugging-face": "HuggingFace transformers (Flax)", "jax-nn": "jax.nn", "jax-scipy": "jax.scipy",
    "jraph": "jraph", "keras": "Keras 3", "keras-hub": "KerasHub", "lax": "Operations (lax, jax.numpy)", "optax": "Optax",
    "plain": "Transformers without a library", "plain-nets": "Other nets without a library", "rlax": "rlax",
}
STAGES = ("1", "2", "auto", "shards", "groups", "gpu")
GOOD = ("equal", "refused as expected")
HEAD = """\
# Training steps compared with JAX

Written by `./dev test models`. Each step is imported as `stagewright import jax` does, compiled for one stage, for two, for as
many as the planner takes of two devices, with all layers split over two shards, the same in two stages on four devices, and for a
GPU, which the [emulator](../test/Cuda/README.md) executes, and runs two microbatches that differ.
*Equal* means that loss, gradients and other results are JAX's: of float32 to 1e-5 of a result's norm, or 1e-6 of all results,
or at most twice as far from float64 as JAX's own, also on inputs that differ in the last bit; of bfloat16 at most 1.5 times as
far from float32 as JAX's own, which rounds where the program says (`xla_allow_excess_precision=false`); where one input is
farther, the root mean square over twelve others decides. A dash: not run. The steps are in
[test/Models/steps](../test/Models/steps).
"""


def page(results):
    """The whole page of the outcomes by "name dtype"."""
    parts = [HEAD, summary(results)]
    for library in sorted({name.split("/")[0] for name in results}):
        own = {name: r for name, r in results.items() if name.split("/")[0] == library}
        parts.append(f"## {LIBRARIES.get(library, library)}\n\n{table(own)}")
    failures = [failure(r) for _, r in sorted(results.items()) if failure(r)]
    if failures:
        parts.append("## Refused and failed steps\n\n" + "\n".join(failures) + "\n")
    return "\n".join(parts)


def summary(results):
    counts = collections.Counter(o["kind"] for r in results.values() for o in r["stages"].values())
    steps = len({r["name"] for r in results.values()})
    names = len({name.split("/")[0] for name in results})
    tried = sum(counts.values()) - counts["refused as expected"]
    rows = "\n".join(f"| {kind} | {count} |" for kind, count in counts.most_common())
    slow = sorted(r["import_seconds"] for r in results.values() if r.get("import_seconds"))
    middle = f" The median import took {slow[len(slow) // 2]:.1f} s." if slow else ""
    return (f"{steps} steps of {names} groups, {sum(counts.values())} outcomes; {100 * counts['equal'] / max(tried, 1):.1f} % of those that "
            f"are not expected to be refused are equal.{middle}\n\n| outcome | count |\n| --- | --- |\n{rows}\n")


def table(results):
    """A row for each step, with an outcome for each type and number of stages."""
    rows = []
    for step in sorted({r["name"] for r in results.values()}):
        cells = [cell(results.get(f"{step} {dtype}")) for dtype in ("float32", "bfloat16")]
        names = (results.get(f"{step} float32") or {}).get("layers", [])
        shown = ", ".join(names[:6]) + (f", ... ({len(names)})" if len(names) > 6 else "")
        rows.append(f"| {step.split('/')[1]} | {' | '.join(cells)} | {shown} |")
    return "| step | float32 | bfloat16 | layers |\n| --- | --- | --- | --- |\n" + "\n".join(rows) + "\n"


def cell(result):
    if result is None:
        return "-"
    kinds = {stages: result["stages"][stages]["kind"] for stages in STAGES if stages in result["stages"]}
    if len(set(kinds.values())) == 1:
        return next(iter(kinds.values()))
    return ", ".join(f"{stages}: {kind}" for stages, kind in kinds.items())


def failure(result):
    """A line for a step that does not equal JAX, with the error message."""
    bad = [o for o in result["stages"].values() if o["kind"] not in GOOD]
    if not bad:
        return ""
    lines = [line for line in bad[0]["message"].splitlines() if line.strip()]
    text = lines[-1 if lines[0].startswith("Traceback") else 0] if lines else ""
    text = re.sub(r"(?<!\w)/(?:\S*?/)??(?=test/Models/)|(?<!\w)/\S*/(?=[\w.-]+\.(?:py|mlir))", "", text)  # folders of this machine
    return f"- `{result['name']}` {result['dtype']}: {bad[0]['kind']}: {text[:300]}"
