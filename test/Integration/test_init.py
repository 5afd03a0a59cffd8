"""Values that `pp-run --init` generates, compared with the documented rule on JAX's random numbers."""

import subprocess

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from stagewright.frontend.jax_step import import_jax
from workshop import BUILD, tool

SEED, WIDTH = 7, 6


def half_of_squares(parameters, x):
    """A loss whose gradients are the parameters themselves."""
    return sum(0.5 * (p.astype(jnp.float32) ** 2).sum() for p in jax.tree.leaves(parameters)) + 0 * x.sum()


def parameters():
    return {"layers": [{"bias": jnp.zeros(WIDTH), "scale": jnp.zeros(WIDTH), "w": jnp.zeros((WIDTH, 4))},
                       {"b": jnp.zeros(WIDTH), "g": jnp.zeros(WIDTH, jnp.bfloat16), "w": jnp.zeros((3, WIDTH, 2), jnp.bfloat16)}]}


def normal(position, count):
    key = jax.random.fold_in(jax.random.wrap_key_data(jnp.array([0, SEED], jnp.uint32)), position)
    folded = jax.random.fold_in(key, 0)  # the upper half of an element's index
    words = np.asarray(jax.vmap(lambda i: jax.random.key_data(jax.random.fold_in(folded, i)))(np.arange(count)), np.float64)
    return np.sqrt(-2 * np.log((words[:, 0] + 0.5) / 2 ** 32)) * np.cos(2 * np.pi * words[:, 1] / 2 ** 32)


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    folder = tmp_path_factory.mktemp("init")
    path = str(folder / "model.mlir")
    shapes = jax.eval_shape(lambda: (parameters(), jnp.zeros((2, 3))))
    import_jax(jax.value_and_grad(half_of_squares), shapes, path)
    assert not (folder / "model.inputs.safetensors").exists()
    tool("pp-compile", path, "--cluster=local:1", "--microbatches=2", "-o", folder / "model.swx")
    return folder / "model.swx"


def test_the_rule(artifact, tmp_path):
    tool("pp-run", artifact, f"--init={SEED}", f"--outputs={tmp_path / 'out'}")
    found = load_file(tmp_path / "out")
    leaves = jax.tree_util.tree_leaves_with_path(parameters())
    for position, (path, leaf) in enumerate(leaves):
        name = str(path[-1].key)
        if leaf.ndim > 1:
            wanted = 0.02 * normal(position, leaf.size).reshape(leaf.shape)
        else:
            wanted = np.full(leaf.shape, name in ("scale", "g"))
        tolerance = 1e-6 if leaf.dtype == jnp.float32 else 2 ** -8
        got = found[str(1 + position)]
        assert got.dtype == leaf.dtype
        np.testing.assert_allclose(got.astype(np.float64), wanted, tolerance, 0, err_msg=str(path))


def test_what_the_file_has_stays(artifact, tmp_path):
    own = np.arange(WIDTH, dtype=np.float32)
    save_file({"0": own}, tmp_path / "in")
    tool("pp-run", artifact, f"--init={SEED}", f"--inputs={tmp_path / 'in'}", f"--outputs={tmp_path / 'out'}")
    np.testing.assert_array_equal(load_file(tmp_path / "out")["1"], own)


def test_without_it_the_error_names_it(artifact, tmp_path):
    save_file({"0": np.zeros(WIDTH, np.float32)}, tmp_path / "in")
    done = subprocess.run([BUILD / "bin/pp-run", artifact, f"--inputs={tmp_path / 'in'}"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "has no tensor '1' for argument 1 ('params/layers/0/scale'); --init=SEED initialises it" in done.stderr
