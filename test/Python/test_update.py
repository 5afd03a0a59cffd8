"""Optimizers, state that the step reads, and the validation loss: what is imported, and what is refused."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file

from stagewright import ImportFailure, import_jax


def loss(params, scale, x):
    return (x @ params["w"]).mean() * scale


def update(params, grads, state):
    new = jax.tree.map(lambda p, g: p - 0.1 * g / state["scale"], params, grads)
    return new, {"count": state["count"] + 1, "scale": state["scale"] * 2}


ARGUMENTS = {"w": np.ones((3, 2), np.float32)}, np.float32(4), np.ones((5, 3), np.float32)
STATE = {"count": np.int32(0), "scale": np.float32(4)}


def imported(path, function=jax.value_and_grad(loss), state=STATE, **options):
    made = {"update": (update, state), "roles": {"scale": "state"}, **options}
    return import_jax(function, ARGUMENTS, str(path / "m.mlir"), **{k: v for k, v in made.items() if v is not None})


def test_state_that_the_step_reads_is_one_argument(tmp_path):
    signature = imported(tmp_path)
    assert [(a.role, a.name) for a in signature.arguments] == [
        ("parameter", "params/w"), ("state", "state/scale"), ("batch", "x")]
    inputs = load_file(tmp_path / "m.inputs.safetensors")
    assert sorted(inputs) == ["0", "1", "2", "3"] and inputs["1"] == 4 and inputs["3"].dtype == np.int32
    text = (tmp_path / "m.mlir").read_text()
    facts = next(line for line in text.splitlines() if "@update" in line)
    assert re.search(r'tensor<f32> \{[^}]*"state/scale"[^}]*pipeline\.of = 1', facts)
    assert not re.search(r'tensor<i32> \{[^}]*"state/count"[^}]*pipeline\.of = 1[^}]*\}[^>]*->', facts)


def test_gradients_may_be_wider_than_parameters(tmp_path):
    def step(params, scale, x):
        value, gradients = jax.value_and_grad(loss)(params, scale, x)
        return value, jax.tree.map(lambda g: g.astype(jnp.float32), gradients)

    def short(params, grads, state):
        assert grads["w"].dtype == jnp.float32 and params["w"].dtype == jnp.bfloat16
        return jax.tree.map(lambda p, g: (p - g).astype(p.dtype), params, grads), state

    arguments = {"w": jnp.ones((3, 2), jnp.bfloat16)}, *ARGUMENTS[1:]
    signature = import_jax(step, arguments, str(tmp_path / "m.mlir"), update=(short, {"count": np.int32(0)}))
    assert [(r.role, r.of) for r in signature.results] == [("loss", None), ("gradient", 0)]
    facts = next(line for line in (tmp_path / "m.mlir").read_text().splitlines() if "@update" in line)
    assert "tensor<3x2xbf16>" in facts and "tensor<3x2xf32>" in facts


def test_narrower_results_are_no_gradients(tmp_path):
    def step(params, scale, x):
        value, gradients = jax.value_and_grad(loss)(params, scale, x)
        return value, jax.tree.map(lambda g: g.astype(jnp.bfloat16), gradients)
    with pytest.raises(ImportFailure):
        imported(tmp_path, step)


def test_the_loss_that_validates_has_the_names_of_the_step(tmp_path):
    imported(tmp_path, validation=lambda p, _scale, inputs: (inputs @ p["w"]).mean())
    text = (tmp_path / "m.validation.mlir").read_text()
    facts = next(line for line in text.splitlines() if "@step" in line)
    for name, role in (("params/w", "parameter"), ("x", "batch")):
        assert re.search(rf'name = "{name}"[^}}]*role = "{role}"', facts), facts
    assert 'role = "loss"' in facts
    assert "gradient" not in facts


@pytest.mark.parametrize("options,wanted", [
    (dict(update=None), "argument 'scale' has the role 'state', but there is no option 'update'"),
    (dict(state={"count": np.int32(0)}), "the update's state has no 'scale'; it has count"),
    (dict(state={**STATE, "scale": np.int32(4)}), "argument 'scale' of the step is float32[], in the update's state it is "
                                                  "int32[]"),
    (dict(update=(lambda p, g, s: p, STATE)), "the update must return (parameters, state)"),
    (dict(update=(lambda p, g, s: ({**p, "v": p["w"]}, s), STATE)), "the update returns parameters of another structure than it takes: "),
    (dict(update=(lambda p, g, s: (p, {**s, "count": s["count"] * 0.5}), STATE)),
     "the update returns state/count as float32[], given as int32[]"),
    (dict(validation=lambda p, s, x: x @ p["w"]), "the function must return the loss alone, a number, but it returns")])
def test_what_is_refused(tmp_path, options, wanted):
    with pytest.raises(ImportFailure, match=re.escape(wanted)):
        imported(tmp_path, **options)
    assert not list(tmp_path.iterdir())
