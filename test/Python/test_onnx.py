"""ONNX files as steps: what the import writes, which values become parameters, and its error messages."""

import json
import os
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

import stagewright.onnx  # noqa: E402
from stagewright import ImportFailure  # noqa: E402
from stagewright.frontend.jax_step import Step  # noqa: E402
from stagewright.onnx.step import step_of  # noqa: E402

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python")


def value(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def graph_model(nodes, inputs, outputs, initializers=None, opset=18):
    graph = helper.make_graph(nodes, "graph", inputs, outputs,
                              [numpy_helper.from_array(np.asarray(a), n) for n, a in (initializers or {}).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def weights(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32) / 3


def network():
    """Two residual blocks, a batch normalization, a power, and a cross entropy."""
    nodes, initializers, x = [], {}, "x"
    for i in range(2):
        initializers |= {f"h.{i}.fc.weight": weights(8, 16 + i)[:, :16], f"h.{i}.fc.bias": weights(16),
                         f"h.{i}.proj.weight": weights(16, 8)}
        nodes += [helper.make_node("MatMul", [x, f"h.{i}.fc.weight"], [f"a{i}"], name=f"/h.{i}/fc/MatMul"),
                  helper.make_node("Add", [f"a{i}", f"h.{i}.fc.bias"], [f"b{i}"], name=f"/h.{i}/fc/Add"),
                  helper.make_node("Tanh", [f"b{i}"], [f"c{i}"], name=f"/h.{i}/act/Tanh"),
                  helper.make_node("MatMul", [f"c{i}", f"h.{i}.proj.weight"], [f"d{i}"], name=f"/h.{i}/proj/MatMul"),
                  helper.make_node("Add", [x, f"d{i}"], [f"e{i}"], name=f"/h.{i}/Add")]
        x = f"e{i}"
    initializers |= {"bn.scale": weights(8), "bn.bias": weights(8), "bn.mean": weights(8), "bn.var": weights(8) ** 2 + 1,
                     "two": np.float32(2), "head.weight": weights(8, 5)}
    nodes += [helper.make_node("BatchNormalization", [x, "bn.scale", "bn.bias", "bn.mean", "bn.var"], ["n"], name="/bn/Norm"),
              helper.make_node("Pow", ["n", "two"], ["square"], name="/bn/Pow"),
              helper.make_node("MatMul", ["square", "head.weight"], ["logits"], name="/head/MatMul"),
              helper.make_node("SoftmaxCrossEntropyLoss", ["logits", "y"], ["loss"], name="/loss/Loss")]
    return graph_model(nodes, [value("x", ["batch", 8]), value("y", ["batch"], TensorProto.INT64)],
                       [value("logits", ["batch", 5]), value("loss", [])], initializers)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "net.onnx"
    onnx.save(network(), path)
    return path


def stagewright_command(*arguments):
    return subprocess.run([sys.executable, "-m", "stagewright", *map(str, arguments)], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=PACKAGE))


def test_command_imports_a_loss(file, tmp_path):
    out = tmp_path / "net.mlir"
    done = stagewright_command("import", "onnx", file, "--loss=loss", "--dim=batch=4", "-o", out)
    assert done.returncode == 0, done.stderr
    assert "9 parameters, 2 constants, 2 batches, 1 loss, 9 gradients" in done.stdout
    text = out.read_text()
    assert 'pipeline.source = "onnx"' in text
    assert 'pipeline.name = "params/h.0.fc.weight", pipeline.role = "parameter"' in text
    assert 'pipeline.name = "frozen/bn.mean", pipeline.role = "constant"' in text
    assert re.search(r'tensor<4xi32> \{pipeline.batch_dim = 0 : i64, pipeline.name = "y", pipeline.role = "batch"\}', text)
    # Each block is a layer; each operation has its node and position in the file.
    assert '"jit(step)/jvp(h.1)/fc/dot_general"' in text and f'loc("{file}":6:' in text and '"/h.1/fc/MatMul"' in text
    inputs = load_file(str(tmp_path / "net.inputs.safetensors"))
    assert inputs["12"].tolist() == [1, 1, 1, 1] and inputs["11"].shape == (4, 8)


def test_command_imports_inference_with_given_inputs(file, tmp_path):
    x = weights(2, 8)
    np.savez(tmp_path / "examples.npz", x=x, y=np.asarray([3, 4]))
    done = stagewright_command("import", "onnx", file, "--dim=batch=2", "--inputs", tmp_path / "examples.npz", "-o",
                               tmp_path / "net.mlir")
    assert done.returncode == 0, done.stderr
    assert "9 parameters, 2 constants, 2 batches, 2 outputs" in done.stdout
    inputs = load_file(str(tmp_path / "net.inputs.safetensors"))
    assert inputs["12"].tolist() == [3, 4] and (inputs["11"] == x).all()


def test_values_and_gradients_of_a_network():
    model = stagewright.onnx.load(network(), dims={"batch": 4})
    x, y = weights(4, 8), np.asarray([0, 4, 1, 1])
    found = model(model.parameters, x=x, y=y)
    golden = ReferenceEvaluator(network()).run(None, {"x": x, "y": y})
    for name, array in zip(("logits", "loss"), golden):
        np.testing.assert_allclose(found[name], array, 1e-5, 1e-6)
    step, arguments, _ = step_of(model, "loss", {"x": x, "y": y})
    loss, gradients = step(*arguments)
    np.testing.assert_allclose(loss, golden[1], 1e-6)
    direction = {name: weights(*array.shape) for name, array in model.parameters.items()}
    slope = sum(float((gradients[name] * direction[name]).sum()) for name in direction)
    ends = []
    for sign in (1, -1):  # the directional derivative, by the reference implementation in float64
        moved = network()
        for proto in moved.graph.initializer:
            if proto.name in direction:
                array = numpy_helper.to_array(proto).astype(np.float64) + sign * 1e-4 * direction[proto.name]
            else:
                array = numpy_helper.to_array(proto).astype(np.float64)
            proto.CopyFrom(numpy_helper.from_array(array, proto.name))
        ends.append(ReferenceEvaluator(moved).run(["loss"], {"x": x.astype(np.float64), "y": y})[0])
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-4, 1e-4)


def test_evaluated_by_the_importer():
    """The importer's own evaluation of the traced step has the same results."""
    function, arguments, roles = step_of(stagewright.onnx.load(network(), dims={"batch": 4}), "loss")
    step = Step(function, arguments, {"roles": roles})
    for ours, golden in zip(jax.jit(step.flat)(*step.leaves), jax.tree.leaves(jax.jit(function)(*arguments))):
        np.testing.assert_allclose(ours, golden, 1e-5, 1e-7)


def test_own_loss_on_a_loaded_model():
    model = stagewright.onnx.load(network(), dims={"batch": 4})

    def loss(parameters, x):
        return (model(parameters, x=x, y=jnp.zeros(4, int))["logits"] ** 2).mean()

    gradients = jax.grad(loss)(model.parameters, weights(4, 8))
    assert set(gradients) == set(model.parameters) and float(jnp.abs(gradients["head.weight"]).max()) > 0


def test_frozen_initializers_have_no_gradient():
    model = stagewright.onnx.load(network(), dims={"batch": 4}, frozen=["h.0.*", "bn.*"])
    assert sorted(model.parameters) == ["h.1.fc.bias", "h.1.fc.weight", "h.1.proj.weight", "head.weight"]
    assert {"h.0.fc.weight", "bn.mean"} < set(model.frozen) and "two" in model.constants


def told(model, **kinds):
    """Adds the kinds of initializers to a model, in the metadata that PyTorch's exporter uses."""
    for name, kind in kinds.items():
        info = model.graph.value_info.add(name=name)
        info.type.CopyFrom(value(name, ["n"]).type)
        info.metadata_props.add(key="pkg.torch.export.graph_signature.InputSpec.kind", value=kind)
    return model


def sum_of_products(**initializers):
    nodes = [helper.make_node("Mul", ["x" if i == 0 else f"y{i - 1}", name], [f"y{i}"], name=f"/{name}/Mul")
             for i, name in enumerate(initializers)]
    nodes += [helper.make_node("ReduceSum", [f"y{len(nodes) - 1}"], ["loss"], keepdims=0)]
    return graph_model(nodes, [value("x", [3])], [value("loss", [])], initializers)


def test_what_the_exporter_calls_a_parameter_is_trained():
    model = stagewright.onnx.load(told(sum_of_products(scale=np.float32(2), weight=weights(3), table=weights(3)),
                                       scale="PARAMETER", weight="PARAMETER", table="BUFFER"))
    assert sorted(model.parameters) == ["scale", "weight"] and sorted(model.frozen) == ["table"]
    function, arguments, _ = step_of(model, "loss")
    _, gradients = function(*arguments)
    assert gradients["scale"].shape == ()


def test_masks_are_not_trained():
    mask = np.asarray([0, -np.inf, 0], np.float32)
    model = stagewright.onnx.load(sum_of_products(weight=weights(3), mask=mask))
    assert sorted(model.parameters) == ["weight"] and sorted(model.frozen) == ["mask"]


def test_what_the_exporter_made_by_itself_is_not_trained_unasked(tmp_path):
    file = told(sum_of_products(weight=weights(3), val_1=weights(3), val_2=weights(3) + 1), weight="PARAMETER")
    with pytest.raises(ImportFailure, match="PyTorch's exporter made initializer 'val_1' and 1 more from parameters or from "
                                            "constants, and the file does not say from which; export with optimize=False"):
        stagewright.onnx.import_step(file, str(tmp_path / "out.mlir"), loss="loss")
    assert os.listdir(tmp_path) == []
    signature = stagewright.onnx.import_step(file, str(tmp_path / "out.mlir"), loss="loss", frozen=["val_*"])
    assert [r.name for r in signature.results] == ["loss", "grads/weight"]


def test_an_optimizer_updates_the_parameters(tmp_path):
    parameters = stagewright.onnx.load(network(), dims={"batch": 4}).parameters

    def update(parameters, gradients, rate):
        return jax.tree.map(lambda p, g: p - rate * g, parameters, gradients), rate

    signature = stagewright.onnx.import_step(network(), str(tmp_path / "out.mlir"), loss="loss", dims={"batch": 4},
                                             update=(update, jnp.float32(0.1)))
    assert len(parameters) == sum(a.role == "parameter" for a in signature.arguments) == 9
    assert "func.func @update(" in (tmp_path / "out.mlir").read_text()


def test_shapes_are_numbers_at_import():
    """Shape arithmetic with the largest 64-bit integer as the end of a slice, which exceeds JAX's 32 bits."""
    nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Gather", ["s", "zero"], ["n"]),
             helper.make_node("Unsqueeze", ["n", "first"], ["n1"]), helper.make_node("Concat", ["n1", "minus"], ["t"], axis=0),
             helper.make_node("Slice", ["x", "one", "end", "two"], ["y"]), helper.make_node("Reshape", ["y", "t"], ["z"])]
    model = graph_model(nodes, [value("x", ["n", 3, 4])], [value("z", ["rows", "columns"])], {
        "zero": np.int64(0), "first": np.asarray([0]), "minus": np.asarray([-1]), "one": np.asarray([1]),
        "end": np.asarray([np.iinfo(np.int64).max]), "two": np.asarray([2])})
    x = weights(5, 3, 4)
    found = stagewright.onnx.load(model, dims={"n": 5})({}, x=x)["z"]
    np.testing.assert_array_equal(found, x[:, :, 1:].reshape(5, 9))


