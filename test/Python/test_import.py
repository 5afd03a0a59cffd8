"""The command and its files: what is written, what a failure leaves behind, and its message."""

import os
import pathlib
import re
import subprocess
import sys

import jax
import jax.experimental
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from safetensors.numpy import load_file

from stagewright import ImportFailure, import_jax

PACKAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python")

MODEL = """
import jax, jax.numpy as jnp

def loss(p, x, key, scale, mask):
    with jax.named_scope("h0"):
        x = jnp.where(mask, x, 0) * jax.random.bernoulli(key, 0.5, x.shape)
        return ((x @ p["w"]) * scale).mean()

def step():
    return (jax.value_and_grad(loss),
            ({"w": jnp.ones((3, 2))}, jnp.ones((4, 3)), jax.random.key(5), 2.0, jnp.ones((4, 3), bool)))

def with_options():
    return (*step(), {"roles": {"mask": "constant"}, "microbatches": 4})

def wrong():
    return jax.value_and_grad(loss)

def unconvertible():
    def loss(p, x):
        with jax.named_scope("h0"):
            return (jax.lax.igamma(x, x) * p).sum()
    return jax.value_and_grad(loss), (jnp.ones(3), jnp.ones(3))
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def stagewright(*arguments):
    environment = dict(os.environ, PYTHONPATH=PACKAGE)
    return subprocess.run([sys.executable, "-m", "stagewright", *map(str, arguments)], capture_output=True, text=True,
                          env=environment)


def test_command_tells_of_the_optimizer(tmp_path):
    models = pathlib.Path(__file__).parents[1] / "Integration/models"
    done = stagewright("import", "jax", f"{models}/training.py:mlp_sgd", "-o", tmp_path / "out.mlir")
    parameters, state = re.search(r"(\d+) parameters.*; an update with (\d+) values of state\n", done.stdout).groups()
    assert parameters == state  # each has a momentum
    done = stagewright("import", "jax", f"{models}/numerics.py:dropout", "-o", tmp_path / "out.mlir")
    assert f"; the loss alone in {tmp_path}/out.validation.mlir" in done.stdout


def test_command_writes_module_and_inputs(model, tmp_path):
    done = stagewright("import", "jax", f"{model}:step", "-o", tmp_path / "out.mlir")
    assert done.returncode == 0, done.stderr
    assert "1 parameter, 2 batches, 1 seed, 1 constant, 1 loss, 1 gradient" in done.stdout.replace("1 microbatch, ", "")
    text = (tmp_path / "out.mlir").read_text()
    assert 'pipeline.source = "jax"' in text and "func.func @step(" in text
    assert '%arg0: tensor<3x2xf32> {pipeline.name = "params/w", pipeline.role = "parameter"}' in text
    assert '%arg1: tensor<4x3xf32> {pipeline.batch_dim = 0 : i64, pipeline.name = "x", pipeline.role = "batch"}' in text
    assert '%arg2: tensor<2xi32> {pipeline.name = "key", pipeline.role = "seed"}' in text
    assert '%arg4: tensor<4x3xi1>' in text
    assert '%arg5: tensor<i32> {pipeline.name = "microbatch", pipeline.role = "microbatch"}' in text
    assert 'pipeline.name = "grads/w", pipeline.of = 0 : i64, pipeline.role = "gradient"' in text
    inputs = load_file(str(tmp_path / "out.inputs.safetensors"))
    assert sorted(inputs) == ["0", "1", "2", "3", "4"]
    assert inputs["2"].dtype == np.int32 and inputs["2"].tolist() == [0, 5]
    assert inputs["3"].shape == () and inputs["4"].dtype == np.bool_


def test_options_of_the_model_and_of_the_command(model, tmp_path):
    done = stagewright("import", "jax", f"{model}:with_options", "-o", tmp_path / "out.mlir", "--combine", "loss=sum",
                       "--batch-dim", "x=1", "--quiet")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    text = (tmp_path / "out.mlir").read_text()
    assert "pipeline.microbatches = 4 : i64" in text
    assert 'pipeline.name = "mask", pipeline.role = "constant"' in text
    assert 'pipeline.combine = "sum", pipeline.name = "loss"' in text
    assert 'pipeline.batch_dim = 1 : i64, pipeline.name = "x"' in text


@pytest.mark.parametrize("target, message", [
    ("missing.py:step", "does not exist"),
    ("{model}", "does not name a function; write FILE.py:NAME"),
    ("/etc/passwd:step", "'/etc/passwd' is not a Python file"),
    ("{model}:nothing", "has no function 'nothing'"),
    ("{model}:wrong", "must return (function, example_arguments[, options])"),
    ("{model}:unconvertible", "model.py:22:20 (unconvertible.<locals>.loss): operation 'igamma' in scope "
                              "'jit(step)/jvp(h0)' cannot be converted: no series is written for this"),
])
def test_failures_write_nothing(model, tmp_path, target, message):
    done = stagewright("import", "jax", target.format(model=model), "-o", tmp_path / "out.mlir")
    assert done.returncode == 1 and done.stderr.startswith("error: ") and "Traceback" not in done.stderr
    assert message in done.stderr
    assert sorted(os.listdir(tmp_path)) in (["__pycache__", "model.py"], ["model.py"])


@pytest.mark.parametrize("framework, flag, message", [
    ("onnx", "--shard-axis=model", "--shard-axis is for jax, whose arrays have shardings; use pp-compile --shard"),
    ("onnx", "--layers=h/*", "--layers is for torch; an ONNX file's nodes and initializers name its layers"),
    ("jax", "--dim=n=2", "--dim is for onnx; a step of jax specifies this in its file")])
def test_flags_of_other_frameworks_are_refused(tmp_path, framework, flag, message):
    done = stagewright("import", framework, "model", flag, "-o", tmp_path / "out.mlir")
    assert done.returncode == 1 and message in done.stderr and not list(tmp_path.iterdir())


def test_bad_pair(model, tmp_path):
    done = stagewright("import", "jax", f"{model}:step", "-o", tmp_path / "out.mlir", "--role", "x")
    assert "'x' is not of the form NAME=ROLE" in done.stderr


def test_help_teaches():
    done = stagewright("import", "--help")
    assert "jax.named_scope" in done.stdout and "returns (function, example_arguments[, options])" in done.stdout


def test_package_imports_nothing_heavy():
    code = "import sys, stagewright; assert not {'jax', 'torch_mlir', 'numpy'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=PACKAGE)).returncode == 0


def test_the_package_has_no_other_names():
    code = "import stagewright; stagewright.nothing"
    done = subprocess.run([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=PACKAGE), capture_output=True, text=True)
    assert "AttributeError: module 'stagewright' has no attribute 'nothing'" in done.stderr


def failure(tmp_path, function, *arguments, **options):
    with pytest.raises(ImportFailure) as caught:
        import_jax(function, arguments, str(tmp_path / "out.mlir"), **options)
    assert os.listdir(tmp_path) == []
    return str(caught.value)


def scoped(function):
    def step(x):
        with jax.named_scope("h0"):
            return function(x)
    return step


@pytest.mark.parametrize("function, operation, reason", [
    (lambda x: lax.while_loop(lambda c: c[0].sum() < 10, lambda c: (c[0] + 1, jax.random.split(c[1])[0]),
                              (x, jax.random.key(0))), "while", "it carries a value of type key<fry>"),
    (lambda x: jnp.abs(jnp.fft.fft(x)), "fft", "it computes with complex numbers; compute it before the step"),
    (lambda x: jnp.fft.irfft(jnp.fft.rfft(x)), "fft", "it computes with complex numbers; compute it before the step"),
    (lambda x: jnp.real(jnp.exp(1j * x)), "convert_element_type", "compute with real and imaginary parts as two arrays"),
    (lambda x: jnp.linalg.eigh(x)[0], "eigh", "no LAPACK is called from a compiled step"),
    (lambda x: jnp.abs(jnp.linalg.eig(x)[0]), "eig", "no LAPACK is called from a compiled step"),
    (lambda x: jnp.linalg.svd(x)[1], "svd", "no LAPACK is called from a compiled step"),
    (lambda x: jnp.linalg.qr(x)[0], "qr", "no LAPACK is called from a compiled step"),
    (lambda x: jnp.linalg.inv(x), "lu", "no LAPACK is called from a compiled step"),
    (lambda x: jnp.linalg.cholesky(jnp.tile(x, (40, 40))), "cholesky", "at most 128 are written out; solve it by an iteration"),
    (lambda x: jax.random.gamma(jax.random.key(0), x), "random_gamma", "it draws until a draw is accepted"),
    (lambda x: jax.shard_map(lambda a: lax.psum(a, "d"), mesh=jax.sharding.AbstractMesh((2,), ("d",)),
                             in_specs=jax.sharding.PartitionSpec("d"), out_specs=jax.sharding.PartitionSpec())(x),
     "shard_map", "its mesh (d=2) has 2 devices; write the step for one device"),
    (lambda x: lax.top_k(x.ravel().repeat(9), 100)[0], "top_k", "it asks for 100 elements"),
    (lambda x: jnp.tile(x, (9, 1)).at[x.ravel().astype(int)].apply(jnp.sin), "scatter", "a function is applied to elements at 16 "
     "positions, and at most 8 are supported; select with jnp.where(mask, f(x), x)"),
    (lambda x: jax.pure_callback(lambda a: a, x, x), "pure_callback", "Python cannot be called from a compiled step"),
    (lambda x: jax.experimental.io_callback(lambda a: a, x, x), "io_callback", "write the function in JAX, or compute"),
])
def test_unconvertible_operations_are_named(tmp_path, function, operation, reason):
    message = failure(tmp_path, scoped(function), jnp.eye(4))
    assert f"operation '{operation}' in scope 'jit(step)/h0" in message and reason in message
    assert "test_import.py:" in message


PASS_FAILURE = """/m/model.py:28:33: error: offset 0 is out-of-bounds: 2 >= 2
 "assoc": (gradient(lambda a, b: lax.associative_scan(affine, (a, b)), 0, 1), normal(9, 3), normal(9, 3, seed=2)),
                                ^
