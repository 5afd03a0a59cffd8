"""A graph with communities, and batches of sampled neighbours; a source of `pp-run --source=sampling.py:sample`.

STAGEWRIGHT_GRAPHS="N,E,C,F,H,B,K,L": nodes, edges, communities, features, hidden width, target nodes of a microbatch, neighbours
of a target node, neighbours of each of these. Shapes are fixed: a node with fewer neighbours has a mask of 0 for the rest.

An edge leads from a random node to a random node, with probability HOMOPHILY of the same community. Features are the
community's mean plus normal noise. A node's class is its community. Target nodes are among the first 80 %; the others are for
tests.
"""

import functools

import numpy as np

from common import sizes

HOMOPHILY, SIGNAL = 0.8, 0.15


def graph_sizes():
    return sizes("STAGEWRIGHT_GRAPHS", N=2000, E=20000, C=8, F=128, H=64, B=16, K=10, L=5)


@functools.cache
def graph(seed=0):
    """(starts, neighbours, features, classes): the neighbours of node v are neighbours[starts[v]:starts[v + 1]]."""
    s, rng = graph_sizes(), np.random.default_rng(seed)
    classes = rng.integers(0, s["C"], s["N"], np.int32)
    order, counts = np.argsort(classes, kind="stable"), np.bincount(classes, minlength=s["C"])
    source, community = rng.integers(0, s["N"], (2, s["E"]))
    community = np.where(rng.random(s["E"]) < HOMOPHILY, classes[source], community % s["C"])
    before = np.cumsum(counts) - counts
    target = order[before[community] + (rng.random(s["E"]) * counts[community]).astype(int)]
    target = target[np.argsort(source, kind="stable")].astype(np.int32)
    starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=s["N"]))])
    means = rng.standard_normal((s["C"], s["F"]), np.float32) * SIGNAL
    features = means[classes] + rng.standard_normal((s["N"], s["F"]), np.float32)
    return starts, target, features, classes


def random_words(words):
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014) of words of 64 bits."""
    with np.errstate(over="ignore"):
        words = np.asarray(words, np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        return words ^ words >> np.uint64(31)


def draw(key, count, below):
    """Integers below `below`, which is an array of `count` or a number, from the high 32 bits of words of the stream `key`."""
    with np.errstate(over="ignore"):
        words = random_words(key + np.arange(count, dtype=np.uint64))
    return ((words >> np.uint64(32)) * np.asarray(below, np.uint64) >> np.uint64(32)).astype(np.int64)


def neighbours(key, nodes, fan):
    """(neighbours, mask), each nodes x fan: all if there are at most `fan`, else `fan` different ones at equal distances."""
    starts, target = graph()[:2]
    first, degree = starts[nodes][:, None], (starts[nodes + 1] - starts[nodes])[:, None]
    shift = draw(key, len(nodes), degree[:, 0])[:, None]
    place = np.arange(fan) * np.maximum(degree, fan) // fan
    mask = place < degree
    return np.where(mask, target[np.where(mask, first + (place + shift) % np.maximum(degree, 1), 0)], 0), mask


def sample(seed, step, microbatch, held_out=False):
    """The batch of a microbatch, which depends on nothing else: target nodes, their neighbours and the neighbours of these."""
    s, key = graph_sizes(), key_of(seed, step, microbatch)
    known = s["N"] * 4 // 5
    nodes = known + draw(key, s["B"], s["N"] - known) if held_out else draw(key, s["B"], known)
    ids, mask = around(key, nodes)
    return {"ids": ids, "mask": mask, "classes": graph()[3][nodes]}


def key_of(seed, *words):
    key = np.uint64(seed)
    for word in words:
        key = random_words(key ^ random_words(word))
    return key


def around(key, nodes):
    """(ids, mask): of each node itself, its neighbours and the neighbours of these; the masks of the neighbours."""
    s = graph_sizes()
    near, near_mask = neighbours(random_words(key), nodes, s["K"])
    far, far_mask = neighbours(random_words(random_words(key)), near.reshape(-1), s["L"])
    mask = np.concatenate([near_mask, (far_mask & near_mask.reshape(-1, 1)).reshape(len(nodes), -1)], 1)
    ids = np.concatenate([near, far.reshape(len(nodes), -1)], 1) * mask
    return np.concatenate([nodes[:, None], ids], 1).astype(np.int32), mask.astype(np.float32)
