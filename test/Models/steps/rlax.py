"""Losses of reinforcement learning by rlax, over a policy and a value net."""

import jax
import jax.numpy as jnp
import rlax

from building import Draw, dense, integers
from catalog import add

TIME, ACTIONS = 6, 4


def net(p, x):
    return dense(p["b"], jnp.tanh(dense(p["a"], x)))


def agent(function):
    """A maker: `function(q, v, actions, rewards, discounts)` is a loss of values over time."""
    def make(dtype):
        n = Draw(dtype)
        p = dict(policy=dict(a=n.dense(8, 16), b=n.dense(16, ACTIONS)), value=dict(a=n.dense(8, 16), b=n.dense(16, 1)))

        def loss(p, x, actions, rewards, discounts):
            q, v = net(p["policy"], x), net(p["value"], x)[..., 0]
            return jnp.mean(function(q, v, actions, rewards, discounts))
        return jax.value_and_grad(loss), (p, n(TIME + 1, 8, scale=1.0), integers(ACTIONS, TIME), n(TIME, scale=1.0),
                                          n.uniform(TIME, low=0.8, high=0.99))
    return make


LOSSES = {
    "q-learning": lambda q, v, a, r, d: jax.vmap(rlax.q_learning)(q[:-1], a, r, d, q[1:]) ** 2,
    "double-q-learning": lambda q, v, a, r, d: jax.vmap(rlax.double_q_learning)(q[:-1], a, r, d, 2 * q[1:], q[1:]) ** 2,
    "sarsa": lambda q, v, a, r, d: jax.vmap(rlax.sarsa)(q[:-2], a[:-1], r[:-1], d[:-1], q[1:-1], a[1:]) ** 2,
    "expected-sarsa": lambda q, v, a, r, d: jax.vmap(rlax.expected_sarsa)(q[:-1], a, r, d, q[1:], jax.nn.softmax(q[1:])) ** 2,
    "td-learning": lambda q, v, a, r, d: jax.vmap(rlax.td_learning)(v[:-1], r, d, v[1:]) ** 2,
    "td-lambda": lambda q, v, a, r, d: rlax.td_lambda(v[:-1], r, d, v[1:], 0.9 * jnp.ones_like(r)) ** 2,
    "policy-gradient": lambda q, v, a, r, d: rlax.policy_gradient_loss(q[:-1], a, r - v[:-1], jnp.ones_like(r)),
    "entropy": lambda q, v, a, r, d: rlax.entropy_loss(q[:-1], jnp.ones_like(r)) + (v ** 2).mean(),
    "advantage-estimation": lambda q, v, a, r, d: rlax.truncated_generalized_advantage_estimation(r, d, 0.9, v) ** 2,
    "vtrace": lambda q, v, a, r, d: rlax.vtrace(v[:-1], v[1:], r, d, jnp.exp(0.1 * r), 0.9) ** 2,
    "ppo-clipped": lambda q, v, a, r, d: rlax.clipped_surrogate_pg_loss(jnp.exp(q[:-1, 0]), r, 0.2) + (v ** 2).mean(),
    "lambda-returns": lambda q, v, a, r, d: (rlax.lambda_returns(r, d, v[1:], 0.9) - v[:-1]) ** 2,
    "huber-clipped": lambda q, v, a, r, d: rlax.huber_loss(r - v[:-1], 0.5) + rlax.clip_gradient(v[1:], -1, 1) ** 2,
    "categorical-td": lambda q, v, a, r, d: jax.vmap(
        rlax.categorical_td_learning, (None, 0, 0, 0, None, 0))(jnp.linspace(-1, 1, 4).astype(q.dtype), q[:-1], r, d,
                                                               jnp.linspace(-1, 1, 4).astype(q.dtype), q[1:]),
    "quantile-td": lambda q, v, a, r, d: jax.vmap(rlax.quantile_regression_loss, (0, None, 0))(
        q[:-1], jnp.array([0.1, 0.3, 0.6, 0.9], q.dtype), r[:, None] + d[:, None] * q[1:]),
    "signed-hyperbolic": lambda q, v, a, r, d: (rlax.signed_hyperbolic(v[:-1]) - rlax.signed_hyperbolic(r)) ** 2,
}
for name, function in LOSSES.items():
    add(f"rlax/{name}", agent(function))
