"""Names of arguments and of the leaves of trees."""

from __future__ import annotations

import inspect


def tree_path(root, keys):
    """A leaf's name: `root` and the keys that lead to it, separated by slashes."""
    parts = [root] if root else []
    for key in keys:
        parts.append(str(next(getattr(key, a) for a in ("key", "idx", "name") if hasattr(key, a))))
    return "/".join(parts)


def argument_names(function, count):
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [names[i] if i < len(names) else f"arg{i}" for i in range(count)]
