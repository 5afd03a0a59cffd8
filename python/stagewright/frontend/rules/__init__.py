"""Rules of the evaluator, one file per family of operations. Importing this package registers them."""

from stagewright.frontend.rules import arithmetic, arrays, calls, loops, order, random, scatter, windows  # noqa: F401
