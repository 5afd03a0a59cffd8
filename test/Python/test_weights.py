"""Parameters from checkpoints of other programs: maps, files, errors. The safetensors library can read our files."""

import json
import os

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from stagewright.cli import main
from stagewright.errors import WeightsFailure
from stagewright.frontend.jax_step import import_jax
from stagewright.weights import convert
from stagewright.weights.expressions import parse
from stagewright.weights.mapping import Map

LAYERS, WIDTH = 3, 4


def loss(params, x):
    h = x @ params["embed"]
    for layer in params["layers"]:
        h = jnp.tanh(h @ layer["q"] + layer["b"])
    for i in range(LAYERS):
        h = h * params["norms"][i]
    return h.mean()


@pytest.fixture(scope="module")
def shapes():
    layer = {"q": jnp.zeros((WIDTH, 2 * WIDTH))[:, :WIDTH], "b": jnp.zeros(WIDTH)}
    return {"embed": jnp.zeros((5, WIDTH)), "layers": [layer] * LAYERS, "norms": jnp.zeros((LAYERS, WIDTH))}


@pytest.fixture
def model(tmp_path, shapes):
    import jax

    path = str(tmp_path / "model.mlir")
    abstract = jax.eval_shape(lambda: shapes)
    import_jax(jax.value_and_grad(loss), (abstract, jnp.ones((2, 5))), path)
    return path


@pytest.fixture
def tensors():
    rng = np.random.default_rng(3)
    made = {"model.embed.weight": rng.standard_normal((5, WIDTH), np.float32)}
    for i in range(LAYERS):
        made[f"model.layers.{i}.q.weight"] = rng.standard_normal((WIDTH, WIDTH), np.float32)
        made[f"model.layers.{i}.q.bias"] = rng.standard_normal(WIDTH, np.float32)
        made[f"model.layers.{i}.norm.weight"] = rng.standard_normal(WIDTH, np.float32)
    return made


MAP = """
params/embed = model.embed.weight      # the first
params/layers/{i}/q = T(model.layers.{i}.q.weight)
params/layers/{i}/b = model.layers.{i}.q.bias
params/norms = model.layers.{i}.norm.weight
"""


def written(tmp_path, text, name="a.map"):
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def values(path, model):
    """The parameters in a file of inputs, by name."""
    from stagewright.weights.model import arguments_of

    found = load_file(path)
    return {argument.name: found[str(argument.position)] for argument in arguments_of(model) if argument.role == "parameter"}


def check(found, tensors):
    np.testing.assert_array_equal(found["params/embed"], tensors["model.embed.weight"])
    for i in range(LAYERS):
        np.testing.assert_array_equal(found[f"params/layers/{i}/q"], tensors[f"model.layers.{i}.q.weight"].T)
        np.testing.assert_array_equal(found[f"params/layers/{i}/b"], tensors[f"model.layers.{i}.q.bias"])
        np.testing.assert_array_equal(found["params/norms"][i], tensors[f"model.layers.{i}.norm.weight"])


def test_map_with_transposes_and_stacks(model, tensors, tmp_path):
    save_file(tensors, tmp_path / "model.safetensors")
    count, size, casts = convert(model, [tmp_path / "model.safetensors"], map=written(tmp_path, MAP))
    output = str(tmp_path / "model.inputs.safetensors")
    check(values(output, model), tensors)
    batch = load_file(output)[str(2 * LAYERS + 2)]  # the import's batch is kept
    assert count == 2 * LAYERS + 2 and not casts and size == os.path.getsize(output) - _header(output)
    np.testing.assert_array_equal(batch, np.ones((2, 5), np.float32))


def _header(path):
    with open(path, "rb") as file:
        return 8 + int.from_bytes(file.read(8), "little")


