"""An encoder-decoder transformer with cross attention: the encoder's output is read by every decoder layer.

STAGEWRIGHT_ENCODER_DECODER="V,D,H,N,M,S,T,B": vocabulary, width, heads, encoder layers, decoder layers, source and
target length, microbatch.
"""

import functools

import jax
import jax.numpy as jnp

from common import layer_norm, layer_norm_parameters, mean_token_loss, normals, sizes, tokens


def attention(p, x, memory, heads, causal):
    b, t, d = x.shape
    split = lambda a: a.reshape(b, -1, heads, d // heads)
    q, k, v = split(x @ p["q"]), split(memory @ p["k"]), split(memory @ p["v"])
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (d // heads) ** 0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(b, t, d) @ p["o"]


def perceptron(p, x):
    return jax.nn.relu(x @ p["up"]) @ p["down"]


def loss(params, source, target, next_target, heads):
    with jax.named_scope("embed_source"):
        memory = params["embed"][source] + params["source_positions"]
    for i, p in enumerate(params["encoder"]):
        with jax.named_scope(f"encoder{i}"):
            h = layer_norm(p["ln1"], memory)
            memory = memory + attention(p["self"], h, h, heads, causal=False)
            memory = memory + perceptron(p, layer_norm(p["ln2"], memory))
    with jax.named_scope("embed_target"):
        x = params["embed"][target] + params["target_positions"]
    for i, p in enumerate(params["decoder"]):
        with jax.named_scope(f"decoder{i}"):
            h = layer_norm(p["ln1"], x)
            x = x + attention(p["self"], h, h, heads, causal=True)
            x = x + attention(p["cross"], layer_norm(p["ln3"], x), memory, heads, causal=False)
            x = x + perceptron(p, layer_norm(p["ln2"], x))
    with jax.named_scope("head"):
        return mean_token_loss(layer_norm(params["lnf"], x) @ params["head"], next_target)


def encoder_decoder():
    s = sizes("STAGEWRIGHT_ENCODER_DECODER", V=64, D=32, H=4, N=2, M=2, S=12, T=16, B=2)
    n, d, norm = normals(scale=0.1), s["D"], layer_norm_parameters
    attend = lambda: dict(q=n(d, d), k=n(d, d), v=n(d, d), o=n(d, d))
    layer = lambda: dict(ln1=norm(d), ln2=norm(d), self=attend(), up=n(d, 4 * d), down=n(4 * d, d))
    params = dict(embed=n(s["V"], d), source_positions=n(s["S"], d), target_positions=n(s["T"], d), lnf=norm(d),
                  head=n(d, s["V"]), encoder=[layer() for _ in range(s["N"])],
                  decoder=[dict(layer(), cross=attend(), ln3=norm(d)) for _ in range(s["M"])])
    source, _ = tokens(s["V"], s["B"], s["S"], seed=3)
    return (jax.value_and_grad(functools.partial(loss, heads=s["H"])),
            (params, source, *tokens(s["V"], s["B"], s["T"])))
