"""Convolution nets, recurrent nets, state-space models and generative models, as people write them without a library."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from building import Draw, dense, integers, mean_token_loss, rms_norm, tokens
from catalog import step


def conv(kernel, x, stride=1, groups=1):
    return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def batch_norm(p, x):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * lax.rsqrt(variance + 1e-5) * p["g"] + p["b"], (mean, variance)


def pictures(n, size=8, classes=10):
    return n(4, size, size, 3, scale=1.0), integers(classes, 4)


def residual(p, x, stride=1):
    h, a = batch_norm(p["n1"], conv(p["c1"], x, stride))
    h, b = batch_norm(p["n2"], conv(p["c2"], jax.nn.relu(h)))
    return jax.nn.relu(h + (conv(p["skip"], x, stride) if "skip" in p else x)), (a, b)


def residual_parameters(n, width, out):
    p = dict(c1=n(3, 3, width, out), n1=n.norm(out), c2=n(3, 3, out, out), n2=n.norm(out))
    return {**p, "skip": n(1, 1, width, out)} if width != out else p


@step("plain-nets/resnet", sample=True)
def resnet(dtype):
    n = Draw(dtype)
    p = dict(stem=n(3, 3, 3, 8), blocks=[residual_parameters(n, *w) for w in ((8, 8), (8, 16), (16, 16))], head=n.dense(16, 10))

    def loss(p, x, label):
        with jax.named_scope("stem"):
            x = jax.nn.relu(conv(p["stem"], x))
        for i, q in enumerate(p["blocks"]):
            with jax.named_scope(f"block{i}"):
                x, _ = residual(q, x, 2 if "skip" in q else 1)
        with jax.named_scope("head"):
            return mean_token_loss(dense(p["head"], x.mean((1, 2))), label)
    return jax.value_and_grad(loss), (p, *pictures(n))


@step("plain-nets/resnet-batch-statistics", sample=True)
def resnet_statistics(dtype):
    """The means and variances of each microbatch are further results; no scopes."""
    n = Draw(dtype)
    p = dict(stem=n(3, 3, 3, 8), blocks=[residual_parameters(n, *w) for w in ((8, 8), (8, 16), (16, 16))], head=n.dense(16, 10))

    def loss(p, x, label):
        x, statistics = jax.nn.relu(conv(p["stem"], x)), []
        for q in p["blocks"]:
            x, made = residual(q, x, 2 if "skip" in q else 1)
            statistics.append(made)
        return mean_token_loss(dense(p["head"], x.mean((1, 2))), label), statistics
    return jax.value_and_grad(loss, has_aux=True), (p, *pictures(n))


@step("plain-nets/unet", sample=True)
def unet(dtype):
    """Downsampling, upsampling, and skip connections between the two at each level."""
    n = Draw(dtype)
    p = dict(down=[n(3, 3, 3, 8), n(3, 3, 8, 16)], middle=n(3, 3, 16, 16), up=[n(3, 3, 32, 8), n(3, 3, 16, 8)], out=n(1, 1, 8, 3))

    def loss(p, x, target):
        kept, h = [], x
        for i, k in enumerate(p["down"]):
            with jax.named_scope(f"down{i}"):
                h = jax.nn.silu(conv(k, h))
                kept.append(h)
                h = lax.reduce_window(h, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
        with jax.named_scope("middle"):
            h = jax.nn.silu(conv(p["middle"], h))
        for i, k in enumerate(p["up"]):
            with jax.named_scope(f"up{i}"):
                h = jnp.concatenate([h.repeat(2, 1).repeat(2, 2), kept.pop()], -1)
                h = jax.nn.silu(conv(k, h))
        return ((conv(p["out"], h) - target) ** 2).mean()
    return jax.value_and_grad(loss), (p, n(2, 8, 8, 3, scale=1.0), n(2, 8, 8, 3, scale=1.0))


@step("plain-nets/vgg")
def vgg(dtype):
    n = Draw(dtype)
    p = dict(c=[n(3, 3, 3, 8), n(3, 3, 8, 8), n(3, 3, 8, 16), n(3, 3, 16, 16)], d=n.dense(64, 16), head=n.dense(16, 10))

    def loss(p, x, label):
        for i, k in enumerate(p["c"]):
            x = jax.nn.relu(conv(k, x))
            if i % 2:
                x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        x = jax.nn.relu(dense(p["d"], x.reshape(x.shape[0], -1)))
        return mean_token_loss(dense(p["head"], x), label)
    return jax.value_and_grad(loss), (p, *pictures(n))


@step("plain-nets/mobilenet")
def mobilenet(dtype):
    """Depthwise convolutions, squeeze and excitation, hard swish."""
    n, w = Draw(dtype), 16
    p = dict(stem=n(3, 3, 3, w), head=n.dense(w, 10),
             h=[dict(up=n(1, 1, w, 2 * w), depth=n(3, 3, 1, 2 * w), se1=n.dense(2 * w, 4), se2=n.dense(4, 2 * w),
                     down=n(1, 1, 2 * w, w)) for _ in range(2)])

    def loss(p, x, label):
        x = jax.nn.hard_swish(conv(p["stem"], x, 2))
        for q in p["h"]:
            h = jax.nn.hard_swish(conv(q["depth"], jax.nn.relu6(conv(q["up"], x)), groups=2 * w))
            gate = jax.nn.hard_sigmoid(dense(q["se2"], jax.nn.relu(dense(q["se1"], h.mean((1, 2))))))
            x = x + conv(q["down"], h * gate[:, None, None])
        return mean_token_loss(dense(p["head"], x.mean((1, 2))), label)
    return jax.value_and_grad(loss), (p, *pictures(n))


@step("plain-nets/convnext")
def convnext(dtype):
    n, w = Draw(dtype), 16
    p = dict(stem=n(2, 2, 3, w), head=n.dense(w, 10),
             h=[dict(k=n(7, 7, 1, w), g=n.ones(w), up=n.dense(w, 4 * w), down=n.dense(4 * w, w), scale=n.ones(w)) for _ in range(2)])

    def loss(p, x, label):
        x = conv(p["stem"], x, 2)
        for i, q in enumerate(p["h"]):
            with jax.named_scope(f"stages/{i}"):
                h = rms_norm(q["g"], conv(q["k"], x, groups=w))
                x = x + q["scale"] * dense(q["down"], jax.nn.gelu(dense(q["up"], h), approximate=False))
        return mean_token_loss(dense(p["head"], x.mean((1, 2))), label)
    return jax.value_and_grad(loss), (p, *pictures(n))


@step("plain-nets/vae")
def vae(dtype):
    """Samples by a random key, with the microbatch's number folded in."""
    n = Draw(dtype)
    p = dict(enc=n.dense(24, 16), mean=n.dense(16, 4), var=n.dense(16, 4), dec1=n.dense(4, 16), dec2=n.dense(16, 24))

    def loss(p, x, key):
        h = jnp.tanh(dense(p["enc"], x))
        mean, var = dense(p["mean"], h), dense(p["var"], h)
        z = mean + jnp.exp(var / 2) * jax.random.normal(key, mean.shape, mean.dtype)
        y = dense(p["dec2"], jnp.tanh(dense(p["dec1"], z)))
        divergence = -0.5 * (1 + var - mean ** 2 - jnp.exp(var)).sum(-1).mean()
        return ((y - x) ** 2).sum(-1).mean() + divergence
    return jax.value_and_grad(loss), (p, n(8, 24, scale=1.0), jax.random.key(3))