def test_shared_initializers_and_copies_are_remarks(tmp_path):
    nodes = [helper.make_node("Gather", ["wte", "ids"], ["e"], name="/embed/Gather"),
             helper.make_node("Gemm", ["e", "wte"], ["a"], name="/head/Gemm", transB=1),
             helper.make_node("Gemm", ["e", "copy"], ["b"], name="/other/Gemm", transB=1),
             helper.make_node("Add", ["a", "b"], ["y"], name="/Add")]
    model = graph_model(nodes, [value("ids", [3], TensorProto.INT64)], [value("y", [3, 6])],
                        {"wte": weights(6, 4), "copy": weights(6, 4), "unused": weights(3)})
    remarks = stagewright.onnx.import_step(model, str(tmp_path / "out.mlir")).remarks
    assert remarks[:3] == [
        "initializer 'wte' is shared: nodes '/embed/Gather' and '/head/Gemm' read it; it is one parameter, whose gradient "
        "is the sum",
        "initializers 'wte' and 'copy' hold the same numbers; if the model shares them, training makes them differ: export "
        "them as one",
        "initializer 'unused' is left out: nothing that is computed reads it"]


def test_branches_and_loops_of_known_course():
    body = helper.make_graph([helper.make_node("Mul", ["c", "x"], ["d"]), helper.make_node("Identity", ["going"], ["still"]),
                              helper.make_node("Identity", ["d"], ["row"])], "body",
                             [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL), value("c", [2])],
                             [value("still", [], TensorProto.BOOL), value("d", [2]), value("row", [2])])
    branches = [helper.make_graph([helper.make_node(op, ["x"], [op])], op, [], [value(op, [2])]) for op in ("Exp", "Neg")]
    nodes = [helper.make_node("Loop", ["three", "yes", "x"], ["last", "rows"], body=body),
             helper.make_node("If", ["yes"], ["z"], then_branch=branches[0], else_branch=branches[1])]
    model = graph_model(nodes, [value("x", [2])], [value("last", [2]), value("rows", [3, 2]), value("z", [2])],
                        {"three": np.int64(3), "yes": np.bool_(True)})
    x = np.asarray([2, 3], np.float32)
    found = stagewright.onnx.load(model)({}, x=x)
    for name, array in zip(("last", "rows", "z"), ReferenceEvaluator(model).run(None, {"x": x})):
        np.testing.assert_allclose(found[name], array, 1e-6)


