"""The whole road once: a GPT training step from JAX, compiled for 4 stages, run, its loss and gradients beside JAX's.

What does not depend on the compiler (the imported module, the 8 microbatches, JAX's results) is kept under build/demo
and made again when its sources change; the compiler and the run are done every time."""

import hashlib
import json
import re

from . import setup
from .console import BUILD, ROOT, capture, say, stream

MODEL = ROOT / "test/Integration/models/gpt.py"
STAGES, MICROBATCHES = 4, 8
PLACE = BUILD / "demo"


def _key():
    """A hash of everything that the imported module and JAX's results depend on."""
    files = [ROOT / "python/requirements.txt", MODEL, MODEL.parent / "common.py", ROOT / "test/Integration/golden.py",
             ROOT / "scripts/demo-golden.py", *(ROOT / "python/stagewright").rglob("*.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _prepare():
    stamp, key = PLACE / "sources.sha256", _key()
    if stamp.exists() and stamp.read_text() == key:
        say("Import and JAX's results: kept from an earlier run, their sources are unchanged")
        return
    PLACE.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    stream("Importing the GPT step from JAX", [setup.PYTHON, "-m", "stagewright", "import", "jax", f"{MODEL}:gpt", "-o",
                                               PLACE / "gpt.mlir"], lambda line: line)
    stream(f"Running {MICROBATCHES} microbatches in JAX",
           [setup.PYTHON, ROOT / "scripts/demo-golden.py", "make", f"{MODEL}:gpt", MICROBATCHES, PLACE],
           lambda line: line)
    stamp.write_text(key)


def run(options):
    setup.everything()
    _prepare()
    artifact, trace, picture = PLACE / "gpt.swx", PLACE / "trace.json", PLACE / "schedule.svg"
    tools = setup.tree("release") / "bin"
    stream(f"Compiling for {STAGES} stages", [tools / "pp-compile", PLACE / "gpt.mlir", f"--cluster=local:{STAGES}",
                                              f"--microbatches={MICROBATCHES}", "-o", artifact], lambda line: line)
    printed = capture([tools / "pp-run", artifact, f"--inputs={PLACE / 'inputs.safetensors'}",
                       f"--outputs={PLACE / 'outputs.safetensors'}", f"--trace={trace}", "--steps=3"])
    say("\n" + printed.rstrip())
    grid = json.loads(capture([tools / "pp-run", artifact, "--info=json"])).get("grid")
    if grid:
        say("\nSchedule (rank by rank, one column per unit of time):\n" + re.sub("(?m)^", "  ", grid.rstrip()))
    say()
    say(capture([setup.PYTHON, ROOT / "scripts/demo-golden.py", "compare", PLACE]).rstrip())
    capture([setup.PYTHON, ROOT / "scripts/draw-trace.py", trace, "-o", picture,
             "--title", f"One training step of a GPT on {STAGES} ranks, {MICROBATCHES} microbatches, as it ran"])
    say(f"Trace: {trace.relative_to(ROOT)} (open it in Perfetto), as a picture: {picture.relative_to(ROOT)}")
    return 0
