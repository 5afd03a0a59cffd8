"""Converts steps to linalg, one after another, as `python -m stagewright.frontend.to_linalg` does for one.

Runs as a separate process, with torch-mlir's copy of MLIR. Reads a folder name per line and answers with a line of JSON:
{} or {"refused": text} or {"failed": text}."""

import json
import sys
import traceback

from stagewright.errors import ImportFailure
from stagewright.frontend.to_linalg.__main__ import convert


def main():
    for line in sys.stdin:
        try:
            convert(line.strip())
            answer = {}
        except ImportFailure as failure:
            answer = {"refused": str(failure)}
        except Exception:
            answer = {"failed": traceback.format_exc().strip().split("\n", 1)[-1][-1500:]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
