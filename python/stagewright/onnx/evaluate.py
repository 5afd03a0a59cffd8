"""Evaluates an ONNX graph in JAX, node by node.

Values that depend on no argument of the step stay numpy arrays: a node with only such inputs is computed at once, unless it
is random or has a subgraph, by ONNX's own reference implementation with ONNX's 64-bit integers. So shapes, arithmetic on them
and the choice of branches are known when an operator needs them. A result of more than FOLD_LIMIT elements is computed
again by JAX, unless its node is a Constant or JAX has no rule for it. So the module keeps, for example, the operations that
compute a mask, not the mask as a dense constant.

The JAX rule of every node that is not folded is called from a code object whose file name is the model's and whose line is the
node's number. So errors and locations of JAX, MLIR and the compiler read `model.onnx:17`.
"""

from __future__ import annotations

import contextlib
import pathlib
import types

import jax
import jax.numpy as jnp
import numpy as np
import onnx
from jax.extend import source_info_util
from onnx.reference import ReferenceEvaluator

from stagewright.errors import ImportFailure
from stagewright.onnx import operators  # noqa: F401  registers the operators
from stagewright.onnx.names import scope_of
from stagewright.onnx.registry import OPERATORS, Node, is_known, node_name

FOLD_LIMIT = 4096  # elements, as in stagewright.frontend.evaluate

source_info_util.register_exclusion(str(pathlib.Path(__file__).parent))


class Evaluation:
    """One evaluation of one model. `remarks` are texts for the user, in order and without duplicates."""

    def __init__(self, opset, place, scopes=None):
        self.opset, self.place, self.scopes, self.remarks = opset, place, scopes or {}, []

    def remark(self, text):
        if text not in self.remarks:
            self.remarks.append(text)

    def run(self, graph, values, outputs=None):
        """Evaluates a graph; `values` holds the values known so far, by name. Returns the values of the outputs."""
        outputs = [value.name for value in graph.output] if outputs is None else outputs
        values = dict(values)
        for proto in graph.initializer:
            if proto.name not in values:
                values[proto.name] = onnx.numpy_helper.to_array(proto)
        needed = needed_nodes(graph, outputs)
        for line, proto in enumerate(graph.node, 1):
            if line - 1 not in needed:
                continue
            node = Node(proto, self.opset, self.place, self)
            node.values = values
            inputs = [values[name] if name else None for name in proto.input]
            results = self.node(node, inputs, line)
            values.update((name, result) for name, result in zip(proto.output, results) if name)
        return [values[name] for name in outputs]

    def node(self, node, inputs, line):
        """The outputs of one node, evaluated in its scopes (names.py)."""
        while inputs and inputs[-1] is None:
            inputs.pop()
        has_graph = any(a.type == onnx.AttributeProto.GRAPH for a in node.proto.attribute)
        if not has_graph and all(map(is_known, inputs)) and not node.op_type.startswith(("Random", "Bernoulli")):
            results = fold(node, inputs)
            if node.op_type == "Constant" or node.op_type not in OPERATORS or all(map(_small, results)):
                return results
        if node.op_type not in OPERATORS or node.proto.domain not in ("", "ai.onnx"):
            raise unsupported(node)
        rule = OPERATORS[node.op_type]
        arguments = [self.argument(node, rule, position, value) for position, value in enumerate(inputs)]
        call = _called_from(rule.function, node.place, line, node.name)
        with contextlib.ExitStack() as stack:
            for name in self.scopes.get(node_name(node.proto)) or scope_of(node.proto):
                stack.enter_context(jax.named_scope(name))
            try:
                results = call(node, *arguments)
            except (ImportFailure, RecursionError):
                raise
            except Exception as error:
                shapes = ", ".join("none" if v is None else f"{v.dtype}{list(v.shape)}" if hasattr(v, "dtype")
                                   else f"a sequence of {len(v)}" for v in inputs)
                reason = next((text for text in str(error).splitlines() if text.strip()), type(error).__name__)
                raise node.failure(f"cannot be evaluated on inputs {shapes}: {reason}; check the model with "
                                   "onnx.checker.check_model(model, full_check=True)") from error
        return list(results) if isinstance(results, tuple) else [results]

    def argument(self, node, rule, position, value):
        """Checks an input and returns it unchanged (a list: item by item). Fails if the operator needs its value at import and
        it is not known, or if it has integers that do not fit in 32 bits while JAX computes with 32."""
        name = node.proto.input[position]
        if position in rule.static:
            if not is_known(value):
                raise node.failure(f"input {position} ('{name}') depends on the step's arguments, but sizes of arrays "
                                   "must be known at import; export the model with fixed shapes, without dynamic axes")
            return value
        if isinstance(value, list):
            return [self.argument(node, rule, position, item) for item in value]
        if isinstance(value, np.ndarray) and value.dtype == np.int64 and not jax.config.jax_enable_x64 and value.size:
            if value.max() > np.iinfo(np.int32).max or value.min() < np.iinfo(np.int32).min:
                raise node.failure(f"input {position} ('{name}') has integers from {value.min()} to {value.max()}, but "
                                   "64-bit integers are computed with 32 bits; export the model with smaller ones")
        return value


