"""GraphSAGE (graphs.py) with the features of the nodes in several stores and the samples at several workers, each a layer, so that a
plan can place them; and the source of its batches.

STAGEWRIGHT_STORES="P,hashed": stores, which are as many as workers; 1: nodes are distributed over the stores by their number, 0: by
their community. A worker's target nodes are of the communities of the store with its number; B of STAGEWRIGHT_GRAPHS counts those of
one worker.

A worker fetches each row that its samples need once, from the store that has it. The numbers of rows are fixed: a list of fewer
rows ends with -1. A longer list is an error that names the worker and the store.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax

from common import normals, sizes, zeros
from graphs import RATE, mean_layer, split_hops
from sampling import around, draw, graph, graph_sizes, key_of
from training import updating

TRIALS, DEVIATIONS, ROUND = 16, 7, 16  # Room for rows: mean of trials + DEVIATIONS sigma, rounded up.


def stores():
    return sizes("STAGEWRIGHT_STORES", P=3, hashed=0)


@functools.cache
def parts():
    """(store of each node, its row there, the target nodes of each worker)."""
    s, count, classes = graph_sizes(), stores()["P"], graph()[3]
    community = classes % count
    where = np.arange(s["N"]) % count if stores()["hashed"] else community
    row = np.zeros(s["N"], np.int32)
    for part in range(count):
        row[where == part] = np.arange((where == part).sum())
    known = np.arange(s["N"] * 4 // 5)
    return where, row, [known[community[known] == worker] for worker in range(count)]


def samples(seed, step, microbatch, worker):
    """(ids, mask, classes) of the samples of a worker."""
    key, own = key_of(seed, step, microbatch, worker), parts()[2][worker]
    nodes = own[draw(key, graph_sizes()["B"], len(own))]
    return *around(key, nodes), graph()[3][nodes]


def needed(ids, mask, part):
    """The different nodes of a store among the samples, and which places of the samples they take."""
    valid = np.concatenate([np.ones_like(mask[:, :1]), mask], 1) > 0
    here = valid & (parts()[0][ids] == part)
    nodes, places = np.unique(ids[here], return_inverse=True)
    return nodes, here, places


@functools.cache
def room():
    """By store and worker: rows of a fetch."""
    count = stores()["P"]
    rows = np.zeros((TRIALS, count, count))
    for trial in range(TRIALS):
        for worker in range(count):
            ids, mask, _ = samples(1 << 40, 0, trial, worker)
            rows[trial, :, worker] = [len(needed(ids, mask, part)[0]) for part in range(count)]
    return (np.ceil((rows.mean(0) + DEVIATIONS * rows.std(0)) / ROUND) * ROUND).astype(int)


def fetched(seed, step, microbatch):
    """The batch: fetch/pXwY are the rows of store X for worker Y; place/wY their places in the samples."""
    count, batch = stores()["P"], {}
    for worker in range(count):
        ids, mask, classes = samples(seed, step, microbatch, worker)
        place, before = np.zeros_like(ids), 0
        for part in range(count):
            nodes, here, places = needed(ids, mask, part)
            rows = room()[part, worker]
            if len(nodes) > rows:
                raise ValueError(f"worker {worker} needs {len(nodes)} rows of store {part}, and there is room for {rows}")
            fetch = np.full(rows, -1, np.int32)
            fetch[:len(nodes)] = parts()[1][nodes]
            place[here] = before + places
            before += rows
            batch[f"fetch/p{part}w{worker}"] = fetch
        batch |= {f"place/w{worker}": place, f"mask/w{worker}": mask, f"classes/w{worker}": classes}
    return batch


def nested(batch):
    """The arguments fetch, place, mask and classes of the loss."""
    found = {}
    for name, value in batch.items():
        group, key = name.split("/")
        found.setdefault(group, {})[key] = value
    return found["fetch"], found["place"], found["mask"], found["classes"]


def loss(parameters, features, fetch, place, mask, classes):
    count, near = len(features), graph_sizes()["K"]
    rows = {}
    for part in range(count):
        with jax.named_scope(f"store{part}"):
            for worker in range(count):
                name = f"p{part}w{worker}"
                rows[name] = features[f"p{part}"][fetch[name]]
    total = 0
    for worker in range(count):
        with jax.named_scope(f"worker{worker}"):
            own = f"w{worker}"
            x = jnp.concatenate([rows[f"p{part}w{worker}"] for part in range(count)])[place[own]]
            target, close, far, close_mask, far_mask = split_hops(x, mask[own], near)
            hidden = jax.nn.relu(mean_layer(parameters["first"], close, far, far_mask))
            target = jax.nn.relu(mean_layer(parameters["first"], target, close, close_mask))
            out = jax.nn.relu(mean_layer(parameters["second"], target, hidden, close_mask)) @ parameters["head"]
            total += -jnp.take_along_axis(jax.nn.log_softmax(out, -1), classes[own][:, None], -1).mean()
    return total / count


def stored_sage():
    s, n = graph_sizes(), normals(scale=0.1)

    def layer(inputs):
        return {"self": n(inputs, s["H"]), "neighbours": n(inputs, s["H"]), "b": zeros(s["H"])}
    parameters = {"first": layer(s["F"]), "second": layer(s["H"]), "head": n(s["H"], s["C"])}
    features = {f"p{part}": graph()[2][parts()[0] == part] for part in range(stores()["P"])}
    optimizer = optax.adam(RATE)
    return jax.value_and_grad(loss), (parameters, features, *nested(fetched(0, 0, 0))), {
        "roles": {"features": "constant"}, "update": (updating(optimizer), optimizer.init(parameters))}
