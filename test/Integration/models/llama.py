"""A LLaMA-style model: RMSNorm, rotary positions, grouped-query attention, SwiGLU, no biases.

STAGEWRIGHT_LLAMA="V,D,H,G,F,L,T,B": vocabulary, width, heads, key-value heads, hidden width, layers, sequence,
microbatch.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

from common import mean_token_loss, normals, on_grid, ones, sizes, tokens


def rms_norm(gain, x):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * gain


def rotate(x):
    """Rotary embedding (Su et al., RoFormer) of [batch, sequence, heads, width], halves rotated against each other."""
    half = x.shape[-1] // 2
    frequency = 10000.0 ** (-jnp.arange(half) / half)
    angle = jnp.arange(x.shape[1])[:, None, None] * frequency
    a, b = x[..., :half], x[..., half:]
    turned = jnp.concatenate([a * jnp.cos(angle) - b * jnp.sin(angle), b * jnp.cos(angle) + a * jnp.sin(angle)], -1)
    return turned.astype(x.dtype)


def unconstrained(x, *_spec):
    return x


def attention(p, x, heads, groups, constrain):
    b, t, d = x.shape
    width = d // heads
    q = constrain((x @ p["q"]).reshape(b, t, heads, width), "data", None, "model")
    q = rotate(q).reshape(b, t, groups, heads // groups, width)
    k = rotate((x @ p["k"]).reshape(b, t, groups, width))
    v = (x @ p["v"]).reshape(b, t, groups, width)
    scores = jnp.einsum("bqghd,bkgd->bghqk", q, k) / width**0.5
    weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9), -1)
    return jnp.einsum("bghqk,bkgd->bqghd", weights, v).reshape(b, t, d) @ p["o"]


def block(p, x, heads, groups, constrain):
    with jax.named_scope("attn"):
        x = x + attention(p, rms_norm(p["norm1"], x), heads, groups, constrain)
        x = constrain(x, "data")
    with jax.named_scope("mlp"):
        h = rms_norm(p["norm2"], x)
        h = constrain(jax.nn.silu(h @ p["gate"]) * (h @ p["up"]), "data", None, "model")
        return constrain(x + h @ p["down"], "data")


def loss(params, ids, tgt, heads, groups, dtype, constrain):
    """Computed in `dtype` from float32 parameters; the loss is float32."""
    p = jax.tree.map(lambda a: a.astype(dtype), params)
    with jax.named_scope("embed"):
        x = p["embed"][ids]
    for i, layer in enumerate(p["layers"]):
        with jax.named_scope(f"layer{i}"):
            x = block(layer, x, heads, groups, constrain)
    with jax.named_scope("head"):
        return mean_token_loss((rms_norm(p["norm"], x) @ p["head"]).astype(jnp.float32), tgt)


def llama(dtype=jnp.float32, constrain=unconstrained):
    s = sizes("STAGEWRIGHT_LLAMA", V=128, D=64, H=4, G=2, F=160, L=2, T=32, B=2)
    n, d, kv = normals(scale=0.05), s["D"], s["D"] // s["H"] * s["G"]
    params = dict(embed=n(s["V"], d), norm=ones(d), head=n(d, s["V"]),
                  layers=[dict(norm1=ones(d), norm2=ones(d), q=n(d, d), k=n(d, kv), v=n(d, kv), o=n(d, d),
                               gate=n(d, s["F"]), up=n(d, s["F"]), down=n(s["F"], d)) for _ in range(s["L"])])
    return (jax.value_and_grad(functools.partial(loss, heads=s["H"], groups=s["G"], dtype=dtype, constrain=constrain)),
            (params, *tokens(s["V"], s["B"], s["T"])))


def llama_bfloat16():
    return llama(jnp.bfloat16)


def llama_constrained():
    """Values with `with_sharding_constraint` over the axis "model" of a mesh of one device; parameters without a sharding. The
    other axis is that of the batch."""
    mesh = jax.make_mesh((1, 1), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    function, (params, *batch) = llama(constrain=lambda x, *spec: jax.lax.with_sharding_constraint(
        x, jax.sharding.NamedSharding(mesh, jax.P(*spec))))
    return function, (params, *(jax.device_put(b, jax.sharding.NamedSharding(mesh, jax.P("data"))) for b in batch))


SPLITS = dict(q=1, k=1, v=1, o=0, gate=1, up=1, down=0)


def llama_sharded():
    """Parameters with the NamedShardings of Megatron-LM's split, over all devices of the process."""
    function, (params, *batch) = llama()
    mesh = jax.make_mesh((jax.device_count(),), ("model",), axis_types=(jax.sharding.AxisType.Auto,))

    def place(path, leaf):
        spec = [None] * leaf.ndim
        if (dim := SPLITS.get(path[-1].key)) is not None:
            spec[dim] = "model"
        return jax.device_put(leaf, jax.sharding.NamedSharding(mesh, jax.P(*spec)))
    return function, (jax.tree_util.tree_map_with_path(place, params), *batch)


GRID = dict(q=("y", "x"), k=("y", "x"), v=("y", "x"), o=("x", "y"), gate=(None, "x"), up=(None, "x"), down=("x",),
            head=(None, ("x", "y")), embed=(("x", "y"),))


def llama_on_grid():
    """Parameters with NamedShardings over a mesh of two axes: 2 x 2 devices if the process has four, else one."""
    function, (params, *batch) = llama()
    return function, (on_grid(params, 2 if jax.device_count() == 4 else 1, GRID), *batch)


def llama_exported():
    """The loss as jax.export exports it, with the shardings of llama_sharded in Shardy."""
    return exported_loss(*llama_sharded())


def llama_exported_on_grid():
    return exported_loss(*llama_on_grid())


def exported_loss(function, arguments):
    params, *batch = arguments
    shardings = jax.tree.map(lambda leaf: leaf.sharding, params), *(None for _ in batch)
    exported = export.export(jax.jit(function.__wrapped__, in_shardings=shardings))(params, *batch)
    return jax.value_and_grad(exported.call), (jax.tree.map(np.asarray, params), *batch)
