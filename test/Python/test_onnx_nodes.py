"""ONNX's own test cases of its operators: each is computed correctly, or refused with its node's name."""

import re
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

from onnx.backend.test.case.node import collect_testcases  # noqa: E402

from stagewright import ImportFailure  # noqa: E402
from stagewright.onnx.evaluate import Evaluation  # noqa: E402
from stagewright.onnx.reading import read  # noqa: E402
from stagewright.onnx.registry import NEWEST, OLDEST, OPERATORS  # noqa: E402

# Names of the cases that are refused; all others must be correct. A case with `expanded` in its name has the operator
# replaced by others.
NARROW = "FLOAT[48].*|U?INT[24].*"
REFUSED = re.compile("|".join(f"test_({names})" for names in (
    "bernoulli.*", "training_dropout(?!.*zero_ratio).*",
    f"cast_.*_to_({NARROW})", f"castlike_.*_to_({NARROW})(_expanded)?", "bitcast_.*64.*|bitcast_bool_to_uint8",
    "(de)?quantizelinear_(e[45]m.*|u?int[24]|float4.*)", "qlinearmatmul_.*",
    "dft.*|stft.*", "basic_deform_conv.*|deform_conv.*", "col2im.*", "gridsample.*", "roialign.*", "image_decoder.*",
    "maxpool_with_argmax.*", "maxunpool.*", "unique_(?!length_1).*",
    "(?!.*expanded)(linear_attention|causal_conv|flexattention|sequence_map).*")))


def cases():
    """{operator: its cases of the supported opsets, without strings}, including those where it is replaced by others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases(None)
    names = {case.name: case.model.graph.node[0].op_type for case in found if "_expanded" not in case.name}
    table = {}
    for case in found:
        versions = [entry.version for entry in case.model.opset_import if entry.domain == ""]
        kinds = {value.type.tensor_type.elem_type for value in (*case.model.graph.input, *case.model.graph.output)}
        if versions and onnx.TensorProto.STRING not in kinds and OLDEST <= versions[0] <= NEWEST:
            table.setdefault(names[re.sub(r"_expanded.*", "", case.name)], []).append(case)
    return table


CASES = cases()


class Prepared:
    """A case as a function of the inputs whose values need not be known at import."""

    def __init__(self, case):
        self.case = case
        model, self.opset = read(case.model)
        self.graph = model.graph
        (inputs, self.outputs), = case.data_sets
        self.outputs = [_array(value) for value in self.outputs]
        self.inputs = dict(zip((value.name for value in self.graph.input), map(_array, inputs)))
        positions = {proto.input[i] for proto in self.graph.node if proto.op_type in OPERATORS
                     for i in OPERATORS[proto.op_type].static if i < len(proto.input)}
        self.known = {k for k, v in self.inputs.items() if k in positions or not isinstance(v, np.ndarray)}
        try:
            self.trace()
        except ImportFailure as error:
            if "depend" not in str(error):
                raise
            # An expanded operator computes sizes from an input: take small inputs as known.
            self.known |= {k for k, v in self.inputs.items() if isinstance(v, np.ndarray) and
                           (v.size == 1 or v.dtype.kind in "iub" and v.size <= 20)}
            self.trace()

    def arguments(self):
        return {k: v for k, v in self.inputs.items() if k not in self.known}

    def trace(self):
        jax.eval_shape(self, self.arguments())

    def __call__(self, arguments):
        values = {**{k: self.inputs[k] for k in self.known}, **arguments}
        return [jax.tree.map(jnp.asarray, r) for r in Evaluation(self.opset, "case").run(self.graph, values)]


def _array(value):
    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return list(map(_array, value)) if isinstance(value, (list, tuple)) else value


def _check(case, found, golden):
    """Equal within the relative tolerance of ONNX's own tests (for bfloat16 two units in the last place), plus 1e-6."""
    if isinstance(golden, list):
        assert len(found) == len(golden)
        for pair in zip(found, golden):
            _check(case, *pair)
        return
    if isinstance(found, list):  # an optional sequence of one array
        found, = found
    golden, found = np.asarray(golden), np.asarray(found)
    assert found.shape == golden.shape
    assert jnp.issubdtype(found.dtype, np.inexact) == jnp.issubdtype(golden.dtype, np.inexact)
    relative = 2.0**-6 if golden.dtype.name == "bfloat16" else max(case.rtol, 1e-3)
    np.testing.assert_allclose(found.astype(np.float64), golden.astype(np.float64), relative, max(case.atol, 1e-6))


@pytest.mark.parametrize("operator", sorted(CASES))
def test_operator(operator):
    prepared, wrong = [], []
    for case in CASES[operator]:
        try:
            prepared.append(Prepared(case))
            if REFUSED.fullmatch(case.name):
                wrong.append(f"{case.name} is not refused")
        except ImportFailure as error:
            message = str(error)
            if not REFUSED.fullmatch(case.name) or not re.fullmatch(r"(?s)\w+: node '.*' \(\w+\): .+; .+", message):
                wrong.append(f"{case.name}: {message}")
    assert not wrong, "\n".join(wrong)
    results = jax.jit(lambda arguments: [p(a) for p, a in zip(prepared, arguments)])([p.arguments() for p in prepared])
    for p, found in zip(prepared, results):
        try:
            _check(p.case, found, p.outputs)
        except AssertionError as error:
            raise AssertionError(f"{p.case.name}: {error}") from error


def test_most_cases_are_computed():
    """Refusals stay the exception."""
    refused = sum(bool(REFUSED.fullmatch(case.name)) for found in CASES.values() for case in found)
    total = sum(map(len, CASES.values()))
    assert total > 1500 and refused < 0.15 * total, f"{refused} of {total}"
