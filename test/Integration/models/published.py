"""Language models with their published shapes, in bfloat16, as shapes without values, so that no parameters are allocated.

    llama2_7b     LLaMA-2 (Touvron et al., 2023, arXiv:2307.09288): 32 layers of width 4096, sequence 4096
    llama2_13b    the same paper: 40 layers of width 5120
    llama2_70b    the same paper: 80 layers of width 8192, 8 heads of keys and values for 64 of queries
    gpt3_175b     GPT-3 (Brown et al., 2020, arXiv:2005.14165), table 2.1: 96 layers of width 12288, sequence 2048
    megatron_gpt  GPT with Megatron-LM's vocabulary of 51,200 (Narayanan et al., 2021, arXiv:2104.04473, table 1): the 1.7B model;
                  L, D and H (layers, width, heads) give the others
    mixtral_8x7b  Mixtral (Jiang et al., 2024, arXiv:2401.04088), table 1: 32 layers of 8 experts, 2 for each token

STAGEWRIGHT_PUBLISHED="B=8,L=2,T=512" changes microbatch (1), layers and sequence, and for GPT also D, H and V (vocabulary).
"""

import functools

import jax
import jax.numpy as jnp

from common import mean_token_loss, sizes

DTYPE = jnp.bfloat16


def shape(*extents, dtype=DTYPE):
    return jax.ShapeDtypeStruct(extents, dtype)


def rms_norm(gain, x):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * gain


def layer_norm(p, x):
    wide = x.astype(jnp.float32)
    wide = wide - wide.mean(-1, keepdims=True)
    return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype) * p["g"] + p["b"]


def rotate(x, base):
    """Rotary embedding of [batch, sequence, heads, width], in float32 as in the published code."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None, None] * base ** (-jnp.arange(half) / half)
    a, b = x[..., :half].astype(jnp.float32), x[..., half:].astype(jnp.float32)
    return jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), b * jnp.cos(angle) + a * jnp.sin(angle)], -1).astype(x.dtype)


def llama_attention(p, x, heads, groups, base):
    b, t, d = x.shape
    q, k, v = (jnp.reshape(x @ p[name], (b, t, -1, d // heads)) for name in "qkv")
    return jax.nn.dot_product_attention(rotate(q, base), rotate(k, base), v, is_causal=True).reshape(b, t, d) @ p["o"]


def swiglu(p, x):
    return (jax.nn.silu(x @ p["gate"]) * (x @ p["up"])) @ p["down"]


def mixture(p, x):
    """Top-2 routing: tokens are sorted by expert, and jax.lax.ragged_dot multiplies each expert's rows."""
    extents, experts = x.shape, p["router"].shape[-1]
    x = x.reshape(-1, extents[-1])
    weights, expert = jax.lax.top_k((x @ p["router"]).astype(jnp.float32), 2)
    weights = jax.nn.softmax(weights, -1).astype(x.dtype)
    chosen = jax.nn.one_hot(expert.reshape(-1), experts, dtype=jnp.int32)
    counts, before = chosen.sum(0), jnp.cumsum(chosen, 0) - chosen
    place = ((jnp.cumsum(counts) - counts + before) * chosen).sum(1)  # row of each (token, choice), sorted by expert
    sent = jnp.zeros((place.size, x.shape[1]), x.dtype).at[place].set(jnp.repeat(x, 2, 0), unique_indices=True)
    hidden = jax.nn.silu(jax.lax.ragged_dot(sent, p["gate"], counts)) * jax.lax.ragged_dot(sent, p["up"], counts)
    back = jax.lax.ragged_dot(hidden, p["down"], counts)[place].reshape(*weights.shape, -1)
    return (back * weights[..., None]).sum(1).reshape(extents)


def llama_loss(params, ids, tgt, heads, groups, base, perceptron):
    with jax.named_scope("embed"):
        x = params["embed"][ids]
    for i, p in enumerate(params["layers"]):
        with jax.named_scope(f"layer{i}"):
            x = x + llama_attention(p, rms_norm(p["norm1"], x), heads, groups, base)
            x = x + perceptron(p, rms_norm(p["norm2"], x))
    with jax.named_scope("head"):
        return mean_token_loss((rms_norm(params["norm"], x) @ params["head"]).astype(jnp.float32), tgt)


def gpt_loss(params, ids, tgt, heads):
    with jax.named_scope("embed"):
        x = params["wte"][ids] + params["wpe"]
    for i, p in enumerate(params["layers"]):
        with jax.named_scope(f"layer{i}"):
            b, t, d = x.shape
            q, k, v = jnp.split((layer_norm(p["ln1"], x) @ p["qkv"] + p["qkv_b"]).reshape(b, t, 3 * heads, d // heads), 3, 2)
            x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(b, t, d) @ p["o"] + p["o_b"]
            x = x + jax.nn.gelu(layer_norm(p["ln2"], x) @ p["fc"] + p["fc_b"]) @ p["proj"] + p["proj_b"]
    with jax.named_scope("head"):
        return mean_token_loss((layer_norm(params["lnf"], x) @ params["wte"].T).astype(jnp.float32), tgt)


def step(loss, params, size):
    tokens = shape(size["B"], size["T"], dtype=jnp.int32)
    return jax.value_and_grad(loss), (params, tokens, tokens)


def llama(vocabulary, width, heads, groups, hidden, layers, length, base=10000.0, experts=0):
    s = sizes("STAGEWRIGHT_PUBLISHED", B=1, L=layers, T=length)
    d, kv, several = width, width // heads * groups, (experts,) if experts else ()
    layer = dict(norm1=shape(d), norm2=shape(d), q=shape(d, d), k=shape(d, kv), v=shape(d, kv), o=shape(d, d),
                 gate=shape(*several, d, hidden), up=shape(*several, d, hidden), down=shape(*several, hidden, d))
    if experts:
        layer["router"] = shape(d, experts)
    params = dict(embed=shape(vocabulary, d), norm=shape(d), head=shape(d, vocabulary), layers=[layer] * s["L"])
    loss = functools.partial(llama_loss, heads=heads, groups=groups, base=base, perceptron=mixture if experts else swiglu)
    return step(loss, params, s)


def llama2_7b():
    return llama(32000, 4096, 32, 32, 11008, 32, 4096)


def llama2_13b():
    return llama(32000, 5120, 40, 40, 13824, 40, 4096)


def llama2_70b():
    return llama(32000, 8192, 64, 8, 28672, 80, 4096)


def mixtral_8x7b():
    return llama(32000, 4096, 32, 8, 14336, 32, 4096, base=1e6, experts=8)


def gpt(vocabulary, width, heads, layers):
    s = sizes("STAGEWRIGHT_PUBLISHED", B=1, L=layers, T=2048, D=width, H=heads, V=vocabulary)
    d = s["D"]
    norm = dict(g=shape(d), b=shape(d))
    layer = dict(ln1=norm, ln2=norm, qkv=shape(d, 3 * d), qkv_b=shape(3 * d), o=shape(d, d), o_b=shape(d),
                 fc=shape(d, 4 * d), fc_b=shape(4 * d), proj=shape(4 * d, d), proj_b=shape(d))
    params = dict(wte=shape(s["V"], d), wpe=shape(s["T"], d), lnf=norm, layers=[layer] * s["L"])
    return step(functools.partial(gpt_loss, heads=s["H"]), params, s)


def gpt3_175b():
    return gpt(50257, 12288, 96, 96)


def megatron_gpt():
    return gpt(51200, 2304, 24, 24)
