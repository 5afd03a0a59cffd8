"""Every example model: imported, read by an unmodified mlir-opt, and equal to JAX over different microbatches."""

import os
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from native import compile_module, tool
from stagewright import import_jax
from stagewright.frontend.jax_step import load_model
from tiers import thorough

INTEGRATION = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Integration")
sys.path.insert(0, INTEGRATION)
import golden  # noqa: E402

MODELS = ["mlp:mlp", "gpt:gpt", "gpt:gpt_scan", "gpt:gpt_bfloat16", "convnet:convnet", "moe:moe"]
MORE = ["gpt:gpt_tied", "gpt:gpt_dropout", "gpt:gpt_forward", "llama:llama", "encoder_decoder:encoder_decoder"]
DIALECTS = {"builtin", "func", "linalg", "tensor", "arith", "math", "scf"}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setenv("STAGEWRIGHT_GPT", "V=32,D=16,H=2,L=3,T=8,B=2")
    monkeypatch.setenv("STAGEWRIGHT_LLAMA", "V=32,D=16,F=24,T=8")
    monkeypatch.setenv("STAGEWRIGHT_MOE", "V=32,D=16,T=8,F=16")
    monkeypatch.setenv("STAGEWRIGHT_ENCODER_DECODER", "V=32,D=16,S=6,T=8,N=1")


def model(name):
    file, function = name.split(":")
    return load_model(os.path.join(INTEGRATION, "models", f"{file}.py:{function}"))


def run(path, directory, signature, inputs, count):
    """The imported module run once per microbatch, its results combined as their attributes say."""
    step, parts = compile_module(path, str(directory)), []
    for m in range(count):
        here = [a[m] if about.role == "batch" else a for a, about in zip(inputs, signature.arguments)]
        if any(a.role == "seed" for a in signature.arguments):
            here.append(np.int32(m))
        parts.append(step(here))
    combined = []
    for position, result in enumerate(signature.results):
        values = [part[position] for part in parts]
        if result.combine == "concat":
            combined.append(np.concatenate(values, result.batch_dim))
        elif result.combine == "last":
            combined.append(values[-1])
        else:
            combined.append((sum(values) / (count if result.combine == "mean" else 1)).astype(values[0].dtype))
    return {str(i): np.asarray(v) for i, v in enumerate(combined)}


@pytest.mark.parametrize("name", [*MODELS, *thorough(MORE)])
def test_equals_jax(name, tmp_path):
    function, arguments, options = model(name)
    path = str(tmp_path / "model.mlir")
    signature = import_jax(function, arguments, path, **options)
    printed = subprocess.run([tool("mlir-opt"), "--mlir-print-op-generic", path], capture_output=True, text=True)
    assert printed.returncode == 0, printed.stderr
    assert {op.split(".")[0] for op in re.findall(r'= "([a-z_.]+)"\(', printed.stdout)} <= DIALECTS
    inputs, wanted = golden.accumulate(function, arguments, 3, options)
    found = run(path, tmp_path, signature, inputs, 3)
    wanted = {str(i): v for i, v in enumerate(wanted)}
    if name != "gpt:gpt_bfloat16":
        assert golden.disagreements(wanted, found) == []
        return
    function, arguments, options = model("gpt:gpt")
    reference = {str(i): v for i, v in enumerate(golden.accumulate(function, arguments, 3, options)[1])}
    ours, theirs = golden.short_float_errors(wanted, found, reference)
    assert ours <= 1.5 * theirs


def scopes(path):
    with open(path) as file:
        return set(re.findall(r'loc\("(jit\(step\)[^"]*)"', file.read()))


def test_scopes_survive(tmp_path):
    path = str(tmp_path / "model.mlir")
    function, arguments, _ = model("gpt:gpt")
    import_jax(function, arguments, path)
    for prefix in ("jit(step)/jvp(h2)/attn/", "jit(step)/transpose(jvp(h2))/mlp/", "jit(step)/jvp(embed)/",
                   "jit(step)/transpose(jvp(head))/"):
        assert any(scope.startswith(prefix) for scope in scopes(path)), prefix


