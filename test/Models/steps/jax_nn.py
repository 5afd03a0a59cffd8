"""jax.nn: activations, normalisation, losses of logits, and dot_product_attention in its forms."""

import jax
import jax.numpy as jnp
import numpy as np

from building import Draw, around, dense, integers
from catalog import add, step

ACTIVATIONS = {
    "relu-family": lambda h: jax.nn.relu(h) + jax.nn.relu6(4 * h) + jax.nn.leaky_relu(h, 0.1),
    "gelu-both": lambda h: jax.nn.gelu(h) + jax.nn.gelu(h, approximate=False),
    "silu-mish": lambda h: jax.nn.silu(h) + jax.nn.mish(h),
    "elu-family": lambda h: jax.nn.elu(h) + jax.nn.celu(h) + jax.nn.selu(h),
    "soft": lambda h: jax.nn.softplus(h) + jax.nn.soft_sign(h) + jax.nn.log_sigmoid(h),
    "hard": lambda h: jax.nn.hard_tanh(2 * h) + jax.nn.hard_sigmoid(h) + jax.nn.hard_silu(3 * h),
    "squareplus-sparse": lambda h: jax.nn.squareplus(h) + jax.nn.sparse_plus(h) + jax.nn.sparse_sigmoid(h),
    "glu": lambda h: jax.nn.glu(h, 1),
    "softmax": lambda h: jax.nn.softmax(h, 1) + jnp.exp(jax.nn.log_softmax(h)),
    "softmax-where": lambda h: jax.nn.softmax(h, -1, where=jnp.arange(16) < 11),
    "log-softmax-axes": lambda h: jax.nn.log_softmax(h, (1, 2)),
    "standardize": lambda h: jax.nn.standardize(h, -1, epsilon=1e-5),
    "logmeanexp": lambda h: jax.nn.logmeanexp(h, 1),
    "log1mexp": lambda h: jax.nn.log1mexp(1.5 + h),
    "identity-power": lambda h: jax.nn.identity(h) * jax.nn.sigmoid(1.7 * h),
}
for name, op in ACTIVATIONS.items():
    add(f"jax-nn/{name}", around(lambda h, p, op=op: op(h)), sample=name in ("gelu-both", "softmax-where", "silu-mish", "hard"))

LENGTH, HEADS, SIZE, BATCH = 8, 4, 8, 3
BIAS = np.random.default_rng(0).standard_normal((1, HEADS, LENGTH, LENGTH)).astype(np.float32)
ATTENTION = {
    "plain": dict(),
    "causal": dict(is_causal=True),
    "scaled": dict(scale=0.5, is_causal=True),
    "bias": dict(bias=BIAS),
    "alibi-causal": dict(bias=-0.1 * np.abs(np.subtract.outer(np.arange(LENGTH), np.arange(LENGTH)))[None, None].astype(np.float32),
                         is_causal=True),
    "mask": dict(mask=np.tril(np.ones((1, 1, LENGTH, LENGTH), bool), 2)),
    "window": dict(local_window_size=2),
    "window-causal": dict(local_window_size=(3, 0), is_causal=True),
    "lengths": dict(key_value_seq_lengths=np.array([3, 8, 5], np.int32)),
}


def attention(kv_heads=HEADS, kv_length=LENGTH, learned_bias=False, **about):
    """A maker of a block around jax.nn.dot_product_attention."""
    def make(dtype):
        n, d = Draw(dtype), HEADS * SIZE
        p = dict(q=n(d, d), k=n(d, kv_heads * SIZE), v=n(d, kv_heads * SIZE), o=n(d, d), head=n.dense(d, 4))
        if learned_bias:
            p["bias"] = n(1, HEADS, LENGTH, kv_length)
        more = {k: v.astype(n.dtype) if k == "bias" else v for k, v in about.items()}

        def loss(p, x, memory):
            with jax.named_scope("attention"):
                q, k, v = ((a @ w).reshape(a.shape[0], a.shape[1], -1, SIZE)
                           for a, w in ((x, p["q"]), (memory, p["k"]), (memory, p["v"])))
                bias = dict(bias=p["bias"]) if learned_bias else {}
                x = x + jax.nn.dot_product_attention(q, k, v, **bias, **more).reshape(x.shape) @ p["o"]
            with jax.named_scope("head"):
                return (dense(p["head"], jax.nn.gelu(x)) ** 2).mean()
        return jax.value_and_grad(loss), (p, n(BATCH, LENGTH, d, scale=1.0), n(BATCH, kv_length, d, scale=1.0))
    return make


for name, about in ATTENTION.items():
    add(f"jax-nn/attention-{name}", attention(**about), sample=name in ("causal", "bias", "mask"))
add("jax-nn/attention-grouped", attention(kv_heads=2, is_causal=True), sample=True)
add("jax-nn/attention-multi-query", attention(kv_heads=1))
add("jax-nn/attention-cross", attention(kv_length=5))
add("jax-nn/attention-learned-bias", attention(learned_bias=True))


@step("jax-nn/attention-padding-mask")
def padding(dtype):
    """A mask that is part of the batch, and grouped queries."""
    n, d = Draw(dtype), HEADS * SIZE
    p = dict(q=n(d, d), kv=n(d, 4 * SIZE), o=n(d, d))

    def loss(p, x, mask):
        q, (k, v) = (x @ p["q"]).reshape(-1, LENGTH, HEADS, SIZE), jnp.split(x @ p["kv"], 2, -1)
        k, v = (a.reshape(-1, LENGTH, 2, SIZE) for a in (k, v))
        y = jax.nn.dot_product_attention(q, k, v, mask=mask[:, None, None, :])
        return (jnp.tanh(x + y.reshape(x.shape) @ p["o"]) ** 2).mean()
    mask = np.arange(LENGTH) < np.array([3, 8, 5])[:, None]
    return jax.value_and_grad(loss), (p, n(BATCH, LENGTH, d, scale=1.0), mask)


@step("jax-nn/one-hot-loss")
def one_hot(dtype):
    n = Draw(dtype)

    def loss(p, x, label):
        logits = dense(p["b"], jax.nn.relu(dense(p["a"], x)))
        wanted = 0.9 * jax.nn.one_hot(label, 5, dtype=logits.dtype) + 0.02
        return -(wanted * jax.nn.log_softmax(logits)).sum(-1).mean()
    return jax.value_and_grad(loss), (dict(a=n.dense(8, 16), b=n.dense(16, 5)), n(6, 8, scale=1.0), integers(5, 6))


@step("jax-nn/scaled-matmul-initializers", sample=True)
def initializers(dtype):
    """Parameters initialised by jax.nn.initializers, before the step."""
    keys = jax.random.split(jax.random.key(0), 4)
    init = jax.nn.initializers
    p = dict(a=init.glorot_normal()(keys[0], (8, 16), jnp.float32), b=init.he_uniform()(keys[1], (16, 16), jnp.float32),
             c=init.orthogonal()(keys[2], (16, 4), jnp.float32), d=init.truncated_normal(0.1)(keys[3], (4,), jnp.float32))
    p = jax.tree.map(lambda a: np.asarray(a).astype(np.dtype(dtype)), p)

    def loss(p, x):
        return ((jnp.tanh(jnp.tanh(x @ p["a"]) @ p["b"]) @ p["c"] + p["d"]) ** 2).mean()
    return jax.value_and_grad(loss), (p, Draw(dtype)(6, 8, scale=1.0))