def needed_nodes(graph, outputs):
    """Numbers of the nodes that the outputs need."""
    wanted, needed = set(outputs), set()
    for number in reversed(range(len(graph.node))):
        if wanted.intersection(filter(None, graph.node[number].output)):
            needed.add(number)
            wanted |= node_reads(graph.node[number])
    return needed


def node_reads(proto):
    """Names that a node may read: its inputs, and outer values that its subgraphs use."""
    names = set(filter(None, proto.input))
    for attribute in proto.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            names.update(value.name for value in attribute.g.output)
            names.update(*map(node_reads, attribute.g.node))
    return names


def fold(node, inputs):
    """The outputs of a node whose inputs are all known, by ONNX's reference implementation."""
    names = [name for name in node.proto.input if name]
    version = [onnx.helper.make_opsetid(node.proto.domain, node.opset)]
    outputs = [name for name in node.proto.output if name]
    function = onnx.helper.make_function("stagewright", "fold", list(dict.fromkeys(names)), outputs, [node.proto],
                                         version)
    try:
        with np.errstate(all="ignore"):  # infinities are intended, in masks for example
            values = {**dict.fromkeys(names), **dict(zip(node.proto.input, inputs))}
            made = ReferenceEvaluator(function).run(None, values, {})
    except Exception as error:
        raise node.failure(f"cannot be computed from its constant inputs: {error}; check the model with "
                           "onnx.checker.check_model(model, full_check=True)") from error
    found = dict(zip(outputs, made))
    return [_array(found.get(name)) for name in node.proto.output]


def unsupported(node):
    domain = node.proto.domain
    if domain not in ("", "ai.onnx"):
        return node.failure(f"operators of the domain '{domain}' are not supported; export with operators of ai.onnx "
                            "only")
    return node.failure("the operator is not supported; export the model without it, or import only the part of the model "
                        "without it (onnx.utils.extract_model cuts a model between named tensors)")


def _array(value):
    return value if value is None or isinstance(value, list) else np.asarray(value)


def _small(value):
    return value is None or isinstance(value, list) or value.size <= FOLD_LIMIT


def _called_from(function, file, line, name):
    """`function`, called from a code object with this file, line and name."""
    code = (lambda *arguments: function(*arguments)).__code__
    code = code.replace(co_filename=str(file), co_firstlineno=line, co_name=name, co_qualname=name)
    return types.FunctionType(code, {}, closure=(types.CellType(function),))


def apply(model, values, outputs=None):
    """The outputs of a model for values by name, and its remarks."""
    evaluation = Evaluation(model.opset, model.place, model.scopes)
    results = evaluation.run(model.graph, {**model.constants, **values}, outputs)
    return [jnp.asarray(r) if isinstance(r, np.ndarray) else r for r in results], evaluation.remarks