@step("plain-nets/diffusion")
def diffusion(dtype):
    """Predicts noise at a time that is part of the batch."""
    n = Draw(dtype)
    p = dict(time=n.dense(16, 16), a=n.dense(24, 32), t=n.dense(16, 32), b=n.dense(32, 32), c=n.dense(32, 24))

    def loss(p, x, time, key):
        angles = time[:, None].astype(x.dtype) * jnp.exp(-jnp.arange(8) / 8.0).astype(x.dtype)
        t = jax.nn.silu(dense(p["time"], jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1)))
        noise = jax.random.normal(key, x.shape, x.dtype)
        keep = jnp.cumprod(1 - jnp.linspace(1e-2, 0.2, 10)).astype(x.dtype)[time][:, None]
        h = jax.nn.silu(dense(p["a"], jnp.sqrt(keep) * x + jnp.sqrt(1 - keep) * noise) + dense(p["t"], t))
        return ((dense(p["c"], h + jax.nn.silu(dense(p["b"], h))) - noise) ** 2).mean()
    return jax.value_and_grad(loss), (p, n(6, 24, scale=1.0), integers(10, 6), jax.random.key(3))


@step("plain-nets/wgan-penalty", sample=True)
def wgan(dtype):
    """A gradient penalty: the step has second derivatives."""
    n = Draw(dtype)
    p = dict(a=n.dense(12, 16), b=n.dense(16, 16), c=n.dense(16, 1))

    def critic(p, x):
        h = jnp.tanh(dense(p["b"], jnp.tanh(dense(p["a"], x))))
        return dense(p["c"], h)[..., 0]

    def loss(p, real, fake):
        middle = 0.3 * real + 0.7 * fake
        slopes = jax.vmap(jax.grad(critic, 1), (None, 0))(p, middle)
        penalty = ((jnp.sqrt((slopes ** 2).sum(-1) + 1e-6) - 1) ** 2).mean()
        return critic(p, fake).mean() - critic(p, real).mean() + 10 * penalty
    return jax.value_and_grad(loss), (p, n(6, 12, scale=1.0), n(6, 12, scale=1.0))


