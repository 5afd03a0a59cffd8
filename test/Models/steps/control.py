"""Control flow, transformations and random numbers in a step."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from building import Draw, around, dense, integers
from catalog import add, step


def stacked(n, layers=4, width=16):
    return dict(layers=dict(w=n(layers, width, width), b=n(layers, width)))


def one_device():
    return jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))


def layer(q, h):
    return jnp.tanh(h @ q["w"] + q["b"])


FLOW = {
    "scan-layers": lambda h, p: lax.scan(lambda a, q: (layer(q, a), None), h, p["layers"])[0],
    "scan-reverse": lambda h, p: lax.scan(lambda a, q: (layer(q, a), a.mean(0)), h, p["layers"], reverse=True)[1],
    "scan-unroll": lambda h, p: lax.scan(lambda a, q: (layer(q, a), None), h, p["layers"], unroll=2)[0],
    "scan-remat": lambda h, p: lax.scan(jax.checkpoint(lambda a, q: (layer(q, a), None)), h, p["layers"])[0],
    "scan-time": lambda h, p: lax.scan(lambda a, x: (0.5 * a + x, a * x), jnp.zeros_like(h[:, 0]), h.swapaxes(0, 1))[1],
    "scan-nested": lambda h, p: lax.scan(lambda a, q: (lax.scan(lambda b, v: (jnp.tanh(b + v), None), a, q["w"])[0], None), h,
                                         p["layers"])[0],
    "scan-long": lambda h, p: lax.scan(lambda a, _: (a + 0.01 * jnp.tanh(a @ p["layers"]["w"][0]), None), h, None, length=40)[0],
    "fori-static": lambda h, p: lax.fori_loop(0, 4, lambda i, a: layer(jax.tree.map(lambda v: v[i], p["layers"]), a), h),
    "map": lambda h, p: lax.map(lambda a: a @ p["layers"]["w"][0], h),
    "map-batched": lambda h, p: lax.map(lambda a: jnp.sin(a), h, batch_size=2),
    "cond": lambda h, p: lax.cond(h.sum() > 0, lambda a: layer(jax.tree.map(lambda v: v[0], p["layers"]), a), lambda a: 2 * a, h),
    "cond-grad-stop": lambda h, p: h + lax.cond(jnp.abs(lax.stop_gradient(h)).max() > 0.5, jnp.sin, jnp.cos, h),
    "vmap-experts": lambda h, p: jax.vmap(lambda q: layer(q, h))(p["layers"]).mean(0),
    "vmap-nested": lambda h, p: jax.vmap(jax.vmap(lambda a: a * jnp.dot(a, p["layers"]["b"][0])))(h),
    "checkpoint-name": lambda h, p: jax.checkpoint(
        lambda a: jnp.sin(jax.ad_checkpoint.checkpoint_name(jnp.cos(a), "kept")),
        policy=jax.checkpoint_policies.save_only_these_names("kept"))(h),
    "custom-vjp": lambda h, p: clipped(h) * 2,
    "custom-jvp": lambda h, p: log1pexp(3 * h),
    "jvp-inside": lambda h, p: jax.jvp(lambda a: jnp.sin(a) * a, (h,), (jnp.ones_like(h),))[1],
    "vjp-inside": lambda h, p: jax.vjp(lambda a: jnp.sin(a) * a, h)[1](h)[0],
    "linearize": lambda h, p: jax.linearize(jnp.tanh, h)[1](h),
    "hessian-vector": lambda h, p: jax.jvp(jax.grad(lambda a: (jnp.sin(a) ** 2).sum()), (h,), (h,))[1],
    "jacobian": lambda h, p: jax.vmap(jax.jacfwd(lambda a: layer(jax.tree.map(lambda v: v[0], p["layers"]), a)))(
        h[:, 0]).reshape(4, -1),
    "jacrev": lambda h, p: jax.vmap(jax.jacrev(lambda a: jnp.tanh(a @ p["layers"]["w"][0, :, :3])))(h[:, 0]).reshape(4, -1),
    "stop-gradient": lambda h, p: h * lax.stop_gradient(jnp.exp(h)),
    "nested-jit": lambda h, p: jax.jit(lambda a: jax.jit(jnp.sin)(a) + jax.jit(jnp.sin)(2 * a))(h),
    "optimization-barrier": lambda h, p: lax.optimization_barrier(h * 2),
    "debug-print": lambda h, p: (jax.debug.print("mean {m}", m=h.mean()), h)[1],
    "shard-map-one-device": lambda h, p: jax.shard_map(
        lambda a: a * 2, mesh=one_device(), in_specs=jax.P("x"), out_specs=jax.P("x"))(h),
    "sharding-constraint": lambda h, p: lax.with_sharding_constraint(
        h, jax.sharding.NamedSharding(one_device(), jax.P("x"))) * 2,
    "pure-named-scope": lambda h, p: jax.named_call(jnp.sin, name="sine")(h),
    "fixed-point-unrolled": lambda h, p: functools.reduce(lambda a, _: jnp.tanh(a @ p["layers"]["w"][0] + h), range(6), h),
}

@jax.custom_vjp
def clipped(h):
    return jnp.sin(h)


clipped.defvjp(lambda h: (jnp.sin(h), h), lambda h, g: (jnp.clip(g, -0.01, 0.01) * jnp.cos(h),))


@jax.custom_jvp
def log1pexp(x):
    return jnp.log1p(jnp.exp(x))


@log1pexp.defjvp
def _(primals, tangents):
    x, = primals
    return log1pexp(x), (1 - 1 / (1 + jnp.exp(x))) * tangents[0]


for name, op in FLOW.items():
    add(f"control/{name}", around(op, parameters=stacked),
        sample=name in ("scan-layers", "cond", "vmap-experts", "custom-vjp", "hessian-vector", "stop-gradient"))

RANDOM = {
    "dropout": lambda h, key: jnp.where(jax.random.bernoulli(key, 0.8, h.shape), h / 0.8, 0),
    "normal": lambda h, key: h + 0.1 * jax.random.normal(key, h.shape, h.dtype),
    "uniform-split": lambda h, key: h * sum(jax.random.uniform(k, h.shape, h.dtype) for k in jax.random.split(key)),
    "categorical": lambda h, key: h * jax.nn.one_hot(jax.random.categorical(key, lax.stop_gradient(h)), 16, dtype=h.dtype),
    "gumbel-softmax": lambda h, key: jax.nn.softmax((h + jax.random.gumbel(key, h.shape, h.dtype)) / 0.5),
    "permutation": lambda h, key: h[:, jax.random.permutation(key, 6)],
    "truncated-normal": lambda h, key: h + jax.random.truncated_normal(key, -1.0, 1.0, h.shape, h.dtype),
    "randint": lambda h, key: h * jax.random.randint(key, h.shape, 0, 4).astype(h.dtype),
    "laplace-exponential": lambda h, key: h + jax.random.laplace(key, h.shape, h.dtype) * jax.random.exponential(
        jax.random.fold_in(key, 1), h.shape, h.dtype),
    "stochastic-depth": lambda h, key: h + jax.random.bernoulli(key, 0.5, (4, 1, 1)).astype(h.dtype) * jnp.sin(h),
}


def with_key(op):
    """A maker like those of `around`, with a random key as the last argument."""
    def make(dtype):
        n = Draw(dtype)
        p = dict(a=n.dense(16, 16), b=n(16, 4))

        def loss(p, x, key):
            return (op(jnp.tanh(dense(p["a"], x)), key) @ p["b"] ** 2).mean()
        return jax.value_and_grad(loss), (p, n(4, 6, 16, scale=1.0), jax.random.key(11))
    return make


for name, op in RANDOM.items():
    add(f"control/random-{name}", with_key(op), sample=name == "dropout")


@step("control/forward-while")
def forward_while(dtype):
    """Inference by a loop whose number of iterations depends on the values."""
    n = Draw(dtype)

    def forward(p, x):
        h = jnp.tanh(dense(p["a"], x))
        _, h = lax.while_loop(lambda s: (s[0] < 6) & (jnp.abs(s[1]).max() > 0.3), lambda s: (s[0] + 1, 0.7 * s[1]), (0, h))
        return dense(p["b"], h)
    return forward, (dict(a=n.dense(8, 16), b=n.dense(16, 4)), n(5, 8, scale=1.0)), {"roles": {"p": "parameter"}}


@step("control/forward-greedy-decode")
def greedy(dtype):
    """Inference that feeds its choice back, a fixed number of times."""
    n = Draw(dtype)

    def forward(p, ids):
        def next_token(ids, _):
            token = jnp.argmax(jnp.tanh(p["wte"][ids].mean(1)) @ p["head"], -1)
            return jnp.concatenate([ids[:, 1:], token[:, None].astype(ids.dtype)], 1), token
        return lax.scan(next_token, ids, None, length=4)[1].T
    return forward, (dict(wte=n(20, 16), head=n(16, 20)), integers(20, 3, 5)), {"roles": {"p": "parameter"}}


@step("control/forward-logits", sample=True)
def forward_logits(dtype):
    n = Draw(dtype)

    def forward(p, x):
        return jax.nn.log_softmax(dense(p["b"], jnp.tanh(dense(p["a"], x))))
    return forward, (dict(a=n.dense(8, 16), b=n.dense(16, 4)), n(5, 8, scale=1.0)), {"roles": {"p": "parameter"}}


@step("control/unused-argument", sample=True)
def unused(dtype):
    """An argument, a parameter and a part of the batch are never read."""
    n = Draw(dtype)

    def loss(p, x, ids, scale):
        return (dense(p["b"], jnp.tanh(dense(p["a"], x))) ** 2).mean()
    return jax.value_and_grad(loss), (dict(a=n.dense(8, 16), b=n.dense(16, 4), c=n(3)), n(5, 8, scale=1.0), integers(4, 5),
                                      np.float32(2))


@step("control/several-parameter-arguments")
def several(dtype):
    n = Draw(dtype)

    def loss(encoder, decoder, x):
        return ((dense(decoder, jnp.tanh(dense(encoder, x))) - x) ** 2).mean()
    return jax.value_and_grad(loss, (0, 1)), (n.dense(8, 4), n.dense(4, 8), n(6, 8, scale=1.0))


@step("control/shared-weights", sample=True)
def shared(dtype):
    """One matrix, used by every layer and by the output."""
    n = Draw(dtype)

    def loss(p, x):
        for i in range(4):
            with jax.named_scope(f"turn{i}"):
                x = x + jnp.tanh(x @ p["w"])
        return ((x @ p["w"].T) ** 2).mean()
    return jax.value_and_grad(loss), (dict(w=n(16, 16)), n(4, 16, scale=1.0))


@step("control/residual-max-smallest")
def residual_max(dtype):
    """A maximum over the batch between two products, where layers were once cut wrongly."""
    n = Draw(dtype)

    def loss(p, x):
        x = x + x @ p[1]
        x = x.max(0)
        return ((x @ p[5]) ** 2).mean()
    return jax.value_and_grad(loss), ([n(8, 8) for _ in range(6)], n(4, 8, scale=1.0))


@step("control/aux-outputs", sample=True)
def aux(dtype):
    """Returns logits and a count of right answers besides the loss."""
    n = Draw(dtype)

    def loss(p, x, label):
        logits = dense(p["b"], jnp.tanh(dense(p["a"], x)))
        right = (logits.argmax(-1) == label).sum()
        value = -jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], 1).mean()
        return value, dict(logits=logits, right=right, norm=jnp.linalg.norm(logits))
    return jax.value_and_grad(loss, has_aux=True), (dict(a=n.dense(8, 16), b=n.dense(16, 4)), n(5, 8, scale=1.0), integers(4, 5))