def one_node(op, inputs=("x",), kind=TensorProto.FLOAT, opset=18, more=None, shape=(2, 3), **attributes):
    node = helper.make_node(op, inputs, ["y"], name="/a/b", **attributes)
    return graph_model([node], [value("x", shape, kind)], [value("y", ["rows"])], more, opset)


@pytest.mark.parametrize("model, message", [
    (one_node("GridSample", ("x", "x"), shape=(1, 1, 1, 2)), "node '/a/b' (GridSample): the operator is not supported; export "
     "the model without it, or import only the part of the model without it"),
    (one_node("NonZero"), "node '/a/b' (NonZero): the size of its result depends on numbers that are not known at import"),
    (one_node("RandomNormalLike"), "node '/a/b' (RandomNormalLike): its random numbers are not defined by the file; pass"),
    (one_node("Dropout", ("x", "", "yes"), more={"yes": np.bool_(True)}), "dropout with ratio 0.5 is in training mode"),
    (one_node("Reshape", ("z", "x"), TensorProto.INT64, more={"z": weights(6)}, shape=(2,)),
     "input 1 ('x') depends on the step's arguments, but sizes of arrays must be known at import; export the model with"),
    (one_node("Cast", to=TensorProto.FLOAT8E5M2, opset=19), "numbers of type float8e5m2 are not supported"),
    (one_node("Mul", ("x", "z"), TensorProto.INT64, more={"z": np.int64(2**40)}), "integers from 1099511627776 to "
     "1099511627776, but 64-bit integers are computed with 32 bits"),
    (one_node("MatMul", ("x", "x")), "cannot be evaluated on inputs float32[2, 3], float32[2, 3]: "),
    (one_node("LSTM", ("x", "w", "r"), shape=(2, 3, 4), more={"w": weights(1, 20, 4), "r": weights(1, 20, 5)}, hidden_size=5,
              input_forget=1), "node '/a/b' (LSTM): its input and forget gates are coupled (input_forget), which is not supported"),
    (one_node("Relu", opset=12), "the model has opset 12, supported are 13 to 28; convert it with "
     "onnx.version_converter.convert_version(model, 13)"),
    (one_node("Add", ("x", "z"), more={"z": np.ones(3)}, kind=TensorProto.DOUBLE), "initializer 'z' is of type float64"),
    (one_node("Relu", shape=("n", 3)), "dimension 0 of input 'x' has no size in the file; give one, with --dim 'n=SIZE'"),
    (one_node("Identity", kind=TensorProto.STRING), "input 'x' is not an array of numbers"),
    (one_node("Relu", ("nothing",)), "the model is not valid ONNX: "),
])
def test_refusals_name_the_node_and_a_way_out(model, message, tmp_path):
    with pytest.raises(ImportFailure) as caught:
        stagewright.onnx.import_step(model, str(tmp_path / "out.mlir"))
    assert message in str(caught.value) and str(caught.value).startswith("model: ")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("options, message", [
    (["--loss=nothing"], "there is no output 'nothing'; the outputs are logits, loss"),
    (["--loss=logits"], "output 'logits' is float32[4, 5], but a loss is one number of floating point"),
    (["--dim=n=2"], "no dimension is called 'n'; the inputs are x[batch, 8], y[batch]"),
    (["--dim=batch=-2"], "--dim batch=-2: a size is a positive integer"),
    (["--freeze=layer.*"], "no initializer is called 'layer.*'; the initializers are h.0.fc.weight, "),
    (["--inputs=nothing.npz"], "cannot read 'nothing.npz'"),
])
def test_options_that_do_not_fit(file, tmp_path, options, message):
    before = sorted(os.listdir(tmp_path))
    done = stagewright_command("import", "onnx", file, "--dim=batch=4", *options, "-o", tmp_path / "out.mlir")
    assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_files_that_are_not_models(tmp_path):
    (tmp_path / "text.onnx").write_text("no model")
    (tmp_path / "empty.onnx").write_bytes(b"")
    for name, message in (("text.onnx", "is not an ONNX file"), ("empty.onnx", "is not an ONNX file"),
                          ("none.onnx", "does not exist"), (".", "is not a file")):
        with pytest.raises(ImportFailure, match=message):
            stagewright.onnx.load(tmp_path / name)