def test_scan_over_layers_is_layers_and_slices(tmp_path):
    path = str(tmp_path / "model.mlir")
    function, arguments, _ = model("gpt:gpt_scan")
    import_jax(function, arguments, path)
    for prefix in ("jit(step)/jvp(h)/layer2/attn/", "jit(step)/transpose(jvp(h))/layer0/mlp/"):
        assert any(scope.startswith(prefix) for scope in scopes(path)), prefix
    with open(path) as file:
        text = file.read()
    stacked = len(jax.tree.leaves(arguments[0]["h"]))
    assert text.count("pipeline.slices = 3 : i64") == 2 * stacked
    number = next(i for i, line in enumerate(jax.tree.leaves(arguments[0])) if line.shape == (3, 16, 64))
    reads = re.findall(rf"tensor.extract_slice %arg{number}\[(\d), 0, 0\] \[1, 16, 64\] \[1, 1, 1\] "
                       r": tensor<3x16x64xf32> to tensor<16x64xf32>", text)
    assert sorted(reads) == ["0", "1", "2"]
    assert len(re.findall(rf"%arg{number}\b", text)) == 4  # its declaration and the three reads
    writes = re.findall(r"tensor.insert_slice %\w+ into %\w+\[(\d), 0, 0\] \[1, 16, 64\] \[1, 1, 1\] "
                        r": tensor<16x64xf32> into tensor<3x16x64xf32>", text)
    assert writes == ["0", "1", "2"]


def test_slices_can_be_refused(tmp_path):
    path = str(tmp_path / "model.mlir")
    function, arguments, _ = model("gpt:gpt_scan")
    import_jax(function, arguments, path, pipeline_slices=False)
    with open(path) as file:
        assert "pipeline.slices" not in file.read()


def test_cast_parameters_stay_sliced(tmp_path):
    """Stacked parameters that are cast before their scan are still read row by row."""
    def loss(params, x):
        body = lambda h, w: (jnp.tanh(h @ w), None)
        h, _ = jax.lax.scan(body, x.astype(jnp.bfloat16), params.astype(jnp.bfloat16))
        return h.astype(jnp.float32).mean()
    path = str(tmp_path / "model.mlir")
    import_jax(jax.value_and_grad(loss), (jnp.ones((3, 4, 4)), jnp.ones((2, 4))), path)
    with open(path) as file:
        assert file.read().count("pipeline.slices = 3 : i64") == 2


def test_many_layers_stay_sliced(tmp_path):
    """JAX concatenates rows in groups of sixteen; they must stay slices, also with an optimizer."""
    def loss(params, x):
        return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, params)[0].mean()

    def update(params, gradients, momentum):
        momentum = 0.9 * momentum + gradients
        return params - 0.1 * momentum, momentum
    path, params = str(tmp_path / "model.mlir"), jnp.ones((37, 4, 4))
    import_jax(jax.value_and_grad(loss), (params, jnp.ones((2, 4))), path, update=(update, params))
    with open(path) as file:
        assert file.read().count("pipeline.slices = 37 : i64") == 2


STACKED = {"w": np.random.default_rng(0).standard_normal((4, 3, 3), np.float32), "b": np.ones((4, 3), np.float32)}
ROWS = np.random.default_rng(1).standard_normal((2, 3), np.float32)


def layer(p, x):
    return jnp.tanh(x @ p["w"] + p["b"])


def by_number(p, x):
    """A loop with a counter that indexes its layer."""
    return jax.lax.fori_loop(0, 4, lambda i, h: layer(jax.tree.map(lambda a: a[i], p), h), x)


def in_pairs(p, x):
    """A scan over pairs of layers."""
    def body(h, q):
        for i in range(2):
            h = layer(jax.tree.map(lambda a: a[i], q), h)
        return h, None
    return jax.lax.scan(body, x, jax.tree.map(lambda a: a.reshape(2, 2, *a.shape[1:]), p))[0]


def rematerialised(p, x):
    body = jax.checkpoint(lambda h, q: (layer(q, h), None), policy=jax.checkpoint_policies.dots_saveable)
    return jax.lax.scan(body, x, p)[0]


def collecting(p, x):
    """A scan whose layers also output values that the loss reads."""
    def body(h, q):
        h = layer(q, h)
        return h, h.mean()
    h, means = jax.lax.scan(body, x, p)
    return h + (means ** 2).sum()