def test_shards_with_an_index_and_a_folder(model, tensors, tmp_path):
    folder = tmp_path / "sharded"
    folder.mkdir()
    names = sorted(tensors)
    shards = {"model-00001-of-00002.safetensors": names[:5], "model-00002-of-00002.safetensors": names[5:]}
    for file, own in shards.items():
        save_file({name: tensors[name] for name in own}, folder / file)
    index = {"metadata": {}, "weight_map": {name: file for file, own in shards.items() for name in own}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    for number, given in enumerate([[folder], [folder / "model.safetensors.index.json"], [folder / file for file in shards]]):
        output = tmp_path / f"out{number}"
        convert(model, given, output, map=written(tmp_path, MAP))
        check(values(output, model), tensors)


def test_own_names_and_types_are_converted(model, tensors, tmp_path, capsys):
    own = {"embed": tensors["model.embed.weight"], "norms": np.zeros((LAYERS, WIDTH), np.float32)}
    for i in range(LAYERS):
        own[f"layers.{i}.q"] = tensors[f"model.layers.{i}.q.weight"].astype(ml_dtypes.bfloat16)
        own[f"layers.{i}.b"] = tensors[f"model.layers.{i}.q.bias"]
    save_file(own, tmp_path / "own.safetensors")
    main(["weights", model, str(tmp_path / "own.safetensors"), "-o", str(tmp_path / "out")])
    assert "remark: 3 of them converted from bfloat16 to float32\n" in capsys.readouterr().out
    found = values(tmp_path / "out", model)
    np.testing.assert_array_equal(found["params/layers/1/q"], own["layers.1.q"].astype(np.float32))


@pytest.mark.parametrize("change, text", [
    (lambda t: t.pop("model.layers.1.q.weight"), "no tensor 'model.layers.1.q.weight' (MAP:3); is it 'model.layers."),
    (lambda t: t.update(extra=np.zeros(2)), "no parameter uses 1 tensor of the checkpoint; if they are not needed, leave them"),
    (lambda t: t.update({"model.embed.weight": np.zeros((WIDTH, 5), np.float32)}),
     "parameter params/embed has the shape (5, 4), model.embed.weight gives (4, 5) (MAP:2); write T(...)"),
    (lambda t: t.update({"model.embed.weight": np.zeros((5, WIDTH), np.int32)}),
     "parameter params/embed is of float32, model.embed.weight of int32 (MAP:2)"),
    (lambda t: t.pop("model.layers.2.norm.weight"), "parameter params/norms has the shape (3, 4), "
     "model.layers.0.norm.weight and model.layers.1.norm.weight give (2, 4) (MAP:5)"),
])
def test_wrong_weights_are_refused_and_nothing_is_written(change, text, model, tensors, tmp_path):
    change(tensors)
    save_file(tensors, tmp_path / "a.safetensors")
    before = sorted(os.listdir(tmp_path))
    path = written(tmp_path, MAP)
    with pytest.raises(WeightsFailure) as failure:
        convert(model, [tmp_path / "a.safetensors"], tmp_path / "out", map=path)
    assert text.replace("MAP", path) in str(failure.value)
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "a.map"])


@pytest.mark.parametrize("text, message", [
    ("params/embed", "1: 'params/embed' is neither NAME = TENSOR nor ignore PATTERN"),
    ("\na = T(b", "2: 'T(b' lacks a ')'"),
    ("a = 3", "1: '3' is a number, expected the name of a tensor or a function"),
    ("a = turn(b)", "1: 'turn' is not a function; there are T, transpose, reshape, slice, concat, stack"),
    ("a = slice(b, 1)", "1: slice() in 'slice(b, 1)' takes one tensor and then 3 numbers"),
    ("a = b c", "1: 'c' follows where 'b c' should end"),
    ("a = T()", "1: 'T()' lacks a name before ')'"),
    ("a = b.{i}.{j}", "1: {i} and {j} are only on the right, but tensors can be stacked over only one"),
])
def test_wrong_maps_are_refused(text, message):
    with pytest.raises(WeightsFailure) as failure:
        Map(text, "map")
    assert str(failure.value) == f"map:{message}"


def test_two_lines_for_one_parameter():
    with pytest.raises(WeightsFailure, match="map:1 and map:2 name a/0; only one line may"):
        Map("a/{i} = b\na/0 = c", "map").expression("a/0", None)


class Held:
    """A checkpoint in memory."""

    def __init__(self, **arrays):
        self.arrays = arrays
        self.tensors = {name: (a.dtype, a.shape) for name, a in arrays.items()}

    def array(self, name):
        return self.arrays[name]


