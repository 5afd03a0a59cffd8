"""One layer of attention, with a squared loss, in variants of masks, biases and dropout.

STAGEWRIGHT_ATTENTION="D,H,S,B": width, heads, sequence, microbatch.

    full      every query sees every key
    masked    a boolean array selects the keys of each query; other scores are -1e9
    biased    an array of numbers is added to the scores
    padded    some keys of each sample are padding, which no query sees
    clipped   scores are clipped: not compiled to one attention kernel
    capped    scores are capped by a tanh, with a causal mask
    dropped   dropout of weights, with one mask for all heads
    library   jax.nn.dot_product_attention, causal
    packed    one product with a bias computes queries, keys and values
    masked_bfloat16, biased_bfloat16, padded_bfloat16
              the same masks, biases and padding with bfloat16 queries, keys and values
    hidden_bfloat16, hidden_near_bfloat16 and hidden, hidden_near
              some queries see no key, and scores that a mask hides are -1e9 or -1e4
    grouped_bfloat16, grouped_biased_bfloat16 and grouped, grouped_biased
              heads share keys in pairs, with a mask for each of them, and with numbers for each pair of heads that share keys
    grouped_sliced_bfloat16, grouped_packed_bfloat16 and grouped_sliced, grouped_packed
              heads share keys in pairs; two of three biases of each pair are used, or one product computes the queries, the key
              and the value of a pair side by side, so that heads are not evenly spaced
    capped_bfloat16, capped_float16, dropped_bfloat16
              16-bit attention that the library does not support
    taught, taught_bfloat16
              the target is the same layer's output for another input, without a gradient
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from common import normals, sizes


def loss(params, x, y, mask, heads, modify, drop=lambda weights, _: weights):
    b, s, d = x.shape
    with jax.named_scope("attention"):
        q, k, v = ((x @ params[name]).reshape(b, s, heads, d // heads) for name in "qkv")
        scores = modify(jnp.einsum("bqhd,bkhd->bhqk", q, k) * (d // heads) ** -0.5, mask)
        out = jnp.einsum("bhqk,bkhd->bqhd", drop(jax.nn.softmax(scores, -1), mask), v).reshape(b, s, d)
    with jax.named_scope("head"):
        return ((out @ params["o"] - y) ** 2).mean()


def _made(modify, mask_of=lambda rng, b, s: np.zeros((b, 1), np.float32), **more):
    s = sizes("STAGEWRIGHT_ATTENTION", D=24, H=2, S=40, B=2)
    n, rng = normals(scale=0.3), np.random.default_rng(2)
    params = {name: n(s["D"], s["D"]) for name in "qkvo"}
    inputs = (normals(1, 1.0)(s["B"], s["S"], s["D"]), normals(3, 1.0)(s["B"], s["S"], s["D"]))
    return (jax.value_and_grad(functools.partial(loss, heads=s["H"], modify=modify, **more)),
            (params, *inputs, mask_of(rng, s["B"], s["S"])))


def full():
    return _made(lambda scores, _: scores)


def masked():
    def some(rng, b, s):
        return rng.random((b, s, s)) < 0.7
    return _made(lambda scores, mask: jnp.where(mask[:, None], scores, -1e9), some)


def biased():
    def numbers(rng, b, s):
        return rng.standard_normal((b, s, s)).astype(np.float32)
    return _made(lambda scores, bias: scores + bias[:, None], numbers)


def padded():
    return _made(lambda scores, mask: jnp.where(mask[:, None, None], scores, -1e30), lambda rng, b, s: rng.random((b, s)) < 0.7)


def clipped():
    return _made(lambda scores, _: jnp.clip(scores, -2, 2))


def _cap(scores, _):
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jnp.where(seen, 1.5 * jnp.tanh(scores / 1.5), jnp.finfo(scores.dtype).min)


def capped():
    return _made(_cap)


def _drop(weights, seed, rate=0.3):
    key = jax.random.fold_in(jax.random.key(5), jnp.abs(seed.sum() * 100).astype(int))
    keep = jax.random.bernoulli(key, 1 - rate, (weights.shape[0], 1, *weights.shape[2:]))
    return weights * (jnp.asarray(keep, weights.dtype) / (1 - rate))


def _seeds(rng, b, _):
    return rng.standard_normal((b, 1)).astype(np.float32)


def dropped():
    return _made(lambda scores, _: scores, _seeds, drop=_drop)


def library():
    def of(params, x, y, mask):
        b, s, d = x.shape
        with jax.named_scope("attention"):
            q, k, v = ((x @ params[name]).reshape(b, s, 2, d // 2) for name in "qkv")
            out = jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(b, s, d)
        with jax.named_scope("head"):
            return ((out @ params["o"] - y) ** 2).mean()
    return jax.value_and_grad(of), _made(lambda scores, _: scores)[1]


def packed():
    def packed_loss(params, x, y, heads):
        b, s, d = x.shape
        with jax.named_scope("attention"):
            split = jnp.split(x @ params["qkv"] + params["bias"], 3, -1)
            q, k, v = (part.reshape(b, s, heads, d // heads) for part in split)
            scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (d // heads) ** -0.5
            out = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(b, s, d)
        with jax.named_scope("head"):
            return ((out @ params["o"] - y) ** 2).mean()
    s = sizes("STAGEWRIGHT_ATTENTION", D=24, H=2, S=40, B=2)
    n = normals(scale=0.3)
    params = {"qkv": n(s["D"], 3 * s["D"]), "bias": n(3 * s["D"]), "o": n(s["D"], s["D"])}
    return (jax.value_and_grad(functools.partial(packed_loss, heads=s["H"])),
            (params, normals(1, 1.0)(s["B"], s["S"], s["D"]), normals(3, 1.0)(s["B"], s["S"], s["D"])))


def _short(modify, mask_of=lambda rng, b, s: np.zeros((b, 1), np.float32), target=lambda forward, y: y, short=jnp.bfloat16,
           drop=lambda weights, _: weights):
    """Queries, keys and values in `short`, scores in float32. `target` makes the loss's target from the layer and y."""
    s = sizes("STAGEWRIGHT_ATTENTION", D=32, H=2, S=40, B=2)
    n, rng = normals(scale=0.3), np.random.default_rng(2)
    params = {name: n(s["D"], s["D"]) for name in "qkvo"}
    inputs = (normals(1, 1.0)(s["B"], s["S"], s["D"]), normals(3, 1.0)(s["B"], s["S"], s["D"]))

    def forward(params, x, mask):
        b, length, d = x.shape
        q, k, v = ((x.astype(short) @ params[name].astype(short)).reshape(b, length, s["H"], d // s["H"]) for name in "qkv")
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) * (d // s["H"]) ** -0.5
        weights = drop(jax.nn.softmax(modify(scores, mask), -1), mask).astype(short)
        return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(b, length, d)

    def loss(params, x, y, mask):
        with jax.named_scope("attention"):
            out = forward(params, x, mask)
        with jax.named_scope("head"):
            learned = target(lambda x: forward(params, x, mask), y)
            return ((out.astype(jnp.float32) @ params["o"] - learned) ** 2).mean()
    return jax.value_and_grad(loss), (params, *inputs, mask_of(rng, s["B"], s["S"]))


def masked_bfloat16():
    return _short(lambda scores, mask: jnp.where(mask[:, None], scores, -1e9), lambda rng, b, s: rng.random((b, s, s)) < 0.7)


def _some_see_none(rng, b, s):
    mask = rng.random((b, s, s)) < 0.7
    mask[:, ::3] = False
    return mask


def hidden():
    return _made(lambda scores, mask: jnp.where(mask[:, None], scores, -1e9), _some_see_none)


def hidden_near():
    return _made(lambda scores, mask: jnp.where(mask[:, None], scores, -1e4), _some_see_none)


def hidden_bfloat16():
    return _short(lambda scores, mask: jnp.where(mask[:, None], scores, -1e9), _some_see_none)


def hidden_near_bfloat16():
    return _short(lambda scores, mask: jnp.where(mask[:, None], scores, -1e4), _some_see_none)


def biased_bfloat16():
    return _short(lambda scores, bias: scores + bias[:, None],
                  lambda rng, b, s: rng.standard_normal((b, s, s)).astype(np.float32))


def _grouped(modify, mask_of, short=jnp.float32, shared=2, packed=False):
    s = sizes("STAGEWRIGHT_ATTENTION", D=32, H=4, S=40, B=2)
    n, rng, width = normals(scale=0.3), np.random.default_rng(2), s["D"] // s["H"]
    groups = s["H"] // shared
    names = {"qkv": shared + 2} if packed else {"q": shared, "k": 1, "v": 1}
    params = {name: n(s["D"], groups * heads * width) for name, heads in names.items()} | {"o": n(s["D"], s["D"])}

    def loss(params, x, y, mask):
        b, length, _ = x.shape
        with jax.named_scope("attention"):
            if packed:
                both = (x.astype(short) @ params["qkv"].astype(short)).reshape(b, length, groups, shared + 2, width)
                q, k, v = both[..., :shared, :], both[..., shared, :], both[..., shared + 1, :]
            else:
                q, k, v = ((x.astype(short) @ params[name].astype(short)).reshape(b, length, *heads, width)
                           for name, heads in (("q", (groups, shared)), ("k", (groups,)), ("v", (groups,))))
            scores = jnp.einsum("bqgrd,bkgd->bgrqk", q, k, preferred_element_type=jnp.float32) * width ** -0.5
            weights = jax.nn.softmax(modify(scores, mask), -1).astype(short)
            out = jnp.einsum("bgrqk,bkgd->bqgrd", weights, v).reshape(b, length, s["D"])
        with jax.named_scope("head"):
            return ((out.astype(jnp.float32) @ params["o"] - y) ** 2).mean()
    inputs = (normals(1, 1.0)(s["B"], s["S"], s["D"]), normals(3, 1.0)(s["B"], s["S"], s["D"]))
    return jax.value_and_grad(loss), (params, *inputs, mask_of(rng, groups, shared, s["S"]))


def grouped(short=jnp.float32):
    return _grouped(lambda scores, mask: jnp.where(mask, scores, -1e9),
                    lambda rng, groups, shared, s: (rng.random((groups, shared, s, s)) < 0.7) | np.eye(s, dtype=bool), short)


def grouped_bfloat16():
    return grouped(jnp.bfloat16)


def grouped_biased(short=jnp.float32):
    return _grouped(lambda scores, bias: scores + bias[:, None],
                    lambda rng, groups, shared, s: rng.standard_normal((groups, s, s)).astype(np.float32), short)


def grouped_biased_bfloat16():
    return grouped_biased(jnp.bfloat16)


def grouped_sliced(short=jnp.float32):
    return _grouped(lambda scores, bias: scores + bias[:, :2].reshape(scores.shape[1:]),
                    lambda rng, groups, shared, s: rng.standard_normal((groups, 3, s * s)).astype(np.float32), short)


def grouped_sliced_bfloat16():
    return grouped_sliced(jnp.bfloat16)


def grouped_packed(short=jnp.float32):
    return _grouped(lambda scores, _: scores, lambda rng, groups, shared, s: np.zeros((groups, 1), np.float32), short, packed=True)


def grouped_packed_bfloat16():
    return grouped_packed(jnp.bfloat16)


def padded_bfloat16():
    return _short(lambda scores, mask: jnp.where(mask[:, None, None], scores, -1e30), lambda rng, b, s: rng.random((b, s)) < 0.7)


def capped_bfloat16():
    return _short(_cap)


def capped_float16():
    return _short(_cap, short=jnp.float16)


def dropped_bfloat16():
    return _short(lambda scores, _: scores, _seeds, drop=_drop)


def taught_bfloat16(short=jnp.bfloat16):
    return _short(lambda scores, _: scores, short=short,
                  target=lambda forward, y: jax.lax.stop_gradient(forward(y)).astype(jnp.float32))


def taught():
    return taught_bfloat16(jnp.float32)
