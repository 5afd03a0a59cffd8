"""The demo: a GPT training step from JAX, compiled for 4 stages, run, and compared with JAX's loss and gradients.

Files that do not depend on the compiler (the imported module, the 8 microbatches, JAX's results) are kept under build/demo and
made again if their sources change; compilation and the run are done every time."""

import hashlib

from . import setup
from .console import BUILD, ROOT, capture, say, stream

MODEL = ROOT / "test/Integration/models/gpt.py"
GOLDEN = ROOT / "test/Integration/golden.py"
STAGES, MICROBATCHES = 4, 8
PLACE = BUILD / "demo"
# What it runs, and what the README then uses; tests and benches are not built.
TOOLS = ("pp-opt", "pp-compile", "pp-run", "pp-plan", "pp-sim", "pp-translate")


def _key():
    """A hash of everything that the imported module and JAX's results depend on."""
    files = [ROOT / "python/requirements.txt", MODEL, MODEL.parent / "common.py", GOLDEN,
             *(ROOT / "python/stagewright").rglob("*.py")]
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
    stream("Importing the GPT step from JAX",
           [setup.PYTHON, "-m", "stagewright", "import", "jax", f"{MODEL}:gpt", "-o", PLACE / "gpt.mlir"],
           lambda line: line)
    stream(f"Running {MICROBATCHES} different microbatches in JAX",
           [setup.PYTHON, GOLDEN, "make", f"{MODEL}:gpt", MICROBATCHES, "-o", PLACE / "jax"], lambda line: line)
    stamp.write_text(key)


def run(options):
    """`./dev demo`: fails if the loss or a gradient is outside the tolerance."""
    setup.everything(targets=TOOLS)
    _prepare()
    artifact, trace, picture = PLACE / "gpt.swx", PLACE / "trace.json", PLACE / "schedule.svg"
    tools, log = setup.tree("release") / "bin", PLACE / "compile.txt"
    stream(f"Compiling for {STAGES} stages", [tools / "pp-compile", PLACE / "gpt.mlir", f"--cluster=local:{STAGES}", f"--stages={STAGES}",
                                              f"--microbatches={MICROBATCHES}", "-o", artifact],
           lambda line: None, keep=log)
    say("\n" + log.read_text().strip() + "\n")
    say(capture([tools / "pp-run", artifact, f"--inputs={PLACE / 'jax.inputs.safetensors'}", "--steps=3",
                 f"--outputs={PLACE / 'outputs.safetensors'}", f"--trace={trace}"]).rstrip())
    (PLACE / "manifest.json").write_text(capture([tools / "pp-run", artifact, "--info=json"]))
    say(capture([setup.PYTHON, ROOT / "scripts/demo-compare.py", PLACE / "manifest.json",
                 PLACE / "jax.golden.safetensors", PLACE / "outputs.safetensors"]).rstrip())
    capture([setup.PYTHON, ROOT / "scripts/draw-trace.py", trace, "--grid", log, "-o", picture,
             "--title", f"A training step of a GPT on {STAGES} ranks with {MICROBATCHES} microbatches"])
    say(f"Trace      {trace.relative_to(ROOT)} (for ui.perfetto.dev); as a picture: {picture.relative_to(ROOT)}")
    return 0
