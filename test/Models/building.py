"""Helpers of the steps: initial values, small layers, and a pair of dense layers around an operation."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np

from common import integers, mean_token_loss, tokens  # noqa: F401  of test/Integration/models


class Draw:
    """Values of one floating type, drawn in order: the same in every type, except for rounding."""

    def __init__(self, dtype, seed=0, scale=0.2):
        self.dtype, self.rng, self.scale = np.dtype(dtype), np.random.default_rng(seed), scale

    def __call__(self, *shape, scale=None):
        return (self.rng.standard_normal(shape) * (scale or self.scale)).astype(self.dtype)

    def uniform(self, *shape, low=0.0, high=1.0):
        return self.rng.uniform(low, high, shape).astype(self.dtype)

    def ones(self, *shape):
        return np.ones(shape, self.dtype)

    def zeros(self, *shape):
        return np.zeros(shape, self.dtype)

    def norm(self, width):
        return dict(g=self.ones(width), b=self.zeros(width))

    def dense(self, width, out):
        return dict(w=self(width, out, scale=width ** -0.5), b=self.zeros(out))


def to(dtype, tree):
    """The tree with its floating-point leaves converted to a type."""
    def cast(leaf):
        if not hasattr(leaf, "dtype") or not jnp.issubdtype(leaf.dtype, jnp.floating):
            return leaf
        return leaf.astype(dtype)
    return jax.tree.map(cast, tree)


def dense(p, x):
    return x @ p["w"] + p["b"]


def rms_norm(g, x):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * g


def around(op, *, parameters=None, batch=(4, 6, 16), more=None, scoped=True):
    """A maker of a step with `op` between two dense layers, so that its inputs and outputs have gradients.

    `op(h, p, *more)` takes the hidden values, the dictionary `parameters(draw)` and the other batches `more(draw)`; it
    returns one or several arrays."""
    def make(dtype):
        draw = Draw(dtype)
        x, others = draw(*batch, scale=1.0), tuple(more(draw)) if more else ()
        p = dict(before=draw.dense(batch[-1], batch[-1]), **(parameters(draw) if parameters else {}))
        shapes = jax.tree.leaves(jax.eval_shape(op, x, p, *others))
        p["after"] = draw(sum(s.shape[-1] if s.shape else 1 for s in shapes), 8)

        def loss(p, x, *others):
            with scope("before", scoped):
                h = jnp.tanh(dense(p["before"], x))
            with scope("middle", scoped):
                made = jax.tree.leaves(op(h, p, *others))
            with scope("after", scoped):
                total, start = 0, 0
                for value in made:
                    value = jnp.atleast_1d(value)
                    if not jnp.issubdtype(value.dtype, jnp.floating):
                        value = value.astype(h.dtype)
                    y = value @ p["after"][start:start + value.shape[-1]].astype(value.dtype)
                    total, start = total + ((y - 0.5) ** 2).mean(), start + value.shape[-1]
                return total
        return jax.value_and_grad(loss), (p, x, *others)
    return make


def scope(name, wanted=True):
    return jax.named_scope(name) if wanted else contextlib.nullcontext()
