"""Graph neural networks trained on sampled neighbours (sampling.py), with the features of all nodes as a constant.

    graph_sage  GraphSAGE with means (Hamilton, Ying, Leskovec 2017), two layers
    graph_gat   a graph attention network with heads (Velickovic et al. 2018), two layers
    sage_adam, gat_adam  the same with Adam
"""

import jax
import jax.numpy as jnp
import optax

from common import normals, zeros
from sampling import graph, graph_sizes, sample
from training import updating

HEADS, RATE = 4, 0.003


def hops(features, ids, mask, near):
    """Features of target nodes, of neighbours, of their neighbours, and the masks of both kinds of neighbours."""
    with jax.named_scope("store"):
        x = features[ids]
    return split_hops(x, mask, near)


def split_hops(x, mask, near):
    far = (*x.shape[:1], near, -1)
    return (x[:, 0], x[:, 1:1 + near], x[:, 1 + near:].reshape(*far, x.shape[-1]), mask[:, :near], mask[:, near:].reshape(far))


def mean_layer(p, own, others, mask):
    mean = (others * mask[..., None]).sum(-2) / jnp.maximum(mask.sum(-1, keepdims=True), 1)
    return own @ p["self"] + mean @ p["neighbours"] + p["b"]


def attention_layer(p, own, others, mask):
    """Each head weights the node itself and its neighbours; p["w"] is heads x features x width."""
    own, others = (jnp.einsum("...f,hfd->...hd", x, p["w"]) for x in (own, others))
    scores = (others * p["from"]).sum(-1) + (own * p["to"]).sum(-1)[..., None, :]
    itself = (own * (p["from"] + p["to"])).sum(-1)[..., None, :]
    scores = jnp.where(mask[..., None] > 0, jax.nn.leaky_relu(scores, 0.2), -1e30)
    weights = jax.nn.softmax(jnp.concatenate([jax.nn.leaky_relu(itself, 0.2), scores], -2), -2)
    mixed = (weights[..., None] * jnp.concatenate([own[..., None, :, :], others], -3)).sum(-3)
    return mixed.reshape(*mixed.shape[:-2], -1) + p["b"]


def logits(parameters, features, ids, mask, layer, near):
    target, close, far, close_mask, far_mask = hops(features, ids, mask, near)
    with jax.named_scope("first"):
        hidden = jax.nn.relu(layer(parameters["first"], close, far, far_mask))
        own = jax.nn.relu(layer(parameters["first"], target, close, close_mask))
    with jax.named_scope("second"):
        out = jax.nn.relu(layer(parameters["second"], own, hidden, close_mask))
    with jax.named_scope("head"):
        return out @ parameters["head"]


LAYERS = {"sage": mean_layer, "gat": attention_layer}


def accuracy(kind, parameters, batches=32):
    """The fraction of held-out nodes whose class has the largest logit."""
    found = jax.jit(lambda *arguments: logits(*arguments, LAYERS[kind], graph_sizes()["K"]).argmax(-1))
    hits = []
    for number in range(batches):
        ids, mask, classes = sample(1, 0, number, held_out=True).values()
        hits.append(found(parameters, graph()[2], ids, mask) == classes)
    return float(jnp.mean(jnp.stack(hits)))


def model(kind, parameters):
    def loss(parameters, features, ids, mask, classes):
        out = logits(parameters, features, ids, mask, LAYERS[kind], graph_sizes()["K"])
        return -jnp.take_along_axis(jax.nn.log_softmax(out, -1), classes[:, None], -1).mean()

    return jax.value_and_grad(loss), (parameters, graph()[2], *sample(0, 0, 0).values()), {"roles": {"features": "constant"}}


def graph_sage():
    s, n = graph_sizes(), normals(scale=0.1)

    def layer(inputs):
        return {"self": n(inputs, s["H"]), "neighbours": n(inputs, s["H"]), "b": zeros(s["H"])}
    return model("sage", {"first": layer(s["F"]), "second": layer(s["H"]), "head": n(s["H"], s["C"])})


def graph_gat():
    s, n = graph_sizes(), normals(scale=0.1)
    width = s["H"] // HEADS

    def layer(inputs):
        return {"w": n(HEADS, inputs, width), "from": n(HEADS, width), "to": n(HEADS, width), "b": zeros(s["H"])}
    return model("gat", {"first": layer(s["F"]), "second": layer(s["H"]), "head": n(s["H"], s["C"])})


def with_adam(step, arguments, options):
    optimizer = optax.adam(RATE)
    return step, arguments, {**options, "update": (updating(optimizer), optimizer.init(arguments[0]))}


def sage_adam():
    return with_adam(*graph_sage())


def gat_adam():
    return with_adam(*graph_gat())
