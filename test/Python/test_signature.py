"""Roles, names, combine rules and batch dimensions: read from trees, overridden by options, refused with a reason."""

import re

import jax
import jax.numpy as jnp
import pytest

from stagewright import ImportFailure
from stagewright.frontend.jax_step import Step
from stagewright.frontend.signature import infer

X = jnp.ones((4, 3))
PARAMS = {"h": [{"w": jnp.ones((3, 3))}, {"w": jnp.ones((3, 3))}], "b": jnp.ones(3)}


def signature(function, *arguments, **options):
    return infer(function, jax.tree.map(lambda a: jax.ShapeDtypeStruct(jnp.shape(a), jnp.asarray(a).dtype)
                                        if not hasattr(a, "dtype") else jax.ShapeDtypeStruct(a.shape, a.dtype),
                                        arguments), jax.eval_shape(function, *arguments), options)


def loss(p, x, *more):
    for layer in p["h"]:
        x = jnp.tanh(x @ layer["w"])
    return (x + p["b"]).sum()


def test_value_and_grad():
    s = signature(jax.value_and_grad(loss), PARAMS, X)
    assert [(a.name, a.role, a.batch_dim) for a in s.arguments] == [
        ("params/b", "parameter", None), ("params/h/0/w", "parameter", None), ("params/h/1/w", "parameter", None),
        ("x", "batch", 0)]
    assert [(r.name, r.role, r.of, r.combine) for r in s.results] == [
        ("loss", "loss", None, "mean"), ("grads/b", "gradient", 0, "mean"), ("grads/h/0/w", "gradient", 1, "mean"),
        ("grads/h/1/w", "gradient", 2, "mean")]


def test_parameters_need_not_come_first():
    s = signature(jax.value_and_grad(lambda x, p: loss(p, x), argnums=1), X, PARAMS)
    assert [a.role for a in s.arguments] == ["batch", "parameter", "parameter", "parameter"]
    assert [r.of for r in s.results] == [None, 1, 2, 3]


def test_gradients_of_two_arguments():
    def both(a, b, x):
        return (x @ a + b).sum()
    s = signature(jax.value_and_grad(both, argnums=(0, 1)), jnp.ones((3, 3)), jnp.ones(3), X)
    assert [(a.name, a.role) for a in s.arguments] == [("a", "parameter"), ("b", "parameter"), ("x", "batch")]
    assert [(r.name, r.of) for r in s.results] == [("loss", None), ("grads/a", 0), ("grads/b", 1)]


def test_auxiliary_results():
    def with_aux(p, x):
        return loss(p, x), {"mean": x.mean(), "rows": x * 2, "count": jnp.int32(3)}
    s = signature(jax.value_and_grad(with_aux, has_aux=True), PARAMS, X)
    assert [(r.name, r.role, r.combine, r.batch_dim) for r in s.results[:4]] == [
        ("loss", "loss", "mean", None), ("aux/count", "output", "last", None), ("aux/mean", "output", "mean", None),
        ("aux/rows", "output", "concat", 0)]


def test_scalars_are_constants_and_keys_seeds():
    step = jax.value_and_grad(lambda p, x, key, old, rate: loss(p, x * rate))
    s = signature(step, PARAMS, X, jax.random.key(0), jax.random.PRNGKey(0), jnp.float32(0.1))
    assert [(a.name, a.role) for a in s.arguments[3:]] == [
        ("x", "batch"), ("key", "seed"), ("old", "seed"), ("rate", "constant")]


def test_roles_are_overridden_by_name_position_and_path():
    step = jax.value_and_grad(lambda p, x, m, n: loss(p, x))
    s = signature(step, PARAMS, {"a": X, "b": X}["a"], jnp.ones((3, 3)), {"u": X, "v": X},
                  roles={"m": "constant", "n/u": "constant"}, batch_dim={"n": 1, 1: 1}, combine={"loss": "sum"})
    assert [(a.name, a.role, a.batch_dim) for a in s.arguments[3:]] == [
        ("x", "batch", 1), ("m", "constant", None), ("n/u", "constant", None), ("n/v", "batch", 1)]
    assert {r.combine for r in s.results} == {"sum"}


def test_forward_only():
    s = signature(lambda params, x: x @ params["b"], PARAMS, X)
    assert [a.role for a in s.arguments] == ["parameter"] * 3 + ["batch"]
    assert [(r.role, r.combine, r.batch_dim) for r in s.results] == [("output", "concat", 0)]
    assert "taken as the parameters" in s.remarks[0]


def test_forward_only_with_options():
    s = signature(lambda w, x: (x @ w, (x @ w).sum()), jnp.ones((3, 3)), X, roles={"w": "parameter", "out/1": "loss"})
    assert [a.role for a in s.arguments] == ["parameter", "batch"]
    assert [(r.name, r.role, r.combine) for r in s.results] == [
        ("out/0", "output", "concat"), ("out/1", "loss", "mean")]


def test_nothing_known_means_no_roles():
    s = signature(lambda x, y: x + y, X, X)
    assert [a.role for a in s.arguments] + [r.role for r in s.results] == [None] * 3
    assert "no roles are known" in s.remarks[0]