/m/model.py:28:33: note: see current operation: %34 = "tensor.extract_slice"(%17) <{static_strides = array<i64: 2, 1>}> : \
(tensor<2x3xf32>) -> tensor<0x3xf32> loc("jit(step)/jvp(h0)/slice"("<lambda>"("/m/model.py":28:33 to :69)))
"""
CRASH = """PLEASE submit a bug report to https://github.com/llvm/llvm-project/issues/ and include the crash backtrace.
Stack dump:
0.\tProgram arguments: torch-mlir-opt
"""


@pytest.mark.parametrize("text, crashed, message", [
    (PASS_FAILURE, False, "/m/model.py:28: operation 'tensor.extract_slice' in scope 'jit(step)/jvp(h0)/slice' cannot be "
     "converted to linalg; write it with other operations of JAX, or compute it before the step and pass the result as an "
     "argument (offset 0 is out-of-bounds: 2 >= 2)"),
    ('error: "/m/model.py":7:3: error: \'stablehlo.add\' op requires the same type', False,
     "/m/model.py:7: operation 'stablehlo.add' cannot be converted"),
    (CRASH, True, "the conversion to linalg failed: the tool crashed; import the step in parts to find the operation"),
])
def test_what_passes_print_becomes_one_sentence(text, crashed, message):
    code = "import sys; from stagewright.frontend.to_linalg.build import failed; print(failed(sys.argv[1], sys.argv[2] == '1'))"
    done = subprocess.run([sys.executable, "-c", code, text, str(int(crashed))], capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=PACKAGE))
    assert message in done.stdout and "bug report" not in done.stdout, done.stderr


def constrained(tmp_path, axis=None, **specs):
    """The text of a module of two products, whose values have these shardings over a mesh of two axes, and the remarks."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("data", "model"))

    def constrain(name, x):
        return lax.with_sharding_constraint(x, jax.sharding.NamedSharding(mesh, jax.P(*specs[name]))) if name in specs else x

    def loss(p, x):
        return (constrain("y", constrain("h", x @ p["a"]) @ p["b"]) ** 2).sum()
    options = {} if axis is None else {"shard_axis": axis}
    args = (dict(a=jnp.ones((4, 6)), b=jnp.ones((6, 4))), jnp.ones((2, 4)))
    made = import_jax(jax.value_and_grad(loss), args, str(tmp_path / "out.mlir"), **options)
    return (tmp_path / "out.mlir").read_text(), made.remarks


