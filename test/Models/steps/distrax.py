"""Distributions and bijectors of distrax as losses of a small net."""

import distrax
import jax
import jax.numpy as jnp
import numpy as np

from building import Draw, dense, integers
from catalog import add, step


def net(p, x):
    return dense(p["b"], jnp.tanh(dense(p["a"], x)))


def likelihood(function):
    """A maker: `function(y, targets, labels)` is a log-likelihood."""
    def make(dtype):
        n = Draw(dtype)
        p = dict(a=n.dense(8, 16), b=n.dense(16, 6))

        def loss(p, x, targets, labels):
            return -jnp.mean(function(net(p, x), 0.1 + 0.8 * jax.nn.sigmoid(targets), labels))  # within (0, 1)
        return jax.value_and_grad(loss), (p, n(5, 8, scale=1.0), n(5, 6, scale=1.0), integers(6, 5))
    return make


def positive(y):
    return jax.nn.softplus(y) + 0.1


LIKELIHOODS = {
    "normal": lambda y, t, i: distrax.Normal(y, 0.7).log_prob(t),
    "normal-diagonal": lambda y, t, i: distrax.MultivariateNormalDiag(y, positive(y)).log_prob(t),
    "categorical": lambda y, t, i: distrax.Categorical(logits=y).log_prob(i) + 0.1 * distrax.Categorical(logits=y).entropy(),
    "bernoulli": lambda y, t, i: distrax.Bernoulli(logits=y).log_prob((t > 0.5).astype(y.dtype)),
    "laplace": lambda y, t, i: distrax.Laplace(y, positive(y)).log_prob(t),
    "logistic": lambda y, t, i: distrax.Logistic(y, positive(y)).log_prob(t),
    "gumbel": lambda y, t, i: distrax.Gumbel(y, positive(y)).log_prob(t),
    "log-normal": lambda y, t, i: distrax.LogStddevNormal(y, 0.3 * y).log_prob(t),
    "mixture": lambda y, t, i: distrax.MixtureSameFamily(
        distrax.Categorical(logits=y[:, :3]), distrax.Normal(y[:, 3:], 0.5)).log_prob(t[:, 0]),
    "one-hot": lambda y, t, i: distrax.OneHotCategorical(logits=y).log_prob(jax.nn.one_hot(i, 6, dtype=y.dtype)),
    "independent": lambda y, t, i: distrax.Independent(distrax.Normal(y, positive(y)), 1).log_prob(t),
    "kl": lambda y, t, i: -distrax.Normal(y, positive(y)).kl_divergence(distrax.Normal(0.0, 1.0)),
    "beta": lambda y, t, i: distrax.Beta(positive(y), positive(-y)).log_prob(t),
    "gamma": lambda y, t, i: distrax.Gamma(positive(y), positive(-y)).log_prob(t),
    "transformed": lambda y, t, i: distrax.Transformed(distrax.Normal(y, positive(y)), distrax.Sigmoid()).log_prob(t),
    "affine-tanh": lambda y, t, i: distrax.Transformed(distrax.Normal(y, 1.0), distrax.Chain(
        [distrax.Tanh(), distrax.ScalarAffine(0.1, 0.5)])).log_prob(t),
    "spline": lambda y, t, i: distrax.RationalQuadraticSpline(
        jnp.concatenate([y, y[:, :1] * 0.5], -1)[:, None, :].repeat(6, 1), 0.0, 1.0).forward_and_log_det(t)[1],
}
WIDE = ("beta", "gamma")
for name, function in LIKELIHOODS.items():
    add(f"distrax/{name}", likelihood(function), **(dict(dtypes=("float32",)) if name in WIDE else {}))


@step("distrax/reparameterised-sample")
def sample(dtype):
    n = Draw(dtype)
    p = dict(a=n.dense(8, 16), b=n.dense(16, 6))

    def loss(p, x, key):
        y = net(p, x)
        made = distrax.MultivariateNormalDiag(y[:, :3], positive(y[:, 3:]))
        value, density = made.sample_and_log_prob(seed=key)
        return (value ** 2).mean() + 0.1 * density.mean()
    return jax.value_and_grad(loss), (p, n(5, 8, scale=1.0), jax.random.PRNGKey(1))


@step("distrax/coupling-flow")
def flow(dtype):
    """A flow of masked couplings: its density by the change of variables."""
    n = Draw(dtype)
    p = [dict(a=n.dense(4, 16), b=n.dense(16, 8)) for _ in range(2)]

    def loss(p, x):
        parts = []
        for i, q in enumerate(p):
            mask = np.arange(4) % 2 == i
            parts.append(distrax.MaskedCoupling(
                mask, bijector=lambda v: distrax.ScalarAffine(v[..., 0], log_scale=0.3 * jnp.tanh(v[..., 1])),
                conditioner=lambda v, q=q: net(q, v).reshape(*v.shape, 2)))
        base = distrax.Independent(distrax.Normal(jnp.zeros(4, x.dtype), jnp.ones(4, x.dtype)), 1)
        return -distrax.Transformed(base, distrax.Chain(parts)).log_prob(x).mean()
    return jax.value_and_grad(loss), (p, n(6, 4, scale=1.0))