@pytest.mark.parametrize("text, wanted", [
    ("T(x)", lambda x, y: x.T), ("transpose(reshape(x, 2, 3, -1), 2, 0, 1)", lambda x, y: x.reshape(2, 3, 2).transpose(2, 0, 1)),
    ("concat(x, y, 0)", lambda x, y: np.concatenate([x, y])), ("concat(x, y, 1)", lambda x, y: np.concatenate([x, y], 1)),
    ("slice(x, 1, 1, 3)", lambda x, y: x[:, 1:3]), ("stack(x, T(T(y)), x)", lambda x, y: np.stack([x, y, x])),
    ("stack(concat(x, y, 0), concat(y, x, 0))", lambda x, y: np.stack([np.concatenate([x, y]), np.concatenate([y, x])])),
])
def test_expressions_equal_numpy(text, wanted):
    x, y = np.arange(12).reshape(3, 4), -np.arange(12).reshape(3, 4)
    held, expression = Held(x=x, y=y), parse(text)
    expected = wanted(x, y)
    assert expression.shape(held) == expected.shape and expression.dtype(held) == expected.dtype
    np.testing.assert_array_equal(expression.array(held), expected)
    pieces = [np.ascontiguousarray(piece).reshape(-1) for piece in expression.pieces(held)]
    np.testing.assert_array_equal(np.concatenate(pieces), expected.reshape(-1))


@pytest.mark.parametrize("text, message", [
    ("T(z)", "z has 1 dimensions; T() takes a tensor of two, for others write transpose(x, ...)"),
    ("reshape(x, 5, -1)", "x of shape (3, 4) does not become (5, -1), which has another number of elements"),
    ("slice(x, 0, 2, 4)", "x of shape (3, 4) has no part 2 to 4 of dimension 0"),
    ("concat(x, z, 0)", "x, z have the shapes (3, 4), (3,), which differ in more than dimension 0"),
    ("concat(x, x, 2)", "x of shape (3, 4) has no dimension 2"),
    ("stack(x, z)", "x, z have the shapes (3, 4), (3,); stacked tensors must have the same shape"),
])
def test_shapes_that_do_not_fit(text, message):
    with pytest.raises(WeightsFailure) as failure:
        parse(text).shape(Held(x=np.zeros((3, 4)), z=np.zeros(3)))
    assert message in str(failure.value)


@pytest.mark.parametrize("contents, message", [
    (b"", "is not a safetensors file, or is cut off"),
    (b"\xff" * 40, "is not a safetensors file, or is cut off"),
    (b"\x02\0\0\0\0\0\0\0[]", "is not a safetensors file: "),
    (b'\x40\0\0\0\0\0\0\0' + b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}}'.ljust(64), "or the file is cut off"),
    (b'\x40\0\0\0\0\0\0\0' + b'{"a":{"dtype":"C64","shape":[0],"data_offsets":[0,0]}}'.ljust(64), "has the type C64, expected one of"),
])
def test_damaged_files_are_refused(contents, message, model, tmp_path):
    (tmp_path / "a.safetensors").write_bytes(contents)
    with pytest.raises(WeightsFailure) as failure:
        convert(model, [tmp_path / "a.safetensors"], tmp_path / "out")
    assert message in str(failure.value) and not (tmp_path / "out").exists()


def test_files_that_are_not_there_or_not_one(model, tensors, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(WeightsFailure, match="cannot read '.*nowhere.safetensors': No such file"):
        convert(model, [tmp_path / "nowhere.safetensors"])
    with pytest.raises(WeightsFailure, match="has no \\*.safetensors; load files of torch.save with torch.load and save"):
        convert(model, [tmp_path / "empty"])
    with pytest.raises(WeightsFailure, match="has no function @step; give the module"):
        convert(written(tmp_path, "module {}", "no.mlir"), [tmp_path / "empty"])
    save_file(tensors, tmp_path / "a.safetensors")
    save_file({"model.embed.weight": np.zeros(1)}, tmp_path / "b.safetensors")
    with pytest.raises(WeightsFailure, match="both '.*a.safetensors' and '.*b.safetensors' have a tensor 'model.embed.weight'"):
        convert(model, [tmp_path / "a.safetensors", tmp_path / "b.safetensors"])