@pytest.mark.parametrize("options, message", [
    (dict(roles={"x": "weight"}), "option 'roles': 'x' has the value 'weight'; it can be one of parameter, batch"),
    (dict(roles={"y": "batch"}), "option 'roles': nothing is called 'y'; the names are p, x"),
    (dict(roles={"p": "batch"}, combine={}), None),
    (dict(roles={"x": "gradient"}), "argument 'x' cannot have the role 'gradient'"),
    (dict(roles={"p/b": "constant"}), "argument 'params/b' has a gradient, so its role is 'parameter', not 'constant'"),
    (dict(batch_dim={"x": 2}), "batch dimension 2 of argument 'x' does not exist in its shape (4, 3)"),
    (dict(combine={"loss": "median"}), "option 'combine': 'loss' has the value 'median'"),
])
def test_contradictions(options, message):
    if message is None:  # no remaining argument has the tree of the gradients, so they are plain outputs
        s = signature(jax.value_and_grad(loss), PARAMS, X, **options)
        assert {r.role for r in s.results} == {"output"}
        return
    with pytest.raises(ImportFailure, match=re.escape(message)):
        signature(jax.value_and_grad(loss), PARAMS, X, **options)


def test_a_scalar_is_no_batch():
    with pytest.raises(ImportFailure, match="batch dimension 0 of argument 's' does not exist"):
        signature(jax.value_and_grad(lambda p, s: loss(p, X * s)), PARAMS, jnp.float32(1), roles={"s": "batch"})


def test_a_loss_is_a_scalar():
    with pytest.raises(ImportFailure, match="a loss is a scalar"):
        signature(lambda w, x: x @ w, jnp.ones((3, 3)), X, roles={"w": "parameter", "out": "loss"})


def split_dims(axis=None, **specs):
    """The split dimension of each parameter of a step with parameters on a mesh of two axes, and the remarks."""
    mesh = jax.sharding.AbstractMesh((2, 4), ("data", "model"))
    shapes = dict(a=(8, 16), b=(16, 8), c=(8,), x=(4, 8))
    params = {name: jax.ShapeDtypeStruct(shape, jnp.float32, sharding=jax.sharding.NamedSharding(mesh, jax.P(*specs.get(name, ()))))
              for name, shape in shapes.items()}
    x = params.pop("x")
    options = {} if axis is None else {"shard_axis": axis}
    step = Step(jax.value_and_grad(lambda p, x: (jnp.tanh(x @ p["a"]) @ p["b"] + p["c"]).sum()), (params, x), options)
    return {a.name: a.split_dim for a in step.signature.arguments if a.split_dim is not None}, "\n".join(step.signature.remarks)


def test_shardings_say_which_dimensions_are_split():
    assert split_dims()[0] == {}
    assert split_dims(a=(None, "model"), b=("model", None))[0] == {"params/a": 1, "params/b": 0}
    assert split_dims(a=(None, ("data", "model")), b=("model",), axis="model")[0] == {"params/a": 1, "params/b": 0}
    assert split_dims(a=("data", "model"), b=("model", "data"), axis="data")[0] == {"params/a": 0, "params/b": 1}
    assert split_dims(a=("data", "model"), b=("model", "data"), axis="model")[0] == {"params/a": 1, "params/b": 0}
    with pytest.raises(ImportFailure, match="no parameter and no constrained value is split over a mesh axis 'x'; those that split some are model"):
        split_dims(a=("model",), axis="x")


def test_two_axes_are_those_of_a_grid():
    """By default in the order of the mesh, or as a dimension is split over both; batches follow too."""
    both = split_dims(a=("data", "model"), b=("model",))
    assert both[0] == {"params/a": (0, 1), "params/b": (-1, 0)}
    assert "over the mesh axes data, model: --tensor-parallel=ROWSxCOLUMNS follows both, in this order; option 'shard_axis'" in both[1]
    assert split_dims(a=("data", "model"), axis="model,data")[0] == {"params/a": (1, 0)}
    assert split_dims(a=(("data", "model"),), b=("model",))[0] == {"params/a": (0, 0), "params/b": (-1, 0)}
    assert split_dims(a=(("model", "data"),), b=("model",))[0] == {"params/a": (0, 0), "params/b": (0, -1)}
    assert split_dims(a=(None, "model"), x=("data",), axis=("data", "model"))[0] == {"params/a": (-1, 1), "x": (0, -1)}
    assert split_dims(a=(None, "model"), x=("data",))[0] == {"params/a": 1}


@pytest.mark.parametrize("axis, message", [
    ("data,model", "argument 'params/a': a dimension is split over the mesh axes 'model', then 'data', but over the grid of shards first "
     "over 'data'; give option 'shard_axis' as 'model,data', name one axis, or write P(('data', 'model'))"),
    ("model,model", "option 'shard_axis' names 2 axes, 'model,model'; give one, or two different ones"),
    ("model,x", "no parameter, batch or constrained value is split over a mesh axis 'x'; those that split some are data, model"),
])
def test_axes_of_a_grid_that_cannot_be_followed(axis, message):
    with pytest.raises(ImportFailure, match=re.escape(message)):
        split_dims(a=(("model", "data"),), axis=axis)


def test_axes_that_are_nested_in_both_orders_need_a_choice():
    found = split_dims(a=(("model", "data"),), b=(("data", "model"),))
    assert found[0] == {} and "over the mesh axes data, model; option 'shard_axis' selects the one or two" in found[1]
