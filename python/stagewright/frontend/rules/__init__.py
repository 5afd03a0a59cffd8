"""Rules of the evaluator, one file per family of operations. Importing this package registers them."""

from stagewright.frontend.rules import arrays, calls, loops, random, scatter, windows  # noqa: F401