def with_keys(p, x, key):
    """Dropout in a scan, with a key per layer."""
    def body(h, layer_and_key):
        q, k = layer_and_key
        return layer(q, h) * jax.random.bernoulli(k, 0.5, h.shape), None
    return jax.lax.scan(body, x, (p, jax.random.split(key, 4)))[0]


def carrying_a_key(p, x, key):
    def body(carry, q):
        h, key = carry
        key, k = jax.random.split(key)
        return (layer(q, h) * jax.random.bernoulli(k, 0.5, h.shape), key), None
    return jax.lax.scan(body, (x, key), p)[0][0]


@pytest.mark.parametrize("function", [by_number, in_pairs, rematerialised, collecting, with_keys, carrying_a_key])
def test_loops_over_layers(function, tmp_path):
    """Every form of loop gives layers, slices, and JAX's values."""
    arguments = (STACKED, ROWS, *([jax.random.key(3)] if function in (with_keys, carrying_a_key) else []))
    step = jax.value_and_grad(lambda *a: function(*a).sum())
    path = str(tmp_path / "model.mlir")
    signature = import_jax(step, arguments, path)
    with open(path) as file:
        assert file.read().count("pipeline.slices = 4 : i64") == 4
    for i in range(2 if function is in_pairs else 4):
        assert any(f"transpose(jvp(layer{i}))" in scope for scope in scopes(path))
    inputs, wanted = golden.accumulate(step, arguments, 3)
    found = run(path, tmp_path, signature, inputs, 3)
    assert golden.disagreements({str(i): v for i, v in enumerate(wanted)}, found) == []


def test_a_loop_over_time_is_not_layers(tmp_path):
    def loss(p, x):
        h, _ = jax.lax.scan(lambda h, u: (jnp.tanh(h @ p["w"] + u), None), jnp.zeros(3), x)
        return h.sum()
    path = str(tmp_path / "model.mlir")
    import_jax(jax.value_and_grad(loss), (dict(w=np.ones((3, 3), np.float32)), np.ones((3, 3), np.float32)), path)
    assert any("jvp(step2)" in scope for scope in scopes(path)) and not any("layer" in scope for scope in scopes(path))
    with open(path) as file:
        assert "pipeline.slices" not in file.read()


def test_rows_read_by_number_are_slices(tmp_path):
    """A Python loop over stacked parameters, with a decay term on all of them."""
    def loss(params, x):
        for i in range(3):
            with jax.named_scope(f"h{i}"):
                x = jnp.tanh(x @ params["w"][i] + params["b"][i])
        return x.mean() + 0.1 * (params["w"] ** 2).sum()
    path = str(tmp_path / "model.mlir")
    params = dict(w=jnp.ones((3, 4, 4)), b=jnp.ones((3, 4)))
    import_jax(jax.value_and_grad(loss), (params, jnp.ones((2, 4))), path)
    with open(path) as file:
        text = file.read()
    assert re.search(r'"params/b", pipeline.role = "parameter", pipeline.slices = 3', text)


def test_a_parameter_read_whole_is_not_sliced(tmp_path):
    def loss(params, x):
        h, _ = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, params)
        return h.mean() + jnp.einsum("lij,lji->", params, params)
    path = str(tmp_path / "model.mlir")
    import_jax(jax.value_and_grad(loss), (jnp.ones((3, 4, 4)), jnp.ones((2, 4))), path)
    with open(path) as file:
        assert "pipeline.slices" not in file.read()


def test_two_scans_in_one_scope_are_numbered_on(tmp_path):
    def loss(params, x):
        for part in params:
            x = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, part)[0]
        return x.sum()
    path = str(tmp_path / "model.mlir")
    import_jax(jax.value_and_grad(loss), ([jnp.ones((2, 4, 4)), jnp.ones((3, 4, 4))], jnp.ones((2, 4))), path)
    found = scopes(path)
    for i in range(5):
        assert any(s.startswith(f"jit(step)/jvp(layer{i})/") for s in found), i
        assert any(s.startswith(f"jit(step)/transpose(jvp(layer{i}))/") for s in found), i
