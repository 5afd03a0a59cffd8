"""Rules of the evaluator, one file per family of operations. Importing this package registers them."""

from stagewright.frontend.rules import (arithmetic, arrays, calls, linear, loops, order, random, scatter,  # noqa: F401
                                        special, windows)
