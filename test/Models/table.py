"""The outcomes of the suite as a page of Markdown: docs/models.md."""

import collections
import re
import textwrap

LIBRARIES = {
    "arrays": "Arrays (jax.numpy, lax)", "control": "Control flow, transformations, random numbers", "distrax": "distrax",
    "dm-pix": "dm-pix", "equinox": "Equinox", "flax-linen": "Flax linen", "flax-nnx": "Flax NNX", "gemma": "Google's gemma",
    "haiku": "Haiku", "hugging-face": "HuggingFace transformers (Flax)", "jax-nn": "jax.nn", "jax-scipy": "jax.scipy",
    "jraph": "jraph", "keras": "Keras 3", "keras-hub": "KerasHub", "lax": "Operations (lax, jax.numpy)", "optax": "Optax",
    "plain": "Transformers without a library", "plain-nets": "Other nets without a library", "rlax": "rlax",
}
WAYS = {
    "1": "for one stage", "2": "for two stages", "auto": "as the planner chooses for two devices",
    "shards": "with all layers split over two shards", "groups": "with two stages of two shards each",
    "gpu": "for a GPU, which the [emulator](../test/Cuda/README.md) executes",
}
STAGES = tuple(WAYS)
GOOD = ("equal", "refused as expected")
HEAD = """\
# Training steps compared with JAX

{first}

- float32: over all results, our error against JAX in float64 is at most twice JAX's own error in float32 (the largest for these
  inputs and for four others that differ in the last bits), or at most 1e-6 of the norm of all results.
- bfloat16: over all results, our error against JAX in float32 is at most 1.5 times JAX's own error in bfloat16, rounded where
  the program says (`xla_allow_excess_precision=false`). If it is larger, the root mean squares over twelve other inputs decide.
- In both types, our error of each result is at most four times JAX's plus about 5 % of the result's norm.
- For a step with an update, instead of these: each result differs by at most 1e-3 of its norm (bfloat16: 3e-2).

*Refused as expected* means that the importer or the compiler refuses the step with the error that the suite expects. A dash
means that the step was not run in that type. The last column has the first six layers of the step in float32. The steps are in
[test/Models/steps](../test/Models/steps).
"""
FIRST = ("`./dev test models` writes this page. It imports each step as `stagewright import jax` does, compiles it {ways}, and runs two "
         "different microbatches. *Equal* means that each result differs from JAX's by at most 1e-5 of its norm plus 1e-7 of the largest "
         "norm. If one differs by more, the step is equal only under these conditions:")


def head(results):
    """The text before the tables, with the ways in which the steps were compiled."""
    *ways, last = [text for name, text in WAYS.items() if any(name in r["stages"] for r in results.values())] or [""]
    text = FIRST.format(ways=f"{', '.join(ways)} and {last}" if ways else last)
    return HEAD.format(first=textwrap.fill(text, 128, break_long_words=False, break_on_hyphens=False))


def page(results):
    """The whole page of the outcomes by "name dtype"."""
    parts = [head(results), summary(results)]
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