def test_constraints_of_values_become_hints(tmp_path):
    text, remarks = constrained(tmp_path, h=(None, "model"), y=())
    # One for the value, and one for its gradient.
    assert len(re.findall(r'"pipeline.split_hint"\(%\w+\) <?{dim = 1 : i64}>? : \(tensor<2x6xf32>\)', text)) == 2, text
    assert text.count("split_hint") == 2 and not [remark for remark in remarks if "mesh" in remark]
    assert "split_hint" not in constrained(tmp_path)[0]


def test_constraints_of_stacks_keep_their_rows(tmp_path):
    """A stack over layers is still read row by row; each row has the hint."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("model",))

    def loss(p, x):
        w = lax.with_sharding_constraint(p["w"], jax.sharding.NamedSharding(mesh, jax.P(None, None, "model")))
        return (lax.scan(lambda c, row: (jnp.tanh(c @ row), None), x, w)[0] ** 2).sum()
    import_jax(jax.value_and_grad(loss), (dict(w=jnp.ones((3, 4, 4))), jnp.ones((2, 4))), str(tmp_path / "out.mlir"))
    text = (tmp_path / "out.mlir").read_text()
    assert "pipeline.slices = 3" in text and text.count("{dim = 1 : i64}") == 6


def test_constraints_of_stacks_over_two_axes_keep_their_rows(tmp_path):
    """The hint about dimension 0, over which the stack is split, is the planner's matter."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1, 1), ("data", "rows", "model"))

    def loss(p, x):
        w = lax.with_sharding_constraint(p["w"], jax.sharding.NamedSharding(mesh, jax.P("rows", "data", "model")))
        return (lax.scan(lambda c, row: (jnp.tanh(c @ row), None), x, w)[0] ** 2).sum()
    args = (dict(w=jnp.ones((3, 4, 4))), jnp.ones((2, 4)))
    for axis, counts in ("data,model", (6, 6)), ("rows,model", (0, 6)):
        import_jax(jax.value_and_grad(loss), args, str(tmp_path / "out.mlir"), shard_axis=axis)
        text = (tmp_path / "out.mlir").read_text()
        assert "pipeline.slices = 3" in text
        assert tuple(text.count(f"{{axis = {number} : i64, dim = {number} : i64}}") for number in (0, 1)) == counts


