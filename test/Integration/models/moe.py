"""A transformer whose perceptrons are mixtures of experts with top-k routing and a capacity per expert.

STAGEWRIGHT_MOE="V,D,E,K,F,L,T,B": vocabulary, width, experts, experts per token, hidden width, layers, sequence,
microbatch.

    moe         one-hot dispatch; tokens beyond an expert's capacity are dropped
    moe_sorted  tokens sorted by expert, as for Mixtral (published.py); none is dropped
"""

import functools

import jax
import jax.numpy as jnp

import published
from common import layer_norm, layer_norm_parameters, mean_token_loss, normals, sizes, tokens


def mixture(p, x, chosen):
    shape, experts = x.shape, p["router"].shape[-1]
    x = x.reshape(-1, shape[-1])
    gates, expert = jax.lax.top_k(jax.nn.softmax(x @ p["router"], -1), chosen)
    gates = gates / gates.sum(-1, keepdims=True)
    capacity = 2 * chosen * x.shape[0] // experts
    assigned = jax.nn.one_hot(expert, experts)
    place = (jnp.cumsum(assigned.reshape(-1, experts), 0).reshape(assigned.shape) - 1) * assigned
    slot = jax.nn.one_hot(jnp.where(assigned > 0, place, -1).astype(int), capacity) * assigned[..., None]
    sent = jnp.einsum("tkec,td->ecd", slot, x)
    done = jnp.einsum("ecf,efd->ecd", jax.nn.gelu(jnp.einsum("ecd,edf->ecf", sent, p["up"])), p["down"])
    back = jnp.einsum("tkec,ecd->tkd", slot, done)
    return (back * gates[..., None]).sum(1).reshape(shape)


def sorted_mixture(p, x, chosen):
    assert chosen == 2
    return published.mixture(p, x)


def loss(params, ids, tgt, chosen, mixture=mixture):
    with jax.named_scope("embed"):
        x = params["wte"][ids]
    for i, p in enumerate(params["h"]):
        with jax.named_scope(f"h{i}"):
            with jax.named_scope("mix"):
                x = x + jnp.cumsum(layer_norm(p["ln1"], x) @ p["mix"], 1) / (1 + jnp.arange(x.shape[1])[:, None])
            with jax.named_scope("experts"):
                x = x + mixture(p, layer_norm(p["ln2"], x), chosen)
    with jax.named_scope("head"):
        return mean_token_loss(layer_norm(params["lnf"], x) @ params["head"], tgt)


def moe(*more, **options):
    s = sizes("STAGEWRIGHT_MOE", V=64, D=32, E=4, K=2, F=64, L=2, T=16, B=2)
    n, d = normals(scale=0.1), s["D"]
    params = dict(wte=n(s["V"], d), lnf=layer_norm_parameters(d), head=n(d, s["V"]),
                  h=[dict(ln1=layer_norm_parameters(d), ln2=layer_norm_parameters(d), mix=n(d, d), router=n(d, s["E"]),
                          up=n(s["E"], d, s["F"]), down=n(s["E"], s["F"], d), **{name: n(s["E"], d, s["F"]) for name in more})
                     for _ in range(s["L"])])
    return jax.value_and_grad(functools.partial(loss, chosen=s["K"], **options)), (params, *tokens(s["V"], s["B"], s["T"]))


def moe_sorted():
    return moe("gate", mixture=sorted_mixture)
