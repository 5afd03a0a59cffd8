"""Reads an ONNX file: checks it and inlines its functions."""

from __future__ import annotations

import os

import onnx
import onnx.inliner
from google.protobuf.message import DecodeError

from stagewright.errors import ImportFailure
from stagewright.onnx import operators  # noqa: F401  registers the operators
from stagewright.onnx.registry import NEWEST, OLDEST, OPERATORS


def read(path):
    """(model, its version of ai.onnx) of a file or of a ModelProto."""
    if isinstance(path, onnx.ModelProto):
        model, place = onnx.ModelProto(), "model"
        model.CopyFrom(path)
    else:
        model, place = _load(os.fspath(path)), os.fspath(path)
    opset = _opset(model, place)
    try:
        # Checks the file by path: models above 2 GiB cannot be checked in memory.
        onnx.checker.check_model(model if place == "model" else place)
    except (onnx.checker.ValidationError, ValueError) as error:
        raise ImportFailure(f"{place}: the model is not valid ONNX: {_line(error)}; export it again") from error
    return _without_functions(model), opset


def _load(path):
    if not os.path.isfile(path):
        raise ImportFailure(f"'{path}' does not exist" if not os.path.exists(path) else f"'{path}' is not a file")
    try:
        model = onnx.load(path)
    except DecodeError as error:
        raise ImportFailure(f"'{path}' is not an ONNX file") from error
    except (OSError, onnx.checker.ValidationError) as error:
        raise ImportFailure(f"{path}: the external data cannot be read: {_line(error)}; keep it beside the "
                            "model") from error
    if not model.opset_import or not model.graph.node and not model.graph.output:
        raise ImportFailure(f"'{path}' is not an ONNX file")
    return model


def _opset(model, place):
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    if not versions:
        raise ImportFailure(f"{place}: the model has no operators of ai.onnx; other domains are not supported")
    if not OLDEST <= versions[0] <= NEWEST:
        way = "export it with an older opset" if versions[0] > NEWEST else \
            f"convert it with onnx.version_converter.convert_version(model, {OLDEST})"
        raise ImportFailure(f"{place}: the model has opset {versions[0]}, supported are {OLDEST} to {NEWEST}; {way}")
    return versions[0]


def _without_functions(model):
    """Inlines the file's functions, and operators that ONNX defines by others and that are not implemented here."""
    if model.functions:
        model = onnx.inliner.inline_local_functions(model, True)
    found = {}
    for node in _nodes(model.graph):
        if node.domain in ("", "ai.onnx") and node.op_type not in OPERATORS and (schema := _schema(node.op_type)):
            found[node.domain, node.op_type] = schema
            given = {attribute.name for attribute in node.attribute}  # the inliner does not apply default values
            node.attribute.extend(a.default_value for name, a in schema.attributes.items()
                                  if name not in given and a.default_value.type)
    if found:
        model = onnx.inliner.inline_selected_functions(model, sorted(found), inline_schema_functions=True)
    return model


def _nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _nodes(attribute.g)


def _schema(name):
    """ONNX's schema of an operator that it defines by others, or None."""
    schema = onnx.defs.get_schema(name) if onnx.defs.has(name) else None
    return schema if schema is not None and schema.has_function else None


def _line(error):
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