def test_integers_have_no_hints(tmp_path):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("model",))

    def step(x):
        bits = lax.with_sharding_constraint(x.astype(jnp.uint32) + 1, jax.sharding.NamedSharding(mesh, jax.P("model")))
        return bits.astype(jnp.float32) * 2
    import_jax(step, (jnp.ones((4,)),), str(tmp_path / "out.mlir"))
    assert "split_hint" not in (tmp_path / "out.mlir").read_text()


def test_an_axis_is_chosen_for_constraints(tmp_path):
    text, remarks = constrained(tmp_path, h=("data", "model"))
    # Of both, each for the value and its gradient, by the axes of a grid.
    assert all(text.count(f"{{axis = {axis} : i64, dim = {axis} : i64}}") == 2 for axis in (0, 1)) and text.count("split_hint") == 4
    assert any("constrained values are split over the mesh axes data, model: --tensor-parallel=ROWSxCOLUMNS" in remark for remark in remarks)
    text, _ = constrained(tmp_path, axis="model,data", h=("data", "model"))
    assert all(text.count(f"{{axis = {1 - dim} : i64, dim = {dim} : i64}}") == 2 for dim in (0, 1))
    with pytest.raises(ImportFailure, match=r"test_import.py:\d+.*: a dimension is split over the mesh axes 'model', then 'data'"):
        constrained(tmp_path, axis="data,model", h=(("model", "data"),))
    assert constrained(tmp_path, axis="model", h=("data", "model"))[0].count("{dim = 1 : i64}") == 2
    assert constrained(tmp_path, axis="data", h=("data", "model"))[0].count("{dim = 0 : i64}") == 2


def test_prints_are_left_out_with_a_remark(tmp_path):
    def step(x):
        jax.debug.print("x {x}", x=x)
        return lax.fori_loop(0, 3, lambda _, c: (jax.debug.callback(lambda a: None, c), c + 1)[1], x)
    remarks = import_jax(step, (jnp.eye(4),), str(tmp_path / "out.mlir")).remarks
    found = [remark for remark in remarks if "is left out" in remark]
    assert len(found) == 2 and all("test_import.py:" in remark for remark in found)
    assert "'debug_print' is left out; a compiled step calls no Python" in found[0]


def test_long_loops_name_their_limit(tmp_path):
    step = scoped(lambda x: lax.scan(lambda c, _: (c * 2, None), x, None, length=20)[0])
    message = failure(tmp_path, step, jnp.eye(4), unroll_limit=10)
    assert "it has 20 iterations, and at most 10 are unrolled; raise the option unroll_limit" in message


