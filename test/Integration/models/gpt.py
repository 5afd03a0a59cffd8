"""A GPT: pre-norm blocks of causal attention and a GELU perceptron, learned positions, token loss.

STAGEWRIGHT_GPT="V,D,H,L,T,B" (or names, "L=24,T=32") sets vocabulary, width, heads, layers, sequence and microbatch.

    gpt           a Python loop over the layers, as usual
    gpt_scan      a lax.scan over stacked layers
    gpt_scan_on_grid  gpt_scan with shardings over two axes of a mesh
    gpt_tied      the embedding is also the output head
    gpt_dropout   dropout after attention and perceptron, from a random key
    gpt_bfloat16  bfloat16 activations, float32 parameters and loss
    gpt_forward   the logits only, no gradients
    gpt_parallel  small, with attention and perceptron of each block side by side, and biases behind both
    gpt_deep      small, with eight layers, for many stages
    gpt_slices    small, with seven samples to share among replicas
    gpt_slices_dropout  gpt_slices with dropout
    gpt_single    gpt_slices with one sample, so that replicas take turns
    gpt_deep_tied gpt_deep with one matrix for embedding and output
    gpt_100m      a hundred million parameters: 12 layers, width 768
    gpt_long      small, with a sequence of 1024
    gpt_forward_single  gpt_forward with the sizes of gpt_single
    gpt_single_results, gpt_deep_results
                  gpt_single and gpt_deep that also return the logits and the number of right predictions
    gpt_single_logits  gpt_single that also returns the logits
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from common import layer_norm, layer_norm_parameters, mean_token_loss, normals, on_grid, sizes, tokens

DEFAULT = dict(V=512, D=256, H=4, L=4, T=128, B=4)
DEEP = dict(V=64, D=32, H=2, L=8, T=16, B=2)
SLICES = dict(V=64, D=32, H=2, L=3, T=16, B=7)
HUNDRED_MILLION = dict(V=10000, D=768, H=12, L=12, T=256, B=1)
LONG = dict(V=64, D=32, H=2, L=2, T=1024, B=1)


def attention(p, x, heads):
    b, t, d = x.shape
    q, k, v = (a.reshape(b, t, heads, d // heads).transpose(0, 2, 1, 3) for a in jnp.split(x @ p["qkv"], 3, -1))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / jnp.sqrt(d // heads).astype(x.dtype)
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9), -1)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v).transpose(0, 2, 1, 3).reshape(b, t, d) @ p["o"]


def identity(x, _place):
    return x


def block(p, x, heads, drop=identity):
    with jax.named_scope("attn"):
        x = x + drop(attention(p, layer_norm(p["ln1"], x), heads), 0)
    with jax.named_scope("mlp"):
        return x + drop(jax.nn.gelu(layer_norm(p["ln2"], x) @ p["fc"]) @ p["proj"], 1)


def parallel_block(p, x, heads):
    with jax.named_scope("both"):
        h = layer_norm(p["ln1"], x)
        return x + (attention(p, h, heads) + p["o_bias"]) + (jax.nn.gelu(h @ p["fc"]) @ p["proj"] + p["proj_bias"])


def embed(p, ids):
    with jax.named_scope("embed"):
        return p["wte"][ids] + p["wpe"][None]


def head(p, x):
    return layer_norm(p["lnf"], x) @ (p["head"] if "head" in p else p["wte"].T)


def logits(params, ids, heads):
    x = embed(params, ids)
    for i, layer in enumerate(params["h"]):
        with jax.named_scope(f"h{i}"):
            x = block(layer, x, heads)
    with jax.named_scope("head"):
        return head(params, x)


def loss(params, ids, tgt, heads):
    x = embed(params, ids)
    for i, layer in enumerate(params["h"]):
        with jax.named_scope(f"h{i}"):
            x = block(layer, x, heads)
    with jax.named_scope("head"):
        return mean_token_loss(head(params, x), tgt)


def parallel_loss(params, ids, tgt, heads):
    x = embed(params, ids)
    for i, layer in enumerate(params["h"]):
        with jax.named_scope(f"h{i}"):
            x = parallel_block(layer, x, heads)
    with jax.named_scope("head"):
        return mean_token_loss(head(params, x), tgt)


def scan_loss(params, ids, tgt, heads):
    x = embed(params, ids)
    with jax.named_scope("h"):
        x, _ = jax.lax.scan(lambda x, layer: (block(layer, x, heads), None), x, params["h"])
    with jax.named_scope("head"):
        return mean_token_loss(head(params, x), tgt)


def dropout_loss(params, ids, tgt, key, heads, rate=0.1):
    def drop(layer, x, place):
        kept = jax.random.bernoulli(jax.random.fold_in(key, 2 * layer + place), 1 - rate, x.shape)
        return jnp.where(kept, x / (1 - rate), 0)
    x = embed(params, ids)
    for i, layer in enumerate(params["h"]):
        with jax.named_scope(f"h{i}"):
            x = block(layer, x, heads, functools.partial(drop, i))
    with jax.named_scope("head"):
        return mean_token_loss(head(params, x), tgt)


def bfloat16_loss(params, ids, tgt, heads):
    p = jax.tree.map(lambda a: a.astype(jnp.bfloat16), params)
    x = embed(p, ids)
    for i, layer in enumerate(p["h"]):
        with jax.named_scope(f"h{i}"):
            x = block(layer, x, heads)
    with jax.named_scope("head"):
        return mean_token_loss(head(p, x).astype(jnp.float32), tgt)


def parameters(V, D, L, T, tied=False, **_):
    n = normals()
    p = dict(wte=n(V, D), wpe=n(T, D), lnf=layer_norm_parameters(D), head=n(D, V),
             h=[dict(ln1=layer_norm_parameters(D), ln2=layer_norm_parameters(D), qkv=n(D, 3 * D), o=n(D, D),
                     fc=n(D, 4 * D), proj=n(4 * D, D)) for _ in range(L)])
    if tied:
        del p["head"]
    return p


def parallel_parameters(D, **rest):
    p, n = parameters(D=D, **rest), normals()
    for layer in p["h"]:
        del layer["ln2"]
        layer |= dict(o_bias=n(D), proj_bias=n(D))
    return p


def _made(function, parameters_of, *more, default=DEFAULT):
    s = sizes("STAGEWRIGHT_GPT", **default)
    step = jax.value_and_grad(functools.partial(function, heads=s["H"]))
    return step, (parameters_of(**s), *tokens(s["V"], s["B"], s["T"]), *more)


def gpt():
    return _made(loss, parameters)


def gpt_parallel():
    return _made(parallel_loss, parallel_parameters, default={**DEEP, "L": 2, "H": 4})


def gpt_deep():
    return _made(loss, parameters, default=DEEP)


def gpt_100m():
    return _made(loss, parameters, default=HUNDRED_MILLION)


def gpt_slices():
    return _made(loss, parameters, default=SLICES)


def gpt_single():
    return _made(loss, parameters, default={**SLICES, "B": 1})


def gpt_slices_dropout():
    return _made(dropout_loss, parameters, jax.random.key(7), default=SLICES)


def gpt_deep_tied():
    return _made(loss, functools.partial(parameters, tied=True), default=DEEP)


def gpt_long():
    return _made(loss, parameters, default=LONG)


def gpt_scan(default=DEFAULT):
    def stacked(**s):
        p = parameters(**s)
        return {**p, "h": jax.tree.map(lambda *layers: np.stack(layers), *p["h"])}
    return _made(scan_loss, stacked, default=default)


def gpt_scan_on_grid():
    """Stacked parameters with NamedShardings over a mesh of two axes, one of which also splits the stacks."""
    function, (params, *batch) = gpt_scan()
    specs = dict(qkv=("x", "y", None), o=(None, "y", "x"), fc=(None, "x", "y"), proj=(None, ("x", "y"), None))
    return function, (on_grid(params, 1, specs), *batch)


def gpt_tied():
    return _made(loss, functools.partial(parameters, tied=True))


def gpt_dropout():
    return _made(dropout_loss, parameters, jax.random.key(7))


def gpt_bfloat16():
    return _made(bfloat16_loss, parameters)


def gpt_forward(default=DEFAULT):
    s = sizes("STAGEWRIGHT_GPT", **default)
    return functools.partial(logits, heads=s["H"]), (parameters(**s), tokens(s["V"], s["B"], s["T"])[0])


def gpt_forward_single():
    return gpt_forward({**SLICES, "B": 1})


def _with_results(default, counts=True):
    """Training that also returns the logits, and the number of right predictions if it `counts`."""
    s = sizes("STAGEWRIGHT_GPT", **default)

    def all_of(params, ids, tgt):
        found = logits(params, ids, s["H"])
        mean = -jnp.take_along_axis(jax.nn.log_softmax(found), tgt[..., None], -1).mean()
        return mean, (found, (found.argmax(-1) == tgt).sum(dtype=jnp.int32)) if counts else found
    return jax.value_and_grad(all_of, has_aux=True), (parameters(**s), *tokens(s["V"], s["B"], s["T"]))


def gpt_single_results():
    return _with_results({**SLICES, "B": 1})


def gpt_single_logits():
    return _with_results({**SLICES, "B": 1}, counts=False)


def gpt_deep_results():
    return _with_results(DEEP)
