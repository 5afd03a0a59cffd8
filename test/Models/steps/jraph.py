"""Graph nets of jraph: padded graphs, of the same size in every microbatch."""

import jax
import jax.numpy as jnp
import jraph
import numpy as np

from building import Draw, dense, integers
from catalog import add, step

NODES, EDGES, WIDTH = 12, 20, 16


def graph(n):
    """(nodes, edges, senders, receivers) of two graphs in one."""
    return (n(NODES, 8, scale=1.0), n(EDGES, 4, scale=1.0), integers(NODES, EDGES, seed=2), integers(NODES, EDGES, seed=3))


def tuple_of(nodes, edges, senders, receivers):
    return jraph.GraphsTuple(nodes=nodes, edges=edges, senders=senders, receivers=receivers, globals=jnp.ones((2, 3), nodes.dtype),
                             n_node=jnp.array([5, 7]), n_edge=jnp.array([9, 11]))


def net(apply, parameters):
    """A maker of a loss on the nodes' values that `apply(p, graph)` makes."""
    def make(dtype):
        n = Draw(dtype)
        p = dict(embed=n.dense(8, WIDTH), head=n.dense(WIDTH, 3), **parameters(n))

        def loss(p, nodes, edges, senders, receivers, label):
            made = apply(p, tuple_of(jnp.tanh(dense(p["embed"], nodes)), edges, senders, receivers))
            logits = dense(p["head"], made.nodes)
            return -jnp.take_along_axis(jax.nn.log_softmax(logits), label[:, None], 1).mean()
        return jax.value_and_grad(loss), (p, *graph(n), integers(3, NODES))
    return make


def convolution(p, g):
    for q in p["layers"]:
        g = jraph.GraphConvolution(lambda x, q=q: jax.nn.relu(dense(q, x)), add_self_edges=True)(g)
    return g


def gather_convolution(p, g):
    return jraph.GraphConvolution(lambda x: dense(p["layers"][0], x), jax.ops.segment_max, symmetric_normalization=False,
                                  add_self_edges=True)(g)


def network(p, g):
    def concatenated(*parts):
        return jnp.concatenate(parts, -1)
    return jraph.GraphNetwork(
        update_edge_fn=lambda e, s, r, u: jax.nn.relu(dense(p["edge"], concatenated(e, s, r, u))),
        update_node_fn=lambda x, s, r, u: jax.nn.relu(dense(p["node"], concatenated(x, s, r, u))),
        update_global_fn=lambda x, e, u: dense(p["global"], concatenated(x, e, u)))(g)


def interaction(p, g):
    return jraph.InteractionNetwork(
        update_edge_fn=lambda e, s, r: jnp.tanh(dense(p["edge"], jnp.concatenate([e, s, r], -1))),
        update_node_fn=lambda x, r: jnp.tanh(dense(p["node"], jnp.concatenate([x, r], -1))))(g)


def attention(p, g):
    return jraph.GAT(attention_query_fn=lambda x: dense(p["query"], x),
                     attention_logit_fn=lambda s, r, e: jax.nn.leaky_relu(dense(p["logit"], jnp.concatenate([s, r], -1))))(g)


def deep_sets(p, g):
    return jraph.DeepSets(update_node_fn=lambda x, u: jax.nn.relu(dense(p["node"], jnp.concatenate([x, u], -1))),
                          update_global_fn=lambda x: dense(p["global"], x))(g)


def layers(n):
    return dict(layers=[n.dense(WIDTH, WIDTH) for _ in range(2)])


NETS = {
    "graph-convolution": (convolution, layers),
    "max-convolution": (gather_convolution, layers),
    "graph-network": (network, lambda n: {"edge": n.dense(4 + 2 * WIDTH + 3, 8), "node": n.dense(WIDTH + 16 + 3, WIDTH),
                                          "global": n.dense(WIDTH + 8 + 3, 3)}),
    "interaction": (interaction, lambda n: dict(edge=n.dense(4 + 2 * WIDTH, 8), node=n.dense(WIDTH + 8, WIDTH))),
    "attention": (attention, lambda n: dict(query=n.dense(WIDTH, WIDTH), logit=n.dense(2 * WIDTH, 1))),
    "deep-sets": (deep_sets, lambda n: {"node": n.dense(WIDTH + 3, WIDTH), "global": n.dense(WIDTH, 3)}),
}
for name, (apply, parameters) in NETS.items():
    add(f"jraph/{name}", net(apply, parameters))


@step("jraph/segment-softmax")
def softmax(dtype):
    """Hand-written attention with the library's segment operations."""
    n = Draw(dtype)
    p = dict(key=n.dense(8, WIDTH), query=n.dense(8, WIDTH), value=n.dense(8, WIDTH), out=n(WIDTH))

    def loss(p, nodes, senders, receivers):
        scores = (dense(p["query"], nodes)[receivers] * dense(p["key"], nodes)[senders]).sum(-1)
        weights = jraph.segment_softmax(scores, receivers, NODES)
        made = jraph.segment_mean(weights[:, None] * dense(p["value"], nodes)[senders], receivers, NODES)
        return ((made * p["out"]).sum(-1) ** 2).mean()
    nodes, _, senders, receivers = graph(n)
    return jax.value_and_grad(loss), (p, nodes, senders, np.concatenate([np.arange(NODES, dtype=np.int32), receivers[NODES:]]))
