import os
import pathlib
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", HERE.parents[1] / "build"))
os.environ["XDG_CACHE_HOME"] = str(BUILD / "cache")  # what the compiler keeps between compiles
sys.path[:0] = [str(BUILD / "python"), str(HERE.parents[1] / "python"), str(HERE)]

import sharded  # noqa: E402
from workshop import Workshop, call  # noqa: E402


@pytest.fixture(scope="session")
def workshop_of_all(tmp_path_factory):
    # The parent of the folders of all processes of pytest-xdist, if this is one.
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    shared.mkdir(exist_ok=True)
    return Workshop(tmp_path_factory.mktemp("integration"), shared)


@pytest.fixture(scope="module")
def workshop(workshop_of_all, request):
    """What all files of tests share; paths are in a folder of this file's own, so that two files may use the same names."""
    workshop_of_all.open_folder(request.path.stem)
    return workshop_of_all


@pytest.fixture
def imported(workshop_of_all):
    """By model, a folder with the module, its inputs and JAX's results."""
    def make(model):
        def write(folder):
            folder.mkdir()
            call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models" / model, "-o", folder / "step.mlir", env=sharded.SMALL)
            call(sys.executable, HERE / "golden.py", "make", HERE / "models" / model, sharded.MICROBATCHES, "-o", folder / "jax", env=sharded.SMALL)
        return workshop_of_all.file(write, "shards", model)
    return make
