"""The forms in which people write steps: recognised with the right roles, or refused with advice on how to write them."""

import dataclasses
import functools
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from native import compile_module
from stagewright import ImportFailure, import_jax
from stagewright.frontend.jax_step import Step

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Integration"))
import golden  # noqa: E402

X, Y = jnp.linspace(-1, 1, 12).reshape(4, 3), jnp.ones((4, 2))
PARAMETERS = {"w": jnp.linspace(0, 1, 6).reshape(3, 2), "b": jnp.ones(2)}
static = functools.partial(dataclasses.field, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    """A minimal version of Flax's TrainState."""
    step: object
    params: object
    opt_state: object
    apply_fn: object = static()
    tx: object = static()

    def replace(self, **changes):
        return dataclasses.replace(self, **changes)

    def apply_gradients(self, *, grads):
        changes, opt_state = self.tx.update(grads, self.opt_state, self.params)
        return self.replace(step=self.step + 1, params=optax.apply_updates(self.params, changes), opt_state=opt_state)


def model(p, x):
    return jnp.tanh(x @ p["w"] + p["b"])


def loss(p, x, y):
    return ((model(p, x) - y) ** 2).mean()


def state(tx=None):
    tx = tx or optax.chain(optax.clip_by_global_norm(0.1), optax.adam(1e-2))
    return State(jnp.int32(0), PARAMETERS, tx.init(PARAMETERS), model, tx)


def train_step(state, batch):
    value, grads = jax.value_and_grad(lambda p: ((state.apply_fn(p, batch["x"]) - batch["y"]) ** 2).mean())(state.params)
    return state.apply_gradients(grads=grads), value


def with_metrics(state, batch):
    state, value = train_step(state, batch)
    return state, {"accuracy": (model({"w": batch["x"].T @ batch["y"], "b": 0.0}, batch["x"]) > 0).mean(), "loss": value}


BATCH = {"x": X, "y": Y}


@pytest.mark.parametrize("step, results", [
    (train_step, ["loss"]), (jax.jit(train_step, donate_argnums=0), ["loss"]),
    (jax.jit(with_metrics, donate_argnums=(0,)), ["loss", "aux/accuracy", "aux/loss"])])
def test_a_train_state_is_parameters_and_an_update(step, results):
    made = Step(step, (state(), BATCH))
    assert [(a.name, a.role) for a in made.signature.arguments] == [
        ("params/b", "parameter"), ("params/w", "parameter"), ("batch/x", "batch"), ("batch/y", "batch")]
    assert [r.name for r in made.signature.results] == [*results, "grads/b", "grads/w"]
    ours = theirs = state()
    for _ in range(3):  # compares three steps of JAX with three by the separate parts
        value, gradients = made.function(ours.params, BATCH)
        new, opt_state = made.update.function(ours.params, gradients, ours.opt_state)
        ours = ours.replace(params=new, opt_state=opt_state)
        theirs, wanted = step(jax.tree.map(jnp.array, theirs), BATCH)  # a copy, because the step may donate it
        assert jnp.allclose(jax.tree.leaves(value)[0], jax.tree.leaves(wanted)[-1], rtol=1e-6)
        for a, b in zip(jax.tree.leaves((ours.params, ours.opt_state)), jax.tree.leaves((theirs.params, theirs.opt_state))):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_a_train_state_is_imported_as_it_is_called(tmp_path):
    path = str(tmp_path / "out.mlir")
    signature = import_jax(train_step, (state(), BATCH), path)
    assert "the state's optimizer is the update" in signature.remarks[0]
    with open(path) as file:
        text = file.read()
    assert "func.func @update(" in text
    inputs, wanted = golden.accumulate(train_step, (state(), BATCH), 1)
    with open(path, "w") as file:
        file.write(text.replace("@update", "@update_unused"))
    found = compile_module(path, str(tmp_path))(
        [a[0] if about.role == "batch" else a for a, about in zip(inputs, signature.arguments)])
    for ours, theirs in zip(found, wanted):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def refused(step, *arguments, **options):
    with pytest.raises(ImportFailure) as caught:
        Step(step, arguments, options)
    return str(caught.value)


def clipped(state, batch):
    value, grads = jax.value_and_grad(lambda p: loss(p, batch["x"], batch["y"]))(state.params)
    return state.apply_gradients(grads=jax.tree.map(lambda g: jnp.clip(g, -1, 1), grads)), value


def counting(state, batch):
    value, grads = jax.value_and_grad(lambda p: loss(p, batch["x"], batch["y"]) * state.step)(state.params)
    return state.apply_gradients(grads=grads), value


def looking_back(state, batch):
    state, value = train_step(state, batch)
    return state, {"loss": value, "norm": optax.global_norm(state.params)}


def twice(state, batch):
    return train_step(train_step(state, batch)[0], batch)


def in_a_loop(state, batch):
    state, values = jax.lax.scan(lambda s, _: train_step(s, batch), state, None, length=2)
    return state, values[0]


def without_loss(state, batch):
    return train_step(state, batch)[0]


def two_losses(state, batch):
    state, value = train_step(state, batch)
    return state, {"first": value, "second": value * 2}


@pytest.mark.parametrize("step, message", [
    (clipped, "changes its gradients before the optimizer gets them"),
    (counting, "the step's loss depends on 'state/step', which changes from step to step"),
    (looking_back, "a result of the step depends on the updated parameters"),
    (twice, "the optimizer of argument 'state' is called 2 times"),
    (in_a_loop, "is called in an inner function with jit or in a loop"),
    (without_loss, "has to return (state, loss) or (state, metrics)"),
    (two_losses, "which of the step's results is its loss is not known"),
])
def test_other_train_states_are_refused(step, message):
    found = refused(step, state(), BATCH)
    assert message in found and "jax.value_and_grad(loss)" in found


def adam(p, s, x, y):
    value, grads = jax.value_and_grad(loss)(p, x, y)
    changes, s = optax.adam(1e-3).update(grads, s, p)
    return optax.apply_updates(p, changes), s, value


def sgd(p, x, y):
    value, grads = jax.value_and_grad(loss)(p, x, y)
    return value, jax.tree.map(lambda a, g: a - 0.1 * g, p, grads)


@pytest.mark.parametrize("step, message", [
    (lambda p, x, y: jax.grad(loss)(p, x, y), "the gradients of argument 'p' (result 'out/b' and others)"),
    (lambda p, x, y: jax.value_and_grad(loss)(p, x, y)[::-1], "the gradients of argument 'p' (result 'out/0/b'"),
    (lambda p, x, y: dict(zip(("loss", "grads"), jax.value_and_grad(loss)(p, x, y))), "(result 'out/grads/b'"),
    (lambda p, x, y: (jax.value_and_grad(loss)(p, x, y)[0], 1.0, jax.grad(loss)(p, x, y)), "(result 'out/2/b'"),
    (lambda p, x, y: (loss(p, x, y), *jax.tree.leaves(jax.grad(loss)(p, x, y))), "as separate results ('out/1' and the 1 after it)"),
    (sgd, "returns argument 'p' updated by an optimizer (result 'out/1/b'"),
    (jax.jit(sgd), "returns argument 'p' updated by an optimizer (result 'out/1/b'"),
])
def test_gradients_are_no_outputs(step, message):
    found = refused(step, PARAMETERS, X, Y)
    assert message in found and "give the optimizer as option 'update'" in found


def test_a_step_with_its_own_optimizer_is_refused():
    assert "returns argument 'p' updated" in refused(adam, PARAMETERS, optax.adam(1e-3).init(PARAMETERS), X, Y)


def test_what_has_no_backward_may_look_like_gradients():
    made = Step(lambda p, x: jax.tree.map(lambda a: a * x.mean(), p), (PARAMETERS, X)).signature
    assert {r.role for r in made.results} == {"output"}


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Module:
    """As in Equinox: a tree with a function among its leaves."""
    w: object
    b: object
    activation: object


def test_functions_in_arguments_stay_where_they_are():
    def value_and_grad(module, x, y):
        def of(arrays):
            return ((module.activation(x @ arrays[0] + arrays[1]) - y) ** 2).mean()
        value, (w, b) = jax.value_and_grad(of)((module.w, module.b))
        return value, Module(w, b, None)
    module = Module(PARAMETERS["w"], PARAMETERS["b"], jnp.tanh)
    made = Step(value_and_grad, (module, X, Y))
    assert [(a.name, a.role) for a in made.signature.arguments] == [
        ("params/w", "parameter"), ("params/b", "parameter"), ("x", "batch"), ("y", "batch")]
    assert [r.name for r in made.signature.results] == ["loss", "grads/w", "grads/b"]


def test_gradients_of_some_leaves_of_an_argument():
    """As in NNX: gradients of the variables that are parameters, in a tree of another type."""
    module = {"w": PARAMETERS["w"], "b": PARAMETERS["b"], "mean": jnp.zeros(4)}
    made = Step(lambda m, x, y: jax.value_and_grad(lambda p: loss({**m, **p}, x - m["mean"][:3], y))(
        {"w": m["w"], "b": m["b"]}), (module, X, Y)).signature
    assert [(a.name, a.role) for a in made.arguments[:3]] == [
        ("params/b", "parameter"), ("params/mean", "constant"), ("params/w", "parameter")]
    assert [(r.name, r.of) for r in made.results] == [("loss", None), ("grads/b", 0), ("grads/w", 2)]


def test_other_weights_are_no_batches():
    def with_teacher(p, teacher, x):
        return ((model(p, x) - model(teacher, x)) ** 2).mean()
    made = Step(jax.value_and_grad(with_teacher), (PARAMETERS, PARAMETERS, X)).signature
    assert [a.role for a in made.arguments] == ["parameter"] * 2 + ["constant"] * 2 + ["batch"]
    assert any("has the tree of the gradients too" in r for r in made.remarks)
    assert any("taken as a constant, not as a batch" in r for r in made.remarks)


def test_carried_statistics_are_no_rows():
    def step(p, statistics, x, y):
        return loss(p, x - statistics["mean"], y), {"mean": 0.9 * statistics["mean"] + 0.1 * x.mean(0)}
    made = Step(jax.value_and_grad(step, has_aux=True), (PARAMETERS, {"mean": jnp.zeros(3)}, X, Y)).signature
    assert [a.role for a in made.arguments] == ["parameter", "parameter", "constant", "batch", "batch"]
    assert [(r.name, r.combine) for r in made.results[:2]] == [("loss", "mean"), ("aux/mean", "mean")]