def recurrent(cell, parameters, state):
    """A maker of a classifier of sequences by a scan of `cell(p, state, x) -> state`."""
    def make(dtype):
        n = Draw(dtype)
        p = dict(cell=parameters(n), head=n.dense(16, 4))

        def loss(p, x, label):
            first = jax.tree.map(lambda _: jnp.zeros((x.shape[0], 16), x.dtype), state)
            last, seen = lax.scan(lambda s, u: (cell(p["cell"], s, u),) * 2, first, x.swapaxes(0, 1))
            return mean_token_loss(dense(p["head"], jax.tree.leaves(last)[0] + jax.tree.leaves(seen)[0].mean(0)), label)
        return jax.value_and_grad(loss), (p, n(BATCH, 8, 16, scale=1.0), integers(4, BATCH))
    return make


BATCH = 3


def lstm_cell(p, state, x):
    c, h = state
    i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"] + p["b"], 4, -1)
    c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return c, jax.nn.sigmoid(o) * jnp.tanh(c)


def gru_cell(p, h, x):
    r, z = jnp.split(jax.nn.sigmoid(x @ p["x"][:, :32] + h @ p["h"][:, :32]), 2, -1)
    return (1 - z) * jnp.tanh(x @ p["x"][:, 32:48] + (r * h) @ p["h"][:, 32:48]) + z * h


def gates(n):
    return dict(x=n(16, 64), h=n(16, 64), b=n.zeros(64))


step("plain-nets/lstm", sample=True)(recurrent(lstm_cell, gates, (0, 0)))
step("plain-nets/gru")(recurrent(gru_cell, gates, 0))
step("plain-nets/rnn-elman")(recurrent(lambda p, h, x: jnp.tanh(x @ p["x"] + h @ p["h"]), lambda n: dict(x=n(16, 16), h=n(16, 16)), 0))


def sequence_model(mix, parameters, layers=2):
    """A maker of a language model of layers that mix over time by `mix(p, x)`."""
    def make(dtype):
        n, d = Draw(dtype), 16
        p = dict(wte=n(24, d), head=n(d, 24), h=[dict(norm=n.ones(d), **parameters(n, d)) for _ in range(layers)])

        def loss(p, ids, targets):
            x = p["wte"][ids]
            for i, q in enumerate(p["h"]):
                with jax.named_scope(f"layers{i}"):
                    x = x + mix(q, rms_norm(q["norm"], x))
            return mean_token_loss(x @ p["head"], targets)
        return jax.value_and_grad(loss), (p, *tokens(24, 2, 10))
    return make


def linear_recurrence(a, b):
    """h[t] = a[t] h[t - 1] + b[t] along dimension 1, in parallel."""
    return lax.associative_scan(lambda x, y: (x[0] * y[0], y[0] * x[1] + y[1]), (a, b), axis=1)[1]


def mamba(p, x):
    """A selective state space: decay, input and output depend on the token."""
    u, gate = jnp.split(x @ p["in"], 2, -1)
    u = jax.nn.silu(sum(jnp.pad(u, ((0, 0), (i, 0), (0, 0)))[:, :u.shape[1]] * p["conv"][i] for i in range(3)))
    delta = jax.nn.softplus(u @ p["delta"] - 1)[..., None]
    b, c = (u @ p["b"])[:, :, None], (u @ p["c"])[:, :, None]
    h = linear_recurrence(jnp.exp(-jnp.exp(p["a"]) * delta), delta * b * u[..., None])
    return ((h * c).sum(-1) * jax.nn.silu(gate)) @ p["out"]


def mamba_parameters(n, d):
    return {"in": n(d, 2 * d), "conv": n(3, d), "delta": n(d, d), "b": n(d, 4), "c": n(d, 4), "a": n(d, 4), "out": n(d, d)}


def lru(p, x):
    """A linear recurrent unit with real decays."""
    decay = jnp.exp(-jnp.exp(p["nu"]))
    b = jnp.sqrt(1 - decay ** 2) * (x @ p["b"])
    return linear_recurrence(jnp.broadcast_to(decay, b.shape), b) @ p["c"] + p["d"] * x


def s5(p, x):
    """A diagonal state space whose steps are discretised by zero-order hold."""
    a, step_size = -jax.nn.softplus(p["a"]), jnp.exp(p["log_step"])
    decay = jnp.exp(a * step_size)
    b = (decay - 1) / a * (x @ p["b"])
    return jax.nn.gelu(linear_recurrence(jnp.broadcast_to(decay, b.shape), b) @ p["c"])


