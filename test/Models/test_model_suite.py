"""A fixed sample of the suite of training steps: each equals JAX for 1 stage, 2 stages, the planner's choice, 2 shards, 2 stages of 2
shards, and on an emulated GPU.

The sample's steps need JAX and optax only. `./dev test models` runs all steps and installs the libraries that they need."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import catalog  # noqa: E402
import suite  # noqa: E402
from tiers import thorough  # noqa: E402

if os.environ.get("STAGEWRIGHT_PYTHON") == "OFF":
    pytest.skip("the binding was not asked for (STAGEWRIGHT_PYTHON=OFF)", allow_module_level=True)

LIBRARIES = ("arrays", "control", "jax-nn", "jax-scipy", "lax", "plain", "plain-nets")
SAMPLE = [entry for library in LIBRARIES for entry in catalog.load(library).values() if entry.sample]
# Every third step in bfloat16, the others in float32.
ORDINARY = [f"{entry.name} {entry.dtypes[0 if n % 3 else -1]}" for n, entry in enumerate(SAMPLE)]
NAMES = [f"{entry.name} {dtype}" for entry in SAMPLE for dtype in entry.dtypes]
# Every other step waits for the thorough tier: a step takes 4 s in all.
NAMES = [*ORDINARY[::2], *thorough(name for name in NAMES if name not in ORDINARY[::2])]
GOOD = ("equal", "refused as expected")


@pytest.fixture(scope="module")
def results(request):
    """The outcomes of all steps that this session selects, from one run of the suite."""
    wanted = [item.callspec.params["name"].split() for item in request.session.items
              if item.path == request.path and hasattr(item, "callspec")]
    jobs = max(1, (os.cpu_count() or 1) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1)))
    outcomes = {}
    for dtype in sorted({dtype for _, dtype in wanted}):
        names = sorted(name for name, of in wanted if of == dtype)
        outcomes |= suite.run(suite.options([*names, "--sample", f"--dtype={dtype}", f"--jobs={jobs}"]), tell=lambda line: None)
    return outcomes


@pytest.mark.parametrize("name", NAMES)
def test_step(results, name):
    outcomes = results[name]["stages"]
    assert outcomes and not {s: o for s, o in outcomes.items() if o["kind"] not in GOOD}


def test_sample_is_large_enough():
    assert len(SAMPLE) >= 40