def test_onnx_options_are_for_onnx(tmp_path):
    done = stagewright_command("import", "jax", "model.py:step", "--loss=loss", "-o", tmp_path / "out.mlir")
    assert done.returncode == 1 and "--loss is for onnx" in done.stderr


def test_globs_annotate_layers(tmp_path):
    model = network()
    signature = stagewright.onnx.import_step(model, str(tmp_path / "step.mlir"), loss="loss", dims={"batch": 4})
    build = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", pathlib.Path(__file__).parents[2] / "build"))

    def call(tool, *arguments):
        done = subprocess.run([build / "bin" / tool, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout
    flags = (tmp_path / "step.mlir", "--cluster=local:4", "--microbatches=2", "--annotate=h.0=replicate(2),*=replicate(1)")
    stages = json.loads(call("pp-plan", *flags, "--json"))["stages"]
    assert [len(stage["devices"]) for stage in stages] == [2, 1]
    call("pp-compile", *flags, "-o", tmp_path / "step.swx")
    call("pp-run", tmp_path / "step.swx", f"--inputs={tmp_path}/step.inputs.safetensors", "--repeat-microbatch",
         f"--outputs={tmp_path}/out.safetensors")
    inputs = load_file(tmp_path / "step.inputs.safetensors")
    batch = {a.name: inputs[str(i)] for i, a in enumerate(signature.arguments) if a.name in ("x", "y")}
    batch["y"] = batch["y"].astype(np.int64)
    loss, = ReferenceEvaluator(model).run(["loss"], batch)
    np.testing.assert_allclose(load_file(tmp_path / "out.safetensors")["0"], loss, rtol=1e-5)
