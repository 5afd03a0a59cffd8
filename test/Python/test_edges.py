"""Arrays without elements, updates of whole arrays, products of two types, rounding in short types, compared with JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from native import compile_module
from stagewright import import_jax
from test_conversions import F, check, gradient, ints, normal

H = jnp.bfloat16


def convolution(x, w, **options):
    return lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), **options)


def short(*shape, seed=0):
    return normal(*shape, seed=seed).astype(H)


CASES = {
    "empty": {
        "scan_of_one": (gradient(lambda x: lax.associative_scan(jnp.multiply, x, axis=0)), normal(1, 5)),
        "scan_of_two": (gradient(lambda x: lax.associative_scan(jnp.multiply, x, axis=0)), normal(2, 5)),
        "scan_of_seven": (gradient(lambda x: lax.associative_scan(jnp.multiply, x, axis=1)), normal(3, 7)),
        "recurrence": (gradient(lambda a, b: lax.associative_scan(
            lambda u, v: (u[0] * v[0], v[0] * u[1] + v[1]), (a, b), axis=1)[1], 0, 1), normal(2, 6),
            normal(2, 6, seed=3)),
        "cumprod": (gradient(lambda x: jnp.cumprod(x, 0)), normal(5, 2)),
        "cummax": (gradient(lambda x: lax.cummax(x, 0)), normal(1, 2)),
        "median": (gradient(lambda x: jnp.median(x, 0)), normal(3, 2)),
        "slices": (gradient(lambda x: jnp.concatenate([x[:0], x, jnp.sin(x[2:2])]).sum() + x[3:].sum()), normal(3, 2)),
        "padded": (lambda x: jnp.pad(x[:0], ((2, 1), (0, 0)), constant_values=1.5), normal(3, 2)),
        "reduced": (lambda x: (x[:0].sum(0), x[3:].prod(0), (x[:0] > 0).all(0)), normal(3, 2)),
        "product": (lambda x: x[:, :0] @ x[:0], normal(3, 3)),
    },
    "whole": {
        "multiplied": (gradient(lambda x, w: x.at[:, :].multiply(w), 0, 1), normal(3, 2), normal(3, 2, seed=1)),
        "replaced": (gradient(lambda x, w: jnp.sin(x.at[:].set(w) + x.at[...].add(w)), 0, 1), normal(3, 2),
                     normal(3, 2, seed=1)),
        "read": (gradient(lambda x: jnp.sin(x.at[:, :].get(mode="fill"))), normal(3, 2)),
        "filled": (gradient(lambda x, i: jnp.take(x, i, axis=0, mode="fill", fill_value=0.5).sum(0)), normal(3, 2),
                   ints(5, 4)),
    },
    "mixed": {
        "depthwise": (lambda x, w: convolution(x, w, feature_group_count=4), short(2, 5, 5, 4), short(3, 3, 1, 4)),
        "depthwise_gradient": (gradient(lambda x, w: convolution(x, w, feature_group_count=4), 0, 1), short(2, 5, 5, 4),
                               short(3, 3, 1, 4)),
        "preferred": (lambda x, w: jnp.einsum("bij,bkj->bki", x, w, preferred_element_type=F), short(2, 3, 5),
                      short(2, 4, 5)),
        "preferred_gradient": (gradient(lambda x, w: jnp.matmul(x, w, preferred_element_type=F), 0, 1), short(2, 5),
                               short(5, 4)),
        "attention": (gradient(lambda q, k: jax.nn.dot_product_attention(q, k, k, is_causal=True), 0, 1),
                      short(2, 4, 2, 3), short(2, 4, 2, 3, seed=2)),
        "rounded": (lambda x: (jnp.round(x), jnp.floor(x), jnp.ceil(x), jnp.trunc(x), x % 0.7, jnp.fmod(x, 0.7)),
                    3 * short(3, 4)),
    },
}


@pytest.mark.parametrize("family", CASES)
def test_equals_jax(family, tmp_path):
    cases = CASES[family]
    check(tmp_path, lambda arguments: {name: cases[name][0](*a) for name, a in arguments.items()},
          {name: case[1:] for name, case in cases.items()}, 2e-2 if family == "mixed" else 5e-6)


def test_one_row_of_a_parameter_beside_others(tmp_path):
    """Rows of parameters are read one by one, also if an operation broadcasts a single row, as in a maximum."""
    def loss(p, x):
        return ((p["w"].max(0) * jnp.tanh(p["w"]).max(0)).sum() +
                (p["u"] / jnp.square(p["u"]).sum(0, keepdims=True)).sum() +
                (jnp.tanh(p["u"]) - jnp.tanh(p["u"]).max(0, keepdims=True)).prod() + x.sum())
    step, arguments = jax.value_and_grad(loss), ({"u": normal(3, 2), "w": normal(2)}, jnp.ones(2))
    import_jax(step, arguments, str(tmp_path / "rows.mlir"))
    found = compile_module(tmp_path / "rows.mlir", str(tmp_path))([np.asarray(a) for a in jax.tree.leaves(arguments)])
    for ours, theirs in zip(found, jax.tree.leaves(step(*arguments)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=2e-6)
