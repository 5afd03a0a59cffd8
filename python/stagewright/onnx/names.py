"""Scopes of nodes, from the names that exporters leave in a file.

PyTorch's exporter writes the path of modules into the node's metadata; the older one and those of TensorFlow and Keras write it
into the node's name (`/model/layers.0/attn/MatMul`). If neither is present, the name of a parameter that the node reads has the
same path (`layers.0.attn.weight`). A number stays with the name before it: `model.layers.0.attn` has the scopes `model`,
`layers.0` and `attn`.
"""

from __future__ import annotations

import ast
import re

NAME_SCOPES = "pkg.torch.onnx.name_scopes"


def scope_of(proto):
    """The scopes of a node, outermost first; empty if the file has none."""
    for entry in proto.metadata_props:
        if entry.key == NAME_SCOPES and (path := _module_path(entry.value)):
            return split(path)
    return split(proto.name.strip("/").rpartition("/")[0].replace("/", "."))


def scopes_of(graph, parameters):
    """{name of a node: its scopes}, from the file, or from the path of the first parameter that it reads."""
    from stagewright.onnx.registry import node_name
    found = {}
    for proto in graph.node:
        scopes = scope_of(proto)
        if not scopes:
            paths = [name.rpartition(".")[0] for name in proto.input if name in parameters]
            scopes = split(paths[0]) if paths else ()
        found[node_name(proto)] = scopes
    return found


def split(path):
    """The scopes of a path of modules: `a.b.0.c` is a, b.0, c; characters not allowed in a scope become `_`."""
    scopes = []
    for part in filter(None, re.split(r"[./:]+", path)):
        part = re.sub(r"[^\w-]", "_", part)
        if part.isdigit() and scopes:
            scopes[-1] += f".{part}"
        else:
            scopes.append(part)
    return tuple(scopes)


def _module_path(text):
    """The innermost module of PyTorch's list: ['', 'layers.0', 'layers.0.attn', 'linear'] -> layers.0.attn."""
    try:
        names = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return ""
    return names[-2] if isinstance(names, list) and len(names) > 1 else ""
