"""An ONNX model as a function for JAX: its parameters, frozen values and inputs."""

from __future__ import annotations

import fnmatch
import hashlib
import os

import jax.numpy as jnp
import numpy as np
import onnx

from stagewright.errors import ImportFailure
from stagewright.onnx.evaluate import apply, needed_nodes, node_reads
from stagewright.onnx.names import scopes_of
from stagewright.onnx.reading import read
from stagewright.onnx.registry import OPERATORS, jax_type, node_name

KIND = "pkg.torch.export.graph_signature.InputSpec.kind"  # the kind of an initializer, written by PyTorch's exporter
PARAMETER = "PARAMETER"
STATISTICS = {"BatchNormalization": (3, 4)}  # inputs that are not learned by gradients


class Model:
    """An ONNX file as a function: `model(parameters, name=array, ...)` returns {output name: array}.

    `parameters` holds the trainable floating-point initializers by name: those that PyTorch's exporter marks as parameters, or,
    in files without marks, those of one or more dimensions. `frozen` has the others of one or more dimensions: running
    statistics of batch normalizations, buffers, masks, and those that match a pattern of the option `frozen`. They can be
    passed with the parameters; by default they have the file's values. All other initializers are constants of the function.
    `inputs` holds example arrays, `unclear` the names of parameters that PyTorch's exporter computed itself, `remarks` notes
    for the user.

    `dims` gives sizes for the file's open dimensions: {"batch": 4}, or {"tokens[0]": 4} for one without a name.
    """

    def __init__(self, path, *, dims=None, frozen=()):
        proto, self.opset = read(path)
        self.place = "model" if isinstance(path, onnx.ModelProto) else os.fspath(path)
        self.graph, self.remarks = proto.graph, []
        if self.graph.sparse_initializer:
            raise ImportFailure(f"{self.place}: initializer '{self.graph.sparse_initializer[0].values.name}' is "
                                "sparse, which is not supported; export the model with dense initializers")
        self.parameters, self.frozen, self.constants, self.unclear = {}, {}, {}, []
        self._initializers(frozen)
        del self.graph.initializer[:]
        self.scopes = scopes_of(self.graph, {*self.parameters, *self.frozen})
        self.outputs = [value.name for value in self.graph.output]
        self._inputs(dict(dims or {}))
        self._shared()

    def __call__(self, parameters, **inputs):
        """The outputs for input arrays by name."""
        if unknown := sorted(set(inputs) ^ set(self.inputs)):
            raise ImportFailure(f"{self.place}: input '{unknown[0]}' is "
                                f"{'missing' if unknown[0] in self.inputs else 'unknown'}; the inputs are "
                                f"{', '.join(self.inputs)}")
        return dict(zip(self.outputs, self.evaluate(parameters, inputs, self.outputs)))

    def evaluate(self, parameters, inputs, outputs):
        """Values of the graph by name; `parameters` may include frozen ones."""
        values = {**{k: jnp.asarray(v) for k, v in self.frozen.items() if k not in parameters}, **parameters, **inputs}
        results, remarks = apply(self, values, outputs)
        self.remarks += [text for text in remarks if text not in self.remarks]
        return results

    def read_by(self, outputs):
        """Names of the initializers and inputs that the outputs depend on; a remark lists the others."""
        read = set(outputs)
        for number in needed_nodes(self.graph, outputs):
            read |= node_reads(self.graph.node[number])
        for what, names in (("initializer", (*self.parameters, *self.frozen)), ("input", self.inputs)):
            if unread := [name for name in names if name not in read]:
                more = f" and {len(unread) - 1} more are" if len(unread) > 1 else " is"
                self.remarks.append(f"{what} '{unread[0]}'{more} left out: nothing that is computed reads it")
        return read

    def _initializers(self, patterns):
        static, statistics = _positions(self.graph)
        kinds = {value.name: entry.value for value in (*self.graph.value_info, *self.graph.initializer)
                 for entry in value.metadata_props if entry.key == KIND}
        kinds = {proto.name: kinds[proto.name] for proto in self.graph.initializer if proto.name in kinds}
        used = set()
        for proto in self.graph.initializer:
            kind = kinds.get(proto.name)
            array = onnx.numpy_helper.to_array(proto)
            matched = [p for p in patterns if fnmatch.fnmatchcase(proto.name, p)]
            used.update(matched)
            is_scalar = array.ndim == 0 and kind != PARAMETER
            if not jnp.issubdtype(array.dtype, np.floating) or is_scalar or proto.name in static:
                self.constants[proto.name] = array
            elif array.dtype == np.float64:
                raise ImportFailure(f"{self.place}: initializer '{proto.name}' is of type float64, which is not "
                                    "supported; export the model with float32")
            elif matched or proto.name in statistics or kind not in (None, PARAMETER) or _is_mask(array):
                self.frozen[proto.name] = array
            else:
                self.parameters[proto.name] = array
                self.unclear += [proto.name] if PARAMETER in kinds.values() and kind is None else []
        if unused := [p for p in patterns if p not in used]:
            names = [proto.name for proto in self.graph.initializer]
            raise ImportFailure(f"{self.place}: no initializer is called '{unused[0]}'; the initializers are "
                                f"{', '.join(names[:20])}{', ...' if len(names) > 20 else ''}")

    def _inputs(self, dims):
        self.inputs, used = {}, set()
        known = {*self.parameters, *self.frozen, *self.constants}
        random = np.random.default_rng(0)
        for value in self.graph.input:
            if value.name in known:
                continue
            tensor = value.type.tensor_type
            if not value.type.HasField("tensor_type") or tensor.elem_type in (0, onnx.TensorProto.STRING):
                raise ImportFailure(f"{self.place}: input '{value.name}' is not an array of numbers, which is not "
                                    "supported; export the model with arrays as inputs")
            shape = []
            for axis, dim in enumerate(tensor.shape.dim):
                names = [f"{value.name}[{axis}]"] + ([dim.dim_param] if dim.dim_param else [])
                asked = [name for name in names if name in dims]
                used.update(asked)
                if asked:
                    shape.append(int(dims[asked[0]]))
                elif dim.HasField("dim_value"):
                    shape.append(dim.dim_value)
                else:
                    raise ImportFailure(f"{self.place}: dimension {axis} of input '{value.name}' has no size in the "
                                        f"file; give one, with --dim '{names[-1]}=SIZE' or dims={{'{names[-1]}': SIZE}}")
            kind = jax_type(tensor.elem_type)
            made = random.standard_normal(shape) if jnp.issubdtype(kind, np.floating) else np.ones(shape)
            self.inputs[value.name] = np.asarray(made, kind)
        if unused := [name for name in dims if name not in used]:
            raise ImportFailure(f"{self.place}: no dimension is called '{unused[0]}'; the inputs are "
                                f"{', '.join(_described(v) for v in self.graph.input if v.name not in known)}")

    def _shared(self):
        """Adds remarks on initializers that several layers read, and on those that an exporter duplicated."""
        readers, copies = {}, {}
        for proto in self.graph.node:
            for name in proto.input:
                if name in self.parameters:
                    readers.setdefault(name, {}).setdefault(self.scopes[node_name(proto)], node_name(proto))
        for name, nodes in readers.items():
            if len(nodes) > 1:
                first, second = list(nodes.values())[:2]
                self.remarks.append(f"initializer '{name}' is shared: nodes '{first}' and '{second}' read it; it is "
                                    "one parameter, whose gradient is the sum")
        for name, array in self.parameters.items():
            if array.size > 1 and array.any() and not (array == array.flat[0]).all():
                key = hashlib.sha256(np.ascontiguousarray(array)).digest(), array.shape, array.dtype
                if (first := copies.setdefault(key, name)) != name:
                    self.remarks.append(f"initializers '{first}' and '{name}' hold the same numbers; if the model "
                                        "shares them, training makes them differ: export them as one")


def _is_mask(array):
    """Whether an array has values that only masks have: an infinity, or a large number that replaces it."""
    return array.size > 0 and not np.abs(array.astype(np.float32)).max() < 1e30


def _positions(graph):
    """Names of values that operators need at import, and of running statistics, in a graph and its subgraphs."""
    static, statistics = set(), set()
    for proto in graph.node:
        if proto.op_type in OPERATORS:
            static.update(proto.input[i] for i in OPERATORS[proto.op_type].static if i < len(proto.input))
        statistics.update(proto.input[i] for i in STATISTICS.get(proto.op_type, ()))
        for attribute in proto.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                inner = _positions(attribute.g)
                static |= inner[0]
                statistics |= inner[1]
    return static, statistics


def _described(value):
    dims = value.type.tensor_type.shape.dim
    sizes = [d.dim_param or (str(d.dim_value) if d.HasField("dim_value") else "?") for d in dims]
    return f"{value.name}[{', '.join(sizes)}]"
