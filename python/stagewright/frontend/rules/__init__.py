"""Rules of the evaluator, one file per family of operations. Importing this package registers them."""

from stagewright.frontend.rules import (arithmetic, arrays, calls, exported, linear, loops, mapped, order, random,  # noqa: F401
                                        refused, scatter, special, windows)
