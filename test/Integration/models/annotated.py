"""Models annotated as in Whale's examples (Jia et al., ATC 2022, section 3). STAGEWRIGHT_ANNOTATED="I,D,L,C,B": input, width,
layers, classes, microbatch.

    data_parallel  replicate around the whole model
    pipeline       two stages, each replicated
    partly         replicate around a part: the rest is planned
    classifier     replicated features, and a classifier that is split
    towers         split layers in two stages
    experts        a mixture of experts: experts are split, the rest is replicated
"""

import functools

import jax
import jax.numpy as jnp

import stagewright
from common import layer_norm, layer_norm_parameters, normals, sizes


def block(p, x):
    return x + jnp.tanh(layer_norm(p["ln"], x) @ p["up"]) @ p["down"]


def blocks(params, x):
    for p in params:
        x = block(p, x)
    return x


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits, -1), labels[:, None], -1).mean()


def data_parallel_loss(params, x, labels):
    with stagewright.replicate(3):
        x = blocks(params["layers"], x @ params["in"])
        return cross_entropy(x @ params["classes"], labels)


def pipeline_loss(params, x, labels):
    half = len(params["layers"]) // 2
    with stagewright.replicate(2):
        x = blocks(params["layers"][:half], x @ params["in"])
    with stagewright.replicate(1):
        x = blocks(params["layers"][half:], x)
        return cross_entropy(x @ params["classes"], labels)


def partly_loss(params, x, labels):
    x = x @ params["in"]
    with stagewright.replicate(2):
        x = blocks(params["layers"][:2], x)
    return cross_entropy(blocks(params["layers"][2:], x) @ params["classes"], labels)


def classifier_loss(params, x, labels):
    with stagewright.replicate(2):
        x = blocks(params["layers"], x @ params["in"])
    with stagewright.split(2):
        return cross_entropy(x @ params["classes"], labels)


def towers_loss(params, x, labels):
    half = len(params["layers"]) // 2
    with stagewright.split(2):
        x = blocks(params["layers"][:half], x @ params["in"])
    with stagewright.split(2):
        x = blocks(params["layers"][half:], x)
        return cross_entropy(x @ params["classes"], labels)


def experts_loss(params, x, labels):
    whole, over = stagewright.replicate(2), stagewright.split(2)
    with whole:
        x = x @ params["in"]
    for p in params["experts"]:
        with whole:
            x = block(p, x)
            gates = jax.nn.softmax(x @ p["gate"], -1)
        with over:
            hidden = jnp.tanh(jnp.einsum("bd,edf->ebf", x, p["first"]))
            x = x + jnp.einsum("ebf,efd,be->bd", hidden, p["second"], gates)
    with whole:
        return cross_entropy(x @ params["classes"], labels)


def step(loss, experts=0):
    s = sizes("STAGEWRIGHT_ANNOTATED", I=16, D=32, L=4, C=48, B=12)
    n, d = normals(scale=0.2), s["D"]

    def layer():
        return dict(ln=layer_norm_parameters(d), up=n(d, 2 * d), down=n(2 * d, d))
    params = {"in": n(s["I"], d), "classes": n(d, s["C"])}
    if experts:
        params["experts"] = [dict(layer(), gate=n(d, experts), first=n(experts, d, d), second=n(experts, d, d)) for _ in range(2)]
    else:
        params["layers"] = [layer() for _ in range(s["L"])]
    rng = normals(seed=1, scale=1.0)
    labels = (abs(rng(s["B"])) * 1000).astype("int32") % s["C"]
    return jax.value_and_grad(loss), (params, rng(s["B"], s["I"]), labels)


data_parallel = functools.partial(step, data_parallel_loss)
pipeline = functools.partial(step, pipeline_loss)
partly = functools.partial(step, partly_loss)
classifier = functools.partial(step, classifier_loss)
towers = functools.partial(step, towers_loss)
experts = functools.partial(step, experts_loss, experts=4)
