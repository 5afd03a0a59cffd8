"""Functions that are expanded: gamma functions, Cholesky factors, triangular systems; values and gradients equal JAX's."""

import itertools

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from stagewright import ImportFailure, import_jax
from test_conversions import check, gradient, normal

NUMBERS = jnp.array([-3.3, -2.5, -1.2, -0.7, -0.3, 0.2, 0.5, 0.9, 1.0, 1.5, 2.0, 3.7, 10.0, 50.0])
EDGES = jnp.array([0.0, -1.0, -2.0, jnp.inf, jnp.nan])


def positive(n):
    """Two symmetric positive definite matrices."""
    a = normal(2, n, n)
    return a @ a.transpose(0, 2, 1) + jnp.eye(n)


def triangle(n):
    """A matrix with both triangles filled, of which only one may be read."""
    return 0.3 * normal(n, n) + 1.5 * jnp.eye(n)


def solutions(a, b, c):
    """Every form of a triangular system."""
    return {f"{left}{lower}{transposed}{unit}": lax.linalg.triangular_solve(
        a, b if left else c, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=unit)
        for left, lower, transposed, unit in itertools.product((False, True), repeat=4)}


CASES = {
    "lgamma": (lax.lgamma, NUMBERS),
    "digamma": (lax.digamma, NUMBERS),
    "lgamma_gradient": (gradient(lax.lgamma), NUMBERS),
    "lgamma_short": (lax.lgamma, NUMBERS.astype(jnp.bfloat16)),
    "trigamma": (gradient(lax.digamma), NUMBERS),
    "tetragamma": (gradient(lambda x: jax.grad(lambda y: lax.digamma(y).sum())(x)), NUMBERS),
    "polygamma": (lambda x: jax.scipy.special.polygamma(3, x), NUMBERS),
    "zeta": (lambda x: jax.scipy.special.zeta(2.5, x), jnp.concatenate([NUMBERS, EDGES])),
    "edges": (lambda x: (lax.lgamma(x), lax.digamma(x)), EDGES),
    "cholesky_gradient": (gradient(jnp.linalg.cholesky), positive(5)),
    "cholesky_one": (jnp.linalg.cholesky, positive(1)),
    "cholesky_none": (jnp.linalg.cholesky, jnp.array([[1.0, 2.0], [2.0, 1.0]])),
    "triangular": (solutions, triangle(5), normal(5, 3), normal(3, 5)),
    "triangular_gradient": (gradient(solutions, 0, 1, 2), triangle(3), normal(3, 2), normal(2, 3)),
    "factor_and_solve": (gradient(lambda a, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(a), b), 0, 1),
                         positive(4), normal(2, 4, 3)),
}


def test_equals_jax(tmp_path):
    check(tmp_path, lambda arguments: {name: CASES[name][0](*a) for name, a in arguments.items()},
          {name: case[1:] for name, case in CASES.items()}, 5e-6)


def test_an_order_of_polygamma_that_an_argument_decides_is_refused(tmp_path):
    with pytest.raises(ImportFailure, match="'polygamma'.* its order must be one number that is known at import"):
        import_jax(lax.polygamma, (jnp.ones(3), jnp.ones(3)), str(tmp_path / "order.mlir"))


def test_large_matrices_are_refused(tmp_path):
    with pytest.raises(ImportFailure, match="'cholesky'.* has 200 columns, and at most 128 are written out"):
        import_jax(jnp.linalg.cholesky, (jnp.eye(200),), str(tmp_path / "large.mlir"))
    assert not list(tmp_path.iterdir())
