"""Models as people write them without a library: transformers, convolution nets, recurrent and state-space models."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from building import Draw, dense, integers, mean_token_loss, rms_norm, tokens
from catalog import step

VOCABULARY, WIDTH, HEADS, LENGTH, BATCH = 40, 32, 4, 12, 3


def layer_norm(p, x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * p["g"] + p["b"]


def heads_of(x, heads=HEADS):
    return x.reshape(*x.shape[:-1], heads, -1)


def attend(q, k, v, mask=None):
    """Attention of arrays (batch, length, heads, width), with float32 weights."""
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = jnp.where(mask, scores, jnp.finfo(scores.dtype).min)
    weights = jax.nn.softmax(scores.astype(jnp.promote_types(scores.dtype, jnp.float32)), -1).astype(v.dtype)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(*q.shape[:2], -1)


def causal(length):
    return jnp.tril(jnp.ones((length, length), bool))


def block_parameters(n, d=WIDTH, cross=False):
    p = dict(ln1=n.norm(d), ln2=n.norm(d), qkv=n.dense(d, 3 * d), o=n.dense(d, d), up=n.dense(d, 2 * d), down=n.dense(2 * d, d))
    if cross:
        p.update(ln3=n.norm(d), q=n.dense(d, d), kv=n.dense(d, 2 * d), o2=n.dense(d, d))
    return p


def block(p, x, mask=None, memory=None):
    q, k, v = map(heads_of, jnp.split(dense(p["qkv"], layer_norm(p["ln1"], x)), 3, -1))
    x = x + dense(p["o"], attend(q, k, v, mask))
    if memory is not None:
        q, (k, v) = heads_of(dense(p["q"], layer_norm(p["ln3"], x))), map(heads_of, jnp.split(dense(p["kv"], memory), 2, -1))
        x = x + dense(p["o2"], attend(q, k, v))
    return x + dense(p["down"], jax.nn.gelu(dense(p["up"], layer_norm(p["ln2"], x))))


def gpt_parameters(n, layers=3):
    return dict(wte=n(VOCABULARY, WIDTH), wpe=n(LENGTH, WIDTH), h=[block_parameters(n) for _ in range(layers)],
                ln=n.norm(WIDTH))


def gpt_loss(p, ids, targets, block=block, scopes=True):
    x = p["wte"][ids] + p["wpe"]
    for i, layer in enumerate(p["h"]):
        with jax.named_scope(f"h{i}"):
            x = block(layer, x, causal(LENGTH))
    return mean_token_loss(layer_norm(p["ln"], x) @ p["wte"].T, targets)


def text():
    return tokens(VOCABULARY, BATCH, LENGTH)


@step("plain/gpt", sample=True)
def gpt(dtype):
    return jax.value_and_grad(gpt_loss), (gpt_parameters(Draw(dtype)), *text())


@step("plain/gpt-remat")
def gpt_remat(dtype):
    """The backward recomputes each block."""
    return jax.value_and_grad(functools.partial(gpt_loss, block=jax.checkpoint(block))), (gpt_parameters(Draw(dtype)), *text())


@step("plain/gpt-remat-policy", sample=True)
def gpt_remat_policy(dtype):
    again = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    return jax.value_and_grad(functools.partial(gpt_loss, block=again)), (gpt_parameters(Draw(dtype)), *text())


@step("plain/gpt-no-scopes", sample=True)
def gpt_no_scopes(dtype):
    def loss(p, ids, targets):
        x = p["wte"][ids] + p["wpe"]
        for layer in p["h"]:
            x = block(layer, x, causal(LENGTH))
        return mean_token_loss(layer_norm(p["ln"], x) @ p["wte"].T, targets)
    return jax.value_and_grad(loss), (gpt_parameters(Draw(dtype)), *text())


@step("plain/gpt-scan", sample=True)
def gpt_scan(dtype):
    """A scan over stacked layers."""
    p = gpt_parameters(Draw(dtype))
    p["h"] = jax.tree.map(lambda *layers: np.stack(layers), *p["h"])

    def loss(p, ids, targets):
        x, _ = lax.scan(lambda x, layer: (block(layer, x, causal(LENGTH)), None), p["wte"][ids] + p["wpe"], p["h"])
        return mean_token_loss(layer_norm(p["ln"], x) @ p["wte"].T, targets)
    return jax.value_and_grad(loss), (p, *text())


@step("plain/gpt-mixed-precision", dtypes=("bfloat16",))
def gpt_mixed_precision(dtype):
    """Parameters and loss in float32, everything between in the short type."""
    wide = jnp.promote_types(dtype, jnp.float32)

    def loss(p, ids, targets):
        short = jax.tree.map(lambda a: a.astype(dtype), p)
        x = short["wte"][ids] + short["wpe"]
        for i, layer in enumerate(short["h"]):
            with jax.named_scope(f"h{i}"):
                x = block(layer, x, causal(LENGTH))
        logits = jnp.matmul(layer_norm(short["ln"], x), short["wte"].T, preferred_element_type=wide)
        return mean_token_loss(logits, targets)
    return jax.value_and_grad(loss), (gpt_parameters(Draw(wide)), *text())


def rotary(x):
    """Rotary embeddings of an array (batch, length, heads, width)."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = (f(angles)[:, None].astype(x.dtype) for f in (jnp.cos, jnp.sin))
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def llama_parameters(n, d=WIDTH):
    return dict(wte=n(VOCABULARY, d), norm=n.ones(d), head=n(d, VOCABULARY),
                h=[dict(n1=n.ones(d), n2=n.ones(d), q=n(d, d), k=n(d, d // 2), v=n(d, d // 2), o=n(d, d), gate=n(d, 2 * d),
                        up=n(d, 2 * d), down=n(2 * d, d)) for _ in range(2)])


def llama_loss(p, ids, targets, window=None, cap=None):
    x, mask = p["wte"][ids], causal(LENGTH)
    if window:
        mask = mask & ~jnp.tril(jnp.ones((LENGTH, LENGTH), bool), -window)
    for i, layer in enumerate(p["h"]):
        with jax.named_scope(f"layers/{i}"):
            h = rms_norm(layer["n1"], x)
            q = rotary(heads_of(h @ layer["q"]))
            k, v = rotary(heads_of(h @ layer["k"], HEADS // 2)), heads_of(h @ layer["v"], HEADS // 2)
            k, v = jnp.repeat(k, 2, 2), jnp.repeat(v, 2, 2)
            if cap:
                q = cap * jnp.tanh(q / cap)
            x = x + attend(q, k, v, mask) @ layer["o"]
            h = rms_norm(layer["n2"], x)
            x = x + (jax.nn.silu(h @ layer["gate"]) * (h @ layer["up"])) @ layer["down"]
    return mean_token_loss(rms_norm(p["norm"], x) @ p["head"], targets)


@step("plain/llama", sample=True)
def llama(dtype):
    return jax.value_and_grad(llama_loss), (llama_parameters(Draw(dtype)), *text())


@step("plain/mistral-window")
def mistral(dtype):
    return jax.value_and_grad(functools.partial(llama_loss, window=4)), (llama_parameters(Draw(dtype)), *text())


@step("plain/gemma-capped")
def capped(dtype):
    return jax.value_and_grad(functools.partial(llama_loss, cap=5.0)), (llama_parameters(Draw(dtype)), *text())


@step("plain/lora")
def lora(dtype):
    """Gradients of the low-rank changes only; the frozen model is a separate argument."""
    n = Draw(dtype)
    base = llama_parameters(n)
    change = [dict(a=n(WIDTH, 4), b=n(4, WIDTH)) for _ in base["h"]]

    def loss(change, base, ids, targets):
        layers = [{**layer, "q": layer["q"] + c["a"] @ c["b"]} for layer, c in zip(base["h"], change)]
        return llama_loss({**base, "h": layers}, ids, targets)
    return jax.value_and_grad(loss), (change, base, *text()), {"roles": {"base": "parameter"}}


@step("plain/moe", sample=True)
def moe(dtype):
    """A mixture of experts: each token goes to two of four, by dense dispatch."""
    n, d = Draw(dtype), WIDTH
    p = dict(wte=n(VOCABULARY, d), head=n(d, VOCABULARY),
             h=[dict(n=n.ones(d), router=n(d, 4), up=n(4, d, 2 * d), down=n(4, 2 * d, d)) for _ in range(2)])

    def loss(p, ids, targets):
        x, balance = p["wte"][ids], 0
        for i, layer in enumerate(p["h"]):
            with jax.named_scope(f"h{i}"):
                h = rms_norm(layer["n"], x)
                weights = jax.nn.softmax(h @ layer["router"], -1)
                top, chosen = lax.top_k(weights, 2)
                gates = (jax.nn.one_hot(chosen, 4, dtype=x.dtype) * (top / top.sum(-1, keepdims=True))[..., None]).sum(-2)
                out = jnp.einsum("btd,edf->btef", h, layer["up"])
                x = x + jnp.einsum("btef,efd,bte->btd", jax.nn.gelu(out), layer["down"], gates)
                balance = balance + (weights.mean((0, 1)) * (gates > 0).astype(x.dtype).mean((0, 1))).sum()
        return mean_token_loss(x @ p["head"], targets) + 0.01 * balance
    return jax.value_and_grad(loss), (p, *text())


@step("plain/moe-ragged")
def moe_ragged(dtype):
    """Tokens sorted by expert, and ragged products."""
    n, d = Draw(dtype), WIDTH
    p = dict(wte=n(VOCABULARY, d), router=n(d, 4), up=n(4, d, d), head=n(d, VOCABULARY))

    def loss(p, ids, targets):
        x = p["wte"][ids].reshape(-1, d)
        weights = jax.nn.softmax(x @ p["router"], -1)
        chosen = jnp.argmax(weights, -1)
        order = jnp.argsort(chosen)
        y = lax.ragged_dot(x[order], p["up"], jnp.bincount(chosen, length=4))
        y = jnp.zeros_like(y).at[order].set(y) * jnp.take_along_axis(weights, chosen[:, None], -1)
        return mean_token_loss((x + y) @ p["head"], targets.reshape(-1))
    return jax.value_and_grad(loss), (p, *text())


@step("plain/encoder-decoder")
def encoder_decoder(dtype):
    n = Draw(dtype)
    p = dict(wte=n(VOCABULARY, WIDTH), encoder=[block_parameters(n) for _ in range(2)], head=n(WIDTH, VOCABULARY),
             decoder=[block_parameters(n, cross=True) for _ in range(2)])

    def loss(p, source, ids, targets):
        memory, x = p["wte"][source], p["wte"][ids]
        for i, layer in enumerate(p["encoder"]):
            with jax.named_scope(f"encoder{i}"):
                memory = block(layer, memory)
        for i, layer in enumerate(p["decoder"]):
            with jax.named_scope(f"decoder{i}"):
                x = block(layer, x, causal(LENGTH), memory)
        return mean_token_loss(x @ p["head"], targets)
    return jax.value_and_grad(loss), (p, integers(VOCABULARY, BATCH, 7, seed=5), *text())


@step("plain/bert-pooled")
def bert(dtype):
    """A classifier on the first token's hidden values, with a padding mask."""
    n = Draw(dtype)
    p = dict(wte=n(VOCABULARY, WIDTH), h=[block_parameters(n) for _ in range(2)], pooler=n.dense(WIDTH, WIDTH),
             head=n.dense(WIDTH, 3))

    def loss(p, ids, mask, label):
        x = p["wte"][ids]
        for i, layer in enumerate(p["h"]):
            with jax.named_scope(f"layer_{i}"):
                x = block(layer, x, mask[:, None, None, :] > 0)
        logits = dense(p["head"], jnp.tanh(dense(p["pooler"], x[:, 0])))
        return mean_token_loss(logits, label)
    lengths = np.array([5, 12, 9])
    mask = (np.arange(LENGTH) < lengths[:, None]).astype(np.int32)
    return jax.value_and_grad(loss), (p, text()[0], mask, integers(3, BATCH))


@step("plain/clip-contrastive")
def clip(dtype):
    """Two towers, and a loss over all pairs of the microbatch."""
    n = Draw(dtype)
    p = dict(image=n.dense(48, WIDTH), words=n(VOCABULARY, WIDTH), text=n.dense(WIDTH, WIDTH), scale=n.ones())

    def loss(p, image, ids):
        a = dense(p["image"], image)
        b = dense(p["text"], p["words"][ids].mean(1))
        a, b = (v / jnp.linalg.norm(v, axis=-1, keepdims=True) for v in (a, b))
        logits = a @ b.T * jnp.exp(p["scale"])
        return (mean_token_loss(logits, jnp.arange(6)) + mean_token_loss(logits.T, jnp.arange(6))) / 2
    return jax.value_and_grad(loss), (p, n(6, 48, scale=1.0), integers(VOCABULARY, 6, LENGTH))


@step("plain/vit", sample=True)
def vit(dtype):
    n = Draw(dtype)
    p = dict(patch=n.dense(48, WIDTH), cls=n(WIDTH), position=n(17, WIDTH), h=[block_parameters(n) for _ in range(2)],
             ln=n.norm(WIDTH), head=n.dense(WIDTH, 10))

    def loss(p, image, label):
        x = image.reshape(-1, 4, 4, 4, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(-1, 16, 48)
        x = dense(p["patch"], x)
        x = jnp.concatenate([jnp.broadcast_to(p["cls"], (x.shape[0], 1, WIDTH)), x], 1) + p["position"]
        for i, layer in enumerate(p["h"]):
            with jax.named_scope(f"block{i}"):
                x = block(layer, x)
        return mean_token_loss(dense(p["head"], layer_norm(p["ln"], x)[:, 0]), label)
    return jax.value_and_grad(loss), (p, n(BATCH, 16, 16, 3, scale=1.0), integers(10, BATCH))


@step("plain/mlp-mixer")
def mixer(dtype):
    n = Draw(dtype)
    p = dict(h=[dict(n1=n.norm(16), n2=n.norm(16), time=n.dense(8, 8), width=n.dense(16, 16)) for _ in range(3)],
             head=n.dense(16, 4))

    def loss(p, x, label):
        for layer in p["h"]:
            y = layer_norm(layer["n1"], x).swapaxes(1, 2)
            x = x + jax.nn.gelu(dense(layer["time"], y)).swapaxes(1, 2)
            x = x + jax.nn.gelu(dense(layer["width"], layer_norm(layer["n2"], x)))
        return mean_token_loss(dense(p["head"], x.mean(1)), label)
    return jax.value_and_grad(loss), (p, n(BATCH, 8, 16, scale=1.0), integers(4, BATCH))
