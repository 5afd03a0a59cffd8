"""`./dev bench`: the benchmarks in bench/."""

import sys

from .console import ROOT

sys.path.insert(0, str(ROOT))

from bench.harness.main import options, run  # noqa: E402, F401