def gated_linear_attention(p, x):
    """Linear attention by cumulative sums of outer products."""
    q, k, v = jax.nn.elu(x @ p["q"]) + 1, jax.nn.elu(x @ p["k"]) + 1, x @ p["v"]
    state = jnp.cumsum(k[..., :, None] * v[..., None, :], 1)
    return jnp.einsum("btd,btdf->btf", q, state) / (q * jnp.cumsum(k, 1)).sum(-1, keepdims=True)


def cumulative_products(p, x):
    """Stick-breaking weights by cumprod, running maxima by cummax."""
    weights = jax.nn.sigmoid(x @ p["w"])
    sticks = weights * jnp.cumprod(jnp.concatenate([jnp.ones_like(weights[:, :1]), 1 - weights[:, :-1]], 1), 1)
    return sticks + 0.1 * lax.cummax(x @ p["v"], axis=1)


step("plain-nets/mamba", sample=True)(sequence_model(mamba, mamba_parameters))
step("plain-nets/lru")(sequence_model(lru, lambda n, d: dict(nu=n(d), b=n(d, d), c=n(d, d), d=n(d))))
step("plain-nets/s5")(sequence_model(s5, lambda n, d: dict(a=n(d), log_step=n(d), b=n(d, d), c=n(d, d))))
step("plain-nets/linear-attention")(sequence_model(gated_linear_attention, lambda n, d: dict(q=n(d, d), k=n(d, d), v=n(d, d))))
step("plain-nets/stick-breaking")(sequence_model(cumulative_products, lambda n, d: dict(w=n(d, d), v=n(d, d))))


@step("plain-nets/nerf")
def nerf(dtype):
    """A field of densities rendered along rays, by an exclusive cumulative product."""
    n = Draw(dtype)
    p = dict(a=n.dense(24, 32), b=n.dense(32, 32), c=n.dense(32, 4))

    def loss(p, points, colours):
        octaves = points[..., None] * 2.0 ** jnp.arange(4).astype(points.dtype)
        x = jnp.concatenate([jnp.sin(octaves), jnp.cos(octaves)], -1).reshape(*points.shape[:2], 24)
        raw = dense(p["c"], jax.nn.relu(dense(p["b"], jax.nn.relu(dense(p["a"], x)))))
        alpha = 1 - jnp.exp(-jax.nn.softplus(raw[..., 3]) * 0.1)
        through = jnp.cumprod(jnp.concatenate([jnp.ones_like(alpha[:, :1]), 1 - alpha[:, :-1]], 1), 1)
        return (((alpha * through)[..., None] * jax.nn.sigmoid(raw[..., :3])).sum(1) - colours).__pow__(2).mean()
    return jax.value_and_grad(loss), (p, n(6, 8, 3, scale=1.0), n.uniform(6, 3))


@step("plain-nets/mdn")
def mixture_density(dtype):
    """Negative log-likelihood of a mixture of Gaussians."""
    n = Draw(dtype)
    p = dict(a=n.dense(8, 16), b=n.dense(16, 15))

    def loss(p, x, y):
        logits, mean, scale = jnp.split(dense(p["b"], jnp.tanh(dense(p["a"], x))), 3, -1)
        density = jax.scipy.stats.norm.logpdf(y, mean, jax.nn.softplus(scale) + 0.1)
        return -jax.nn.logsumexp(jax.nn.log_softmax(logits) + density, -1).mean()
    return jax.value_and_grad(loss), (p, n(8, 8, scale=1.0), n(8, 1, scale=1.0))


@step("plain-nets/siamese-vmap")
def siamese(dtype):
    """A model of one example, mapped over the batch."""
    n = Draw(dtype)
    p = dict(k=n(5, 4, 8), d=n.dense(8, 8))

    def embed(p, x):
        h = jax.nn.relu(jax.vmap(lambda i: jnp.einsum("ki,kio->o", lax.dynamic_slice_in_dim(x, i, 5, 0), p["k"]))(jnp.arange(8)))
        return dense(p["d"], h.max(0))

    def loss(p, a, b, same):
        distance = ((jax.vmap(functools.partial(embed, p))(a) - jax.vmap(functools.partial(embed, p))(b)) ** 2).sum(-1)
        return (same * distance + (1 - same) * jax.nn.relu(1 - distance)).mean()
    same = np.array([0, 1, 1, 0], dtype)
    return jax.value_and_grad(loss), (p, n(4, 12, 4, scale=1.0), n(4, 12, 4, scale=1.0), same)
