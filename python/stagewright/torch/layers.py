"""The modules that are layers of a model, by path: the planner cuts between them, and they name the scopes."""

from __future__ import annotations

import contextlib
import fnmatch

import jax
import torch

from stagewright.errors import ImportFailure


def find_layers(module, patterns=None):
    """{id of a module: path} of the layers.

    `patterns` are class names, or paths with wildcards (`h.*`). Without them the layers are the modules that the model declares
    indivisible (`_no_split_modules`, as in HuggingFace's models), else the members of the outermost ModuleLists, else those of
    the outermost Sequentials.
    """
    modules = dict(module.named_modules())
    if patterns is not None:
        found = {path for path, m in modules.items() if path and any(_matches(path, m, p) for p in patterns)}
        for pattern in patterns:
            if not any(_matches(path, m, pattern) for path, m in modules.items()):
                raise ImportFailure(f"option 'layers': no module has the class or path '{pattern}'; paths are "
                                    f"{', '.join(list(filter(None, modules))[:12])} ...")
    else:
        kinds = {name for m in modules.values() for name in getattr(m, "_no_split_modules", None) or ()}
        found = {path for path, m in modules.items() if path and type(m).__name__ in kinds}
        for kind in (torch.nn.ModuleList, torch.nn.Sequential):
            found = found or {f"{path}.{name}".lstrip(".") for path, m in modules.items() if isinstance(m, kind)
                              for name, _ in m.named_children()}
    return {id(modules[path]): path for path in modules
            if path in found and not any(path.startswith(f"{other}.") for other in found)}


def _matches(path, module, pattern):
    return type(module).__name__ == pattern or fnmatch.fnmatchcase(path, pattern)


class Scopes:
    """Names operations inside a layer by the layer, and all others by the outermost module that contains no layer."""

    def __init__(self, module, patterns=None):
        layers = find_layers(module, patterns)
        paths = {id(m): path for path, m in module.named_modules()}
        above = {path[:i] for path in layers.values() for i, letter in enumerate(path) if letter == "."} | {""}
        self.paths = paths
        self.scopes = {number: path for number, path in paths.items() if path not in above}
        self.layers = list(layers.values())

    @contextlib.contextmanager
    def naming(self, environment):
        """Context in which module calls have scopes, and the environment knows the running module."""
        original, running, depth = torch.nn.Module.__call__, environment.modules, 0

        def call(module, *args, **kwargs):
            nonlocal depth
            path = self.paths.get(id(module))
            if path is None:
                return original(module, *args, **kwargs)
            scope = self.scopes.get(id(module)) if depth == 0 else None
            running.append(path)
            depth += scope is not None
            with jax.named_scope(scope) if scope is not None else contextlib.nullcontext():
                result = original(module, *args, **kwargs)
            depth -= scope is not None
            running.pop()  # not after an error, which reports the path
            return result

        torch.nn.Module.__call__ = call
        try:
            yield
        finally:
            torch.nn.Module.__call__ = original