def test_small_bodies_stay_loops(tmp_path):
    step = scoped(lambda x: lax.scan(lambda c, _: (jnp.sin(c * 2) + 1, None), x, None, length=1000)[0])
    path = tmp_path / "out.mlir"
    import_jax(step, (jnp.eye(4),), str(path))
    text = path.read_text()
    assert text.count("scf.for") == 1 and text.count("math.sin") == 1 and "jit(step)/h0" in text


def test_the_module_says_where_the_step_is_written(model, tmp_path):
    done = stagewright("import", "jax", f"{model}:step", "-o", tmp_path / "out.mlir")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out.mlir").read_text()
    name, = re.findall(r"^} loc\((#loc\d*)\)", text, re.MULTILINE)
    assert f'{name} = loc("{model}":4:1)' in text


def test_unknown_option(tmp_path):
    assert "unknown option 'rolse'" in failure(tmp_path, lambda x: x, jnp.eye(4), rolse={})


def test_untraceable_step(tmp_path):
    assert "cannot be traced by JAX" in failure(tmp_path, lambda x: x @ x, jnp.ones((3, 4)))
    assert "cannot be traced by JAX" in failure(tmp_path, lambda x: x + 1, "text")


def test_unsigned_and_half_arguments(tmp_path):
    path = str(tmp_path / "out.mlir")
    import_jax(lambda image, half: image.astype(jnp.float32) / 255 + half.astype(jnp.float32),
               (jnp.ones((4, 3), jnp.uint8), jnp.ones((4, 3), jnp.bfloat16)), path)
    with open(path) as file:
        text = file.read()
    assert "%arg0: tensor<4x3xi8>" in text and "%arg1: tensor<4x3xbf16>" in text
    inputs = load_file(str(tmp_path / "out.inputs.safetensors"))
    assert inputs["0"].dtype == np.int8 and inputs["1"].dtype == jnp.bfloat16


def test_wide_types_of_numpy_become_those_that_the_step_takes(tmp_path):
    import_jax(lambda i, x: x[i], (np.arange(3), np.ones((3, 2))), str(tmp_path / "out.mlir"), roles={0: "constant"})
    inputs = load_file(str(tmp_path / "out.inputs.safetensors"))
    assert inputs["0"].dtype == np.int32 and inputs["1"].dtype == np.float32


def adam_step():
    """A step with an optimizer, random bits and a table of 64-bit numbers."""
    import optax
    adam = optax.adamw(1e-3)
    parameters = {"w": jnp.ones((4, 8)), "h": jnp.ones((8, 4), jnp.bfloat16)}

    def loss(p, x, key, rows):
        h = jax.random.bernoulli(key, 0.5, (3, 8)) * jnp.tanh(x[rows] @ p["w"])
        return ((h @ p["h"]) ** 2).mean()

    def update(parameters, gradients, state):
        updates, state = adam.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state
    arguments = parameters, np.ones((3, 4)), jax.random.key(0), np.arange(3)
    return jax.value_and_grad(loss), arguments, (update, adam.init(parameters))


def shapes(tree):
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), tree)


def test_shapes_alone_give_the_same_module(tmp_path):
    function, arguments, (update, state) = adam_step()
    for name, as_given in (("known", lambda tree: tree), ("shapes", shapes)):  # one line: its number is in the locations
        signature = import_jax(function, as_given(arguments), str(tmp_path / f"{name}.mlir"), roles={3: "constant"},
                               update=(update, as_given(state)))
    assert (tmp_path / "shapes.mlir").read_text() == (tmp_path / "known.mlir").read_text()
    assert not (tmp_path / "shapes.inputs.safetensors").exists()
    assert re.search(r"only the shape is known of 10 of 10 arguments", "\n".join(signature.remarks))


def test_the_file_of_inputs_has_what_is_known(tmp_path):
    function, (parameters, *others), update = adam_step()
    import_jax(function, (shapes(parameters), *others), str(tmp_path / "out.mlir"), update=update, roles={3: "constant"})
    known = load_file(str(tmp_path / "out.inputs.safetensors"))
    assert set(known) == {"2", "3", "4", *(str(n) for n in range(6, 11))}
    state = jax.eval_shape(lambda: update[1])
    import_jax(function, (parameters, *others), str(tmp_path / "out.mlir"), update=(update[0], state), roles={3: "constant"})
    assert sorted(load_file(str(tmp_path / "out.inputs.safetensors"))) == ["0", "1", "2", "3", "4"]
