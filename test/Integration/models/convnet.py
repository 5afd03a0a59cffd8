"""A small residual convolution net with batch statistics: stride, padding, overlapping max pooling.

STAGEWRIGHT_CONVNET="S,C,B,K": image side, channels, microbatch, classes. Batch statistics are those of the microbatch;
their means are returned with the loss, as for a training loop's running averages.
"""

import jax
import jax.numpy as jnp

from common import integers, normals, ones, sizes, zeros


def convolution(w, x, stride=1):
    return jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(p, x):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["g"] + p["b"], mean


def block(p, x, stride):
    y, mean = batch_norm(p["n1"], convolution(p["c1"], x, stride))
    y, _ = batch_norm(p["n2"], convolution(p["c2"], jax.nn.relu(y)))
    return jax.nn.relu(y + (convolution(p["short"], x, stride) if "short" in p else x)), mean


def loss(params, image, label):
    means = []
    with jax.named_scope("stem"):
        x, mean = batch_norm(params["stem"]["n"], convolution(params["stem"]["c"], image))
        x = jax.nn.relu(x)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        means.append(mean)
    for i, p in enumerate(params["blocks"]):
        with jax.named_scope(f"block{i}"):
            x, mean = block(p, x, 2 if "short" in p else 1)
            means.append(mean)
    with jax.named_scope("head"):
        x = x.mean((1, 2)) @ params["head"]["w"] + params["head"]["b"]
        logp = jax.nn.log_softmax(x, -1)
        return -jnp.take_along_axis(logp, label[:, None], -1).mean(), means


def convnet():
    s = sizes("STAGEWRIGHT_CONVNET", S=16, C=8, B=4, K=10)
    n, c = normals(scale=0.2), s["C"]
    norm = lambda width: dict(g=ones(width), b=zeros(width))
    blocks = [dict(c1=n(3, 3, c, c), n1=norm(c), c2=n(3, 3, c, c), n2=norm(c)),
              dict(c1=n(3, 3, c, 2 * c), n1=norm(2 * c), c2=n(3, 3, 2 * c, 2 * c), n2=norm(2 * c),
                   short=n(1, 1, c, 2 * c)),
              dict(c1=n(3, 3, 2 * c, 2 * c), n1=norm(2 * c), c2=n(3, 3, 2 * c, 2 * c), n2=norm(2 * c))]
    params = dict(stem=dict(c=n(3, 3, 3, c), n=norm(c)), blocks=blocks,
                  head=dict(w=n(2 * c, s["K"]), b=zeros(s["K"])))
    image = normals(seed=1, scale=1.0)(s["B"], s["S"], s["S"], 3)
    label = integers(s["K"], s["B"], seed=2)
    return jax.value_and_grad(loss, has_aux=True), (params, image, label)
