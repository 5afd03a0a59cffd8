"""Peer: graph neural networks of test/Integration/models/graphs.py trained by JAX and optax, and their accuracy.

usage: jax_graphs.py train FOLDER KIND STEPS M ORDER FILE.jsonl
       jax_graphs.py accuracy FOLDER KIND PARAMETERS.safetensors   of the parameters in a checkpoint of pp-run
       jax_graphs.py rows FOLDER KIND M RANKS                      of the first step, if RANKS hold parts of nodes and samples

The first two print the accuracy on nodes that were held out, the third counts rows of other ranks, own rows and padding, as JSON. FOLDER is that of the models, KIND sage or gat; ORDER, `first` or
`last`, is the microbatch with which a step's sum begins. FILE.jsonl gets a line for each step, with step, loss and
seconds as by pp-run --metrics.
"""

import json
import sys
import time

import jax
import numpy as np
from safetensors.numpy import load_file


def train(graphs, kind, steps, microbatches, order, path):
    step, (parameters, features, *_), options = getattr(graphs, f"{kind}_adam")()
    update, state = options["update"]
    step, update, features = jax.jit(step), jax.jit(update), jax.device_put(features)
    with open(path, "w") as lines:
        for number in range(int(steps)):
            batches = [graphs.sample(0, number, m).values() for m in range(int(microbatches))]
            began = time.monotonic()
            parts = [step(parameters, features, *batch) for batch in batches]
            parts = parts if order == "first" else parts[::-1]
            loss, gradients = jax.tree.map(lambda *leaves: sum(leaves) / len(leaves), *parts)
            parameters, state = update(parameters, gradients, state)
            line = dict(step=number + 1, loss=float(loss), seconds=time.monotonic() - began)
            print(json.dumps(line), file=lines, flush=True)
    return parameters


def saved(graphs, kind, path):
    tensors, tree = load_file(path), jax.tree.structure(getattr(graphs, f"graph_{kind}")()[1][0])
    return jax.tree.unflatten(tree, [tensors[name] for name in sorted(tensors)])


def rows(graphs, microbatches, ranks):
    """Rows that a rank with a part of the samples gets from stores with parts of the nodes, over all ranks."""
    sizes, counts = graphs.graph_sizes(), dict(other=0, own=0, padding=0)
    for m in range(int(microbatches)):
        ids, mask, _ = graphs.sample(0, 0, m).values()
        valid = np.concatenate([np.ones_like(mask[:, :1]), mask], 1) > 0
        here = ids // (sizes["N"] // ranks) == (np.arange(sizes["B"]) // (sizes["B"] // ranks))[:, None]
        counts["other"] += int((valid & ~here).sum())
        counts["own"] += int((valid & here).sum())
        counts["padding"] += int((~valid).sum())
    return counts


if __name__ == "__main__":
    what, folder, kind, *more = sys.argv[1:]
    sys.path.insert(0, folder)
    import graphs
    if what == "rows":
        sys.exit(print(json.dumps(rows(graphs, more[0], int(more[1])))))
    parameters = {"train": train, "accuracy": saved}[what](graphs, kind, *more)
    print(json.dumps(dict(accuracy=graphs.accuracy(kind, parameters), version=jax.__version__,
                          parameters=sum(leaf.size for leaf in jax.tree.leaves(parameters)))))
