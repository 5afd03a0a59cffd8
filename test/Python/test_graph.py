"""Forming the graph changes no value: @step gives the same results as imported, and cut into nodes and inlined again.

Both run by upstream passes only (native.py), in the order of the graph, with and without scopes, split and merged."""

import os
import pathlib
import subprocess

import jax
import numpy as np
import pytest

from native import compile_module
from stagewright import import_jax
from test_models import model, small  # noqa: F401  (sizes of the models)
from tiers import thorough

BUILD = pathlib.Path(os.environ.get("STAGEWRIGHT_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
ROUTES = {"split": ["--pipeline-form-graph"],
          "merged": ["--pipeline-merge-backward", "--pipeline-unify-bodies"],
          "by-structure": ["--pipeline-form-graph=layers=flow", "--pipeline-merge-backward"]}


@pytest.mark.parametrize("name", ["mlp:mlp", "gpt:gpt_tied", "llama:llama", *thorough((
    "gpt:gpt_dropout", "moe:moe", "convnet:convnet", "encoder_decoder:encoder_decoder"))])
def test_equals_the_imported_step(name, tmp_path):
    function, arguments, options = model(name)
    path = tmp_path / "model.mlir"
    import_jax(function, arguments, str(path), **options)
    inputs = [np.asarray(a) if not jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key)
              else np.asarray(jax.random.key_data(a)).view(np.int32) for a in map(jax.numpy.asarray, jax.tree.leaves(arguments))]
    if any(jax.dtypes.issubdtype(a.dtype, jax.dtypes.prng_key) for a in jax.tree.leaves(arguments)):
        inputs.append(np.int32(3))
    wanted = compile_module(path, str(tmp_path))(inputs)
    for route, passes in ROUTES.items():
        directory = tmp_path / route
        directory.mkdir()
        formed = directory / "model.mlir"
        subprocess.run([BUILD / "bin/pp-opt", *passes, "--pipeline-inline-graph", path, "-o", formed], check=True)
        found = compile_module(formed, str(directory))(inputs)
        for position, (a, b) in enumerate(zip(wanted, found, strict=True)):
            np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-6 * np.abs(a).max(), err_msg=f"{route}, result {position}")
