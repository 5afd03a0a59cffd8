"""Annotations in JAX code: their scopes, errors, and what becomes of them in layers of the imported step."""

import os
import pathlib
import re
import subprocess

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import stagewright
from stagewright import ImportFailure, import_jax

BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", pathlib.Path(__file__).parents[2] / "build"))
X = jnp.ones((8, 4))


def weights(names):
    return {name: jnp.full((4, 4), 0.5) for name in names}


def annotated(tmp_path, loss, params):
    """{layer: its annotation, such as "replicate 2 0"} of a step that has been imported and cut into layers."""
    path = tmp_path / "step.mlir"
    import_jax(jax.value_and_grad(loss), (params, X), str(path))
    graph = subprocess.run([BUILD / "bin/pp-opt", "--pipeline-form-graph", path], capture_output=True, text=True, check=True).stdout
    layers = re.search(r"\blayers = \[([^\]]*)\]", graph)[1]
    forms = re.search(r"pipeline.annotations = \[([^\]]*)\]", graph)[1]
    return dict(zip(re.findall(r'"([^"]*)"', layers),
                    (" ".join(form.split(":")[1:4]) for form in re.findall(r'"([^"]*)"', forms)), strict=True))


def test_scopes_survive_transformations(tmp_path):
    def loss(p, x):
        with stagewright.replicate(2):
            with jax.named_scope("first"):
                x = jax.checkpoint(lambda w, x: jnp.tanh(x @ w))(p["a"], x)
            with jax.named_scope("second"):
                x = jax.vmap(lambda row: jax.jit(jnp.dot)(row, p["b"]))(x)
        with stagewright.split(3):
            x, _ = lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, p["s"])
        with jax.named_scope("last"):
            return ((x @ p["c"]) ** 2).mean()
    found = annotated(tmp_path, loss, weights("abc") | {"s": jnp.ones((2, 4, 4))})
    assert found == {"first": "replicate 2 0", "second": "replicate 2 0", "layer0": "split 3 1", "layer1": "split 3 1", "last": ""}


def test_a_scope_in_a_loop_over_layers_is_one_annotation(tmp_path):
    def body(x, w):
        with stagewright.replicate(2):
            return jnp.tanh(x @ w), None

    def loss(p, x):
        with jax.named_scope("in"):
            x = x @ p["a"]
        return (lax.scan(body, x, p["s"])[0] ** 2).mean()
    found = annotated(tmp_path, loss, weights("a") | {"s": jnp.ones((3, 4, 4))})
    assert found == {"in": "", "layer0": "replicate 2 0", "layer1": "replicate 2 0", "layer2": "replicate 2 0"}


def test_numbers_of_layers_go_on_across_annotations(tmp_path):
    def loss(p, x):
        for s in ("s", "t"):
            with stagewright.replicate(2):
                x, _ = lax.scan(lambda x, w: (jnp.tanh(x @ w), None), x, p[s])
        return (x ** 2).mean()
    found = annotated(tmp_path, loss, {"s": jnp.ones((2, 4, 4)), "t": jnp.ones((1, 4, 4))})
    assert found == {"layer0": "replicate 2 0", "layer1": "replicate 2 0", "layer2": "replicate 2 1"}


def test_an_annotation_may_be_entered_again(tmp_path):
    both = stagewright.replicate(2)

    def loss(p, x):
        for name in "ab":
            with both, jax.named_scope(name):
                x = jnp.tanh(x @ p[name])
        return x.mean()
    assert annotated(tmp_path, loss, weights("ab")) == {"a": "replicate 2 0", "b": "replicate 2 0"}


def test_layers_do_not_depend_on_annotations(tmp_path):
    def layers(scope):
        def loss(p, x):
            with scope():
                for name in "ab":
                    with jax.named_scope(f"h{name}"), jax.named_scope("up"):
                        x = jnp.tanh(x @ p[name])
                    with jax.named_scope(f"h{name}"), jax.named_scope("down"):
                        x = x @ p[name + "2"]
                return (x ** 2).mean()
        path = tmp_path / "step.mlir"
        import_jax(jax.value_and_grad(loss), ({f"{n}{k}": X[:4] for n in "ab" for k in ("", "2")}, X), str(path))
        graph = subprocess.run([BUILD / "bin/pp-opt", "--pipeline-form-graph", path], capture_output=True, text=True, check=True)
        return re.search(r"\blayers = \[([^\]]*)\]", graph.stdout)[1]
    assert layers(lambda: stagewright.replicate(2)) == layers(lambda: jax.named_scope(""))


def test_imports_are_reproducible(tmp_path):
    def loss(p, x):
        with stagewright.replicate(2):
            return (x @ p["a"]).mean()
    texts = []
    for name in ("one.mlir", "two.mlir"):
        import_jax(jax.value_and_grad(loss), (weights("a"), X), str(tmp_path / name))
        texts.append((tmp_path / name).read_text())
    assert "stagewright:replicate:2:0:test_annotation_scopes.py%3A" in texts[0] and texts[0] == texts[1]


def test_nested_annotations_are_an_error(tmp_path):
    def loss(p, x):
        with stagewright.replicate(2):
            with stagewright.split(2):
                return (x @ p["a"]).mean()
    line = loss.__code__.co_firstlineno
    with pytest.raises(ImportFailure, match=re.escape(
            f"split(2) at test_annotation_scopes.py:{line + 2} is inside of replicate(2) at test_annotation_scopes.py:{line + 1}; annotations "
            "cannot be nested, end one before the other begins")):
        import_jax(jax.value_and_grad(loss), (weights("a"), X), str(tmp_path / "step.mlir"))
    with stagewright.replicate(1):  # The error has closed the scope.
        pass


def test_annotations_nested_by_a_cached_function_are_an_error(tmp_path):
    @jax.jit
    def inner(w, x):
        with stagewright.split(2):
            return x @ w

    def loss(p, x):
        x = inner(p["a"], x)
        with stagewright.replicate(2):
            return inner(p["a"], x).mean()
    path = tmp_path / "step.mlir"
    import_jax(jax.value_and_grad(loss), (weights("a"), X), str(path))
    done = subprocess.run([BUILD / "bin/pp-opt", "--pipeline-form-graph", path], capture_output=True, text=True)
    assert re.search(r"error: an operation is in replicate\(2\) at test_annotation_scopes.py:\d+ and in split\(2\) at "
                     r"test_annotation_scopes.py:\d+; annotations cannot be nested", done.stderr)


@pytest.mark.parametrize("count", (0, -1, 2.0, "2", True))
def test_the_number_of_devices_is_checked(count):
    with pytest.raises(ImportFailure, match=r"replicate at test_annotation_scopes.py:\d+ takes the number of devices, an integer of at "
                                            rf"least 1, got {count!r}"):
        stagewright.replicate(count)
