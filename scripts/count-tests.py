#!/usr/bin/env python3
"""Sums the counts that `./dev test` leaves under build/reports: `N passed, M failed` over the builds and kinds of .ci/run."""

import json
import pathlib
import sys

counts = [count for preset in ("release", "asan", "tsan")
          if (report := pathlib.Path(sys.argv[1], f"{preset}.json")).exists()
          for count in json.loads(report.read_text()).values()]
passed, failed, skipped = (sum(count[key] for count in counts) for key in ("passed", "failed", "skipped"))
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(1 if failed or not passed else 0)
