"""Models of Equinox: modules are trees of parameters, differentiated by eqx.filter_value_and_grad."""

import equinox as eqx
import jax
import jax.numpy as jnp

from building import Draw, integers, mean_token_loss, to, tokens
from catalog import add, step

KEYS = list(jax.random.split(jax.random.key(0), 32))


def classifier(make, *batch, classes=4, key=False):
    """A maker: a module of one example, mapped over the batch, and labels."""
    def build(dtype):
        model = to(dtype, make())
        arrays, rest = eqx.partition(model, eqx.is_inexact_array)

        def loss(arrays, x, label):
            model = eqx.combine(arrays, rest)
            return mean_token_loss(jax.vmap(model)(x), label)
        n = Draw(dtype)
        return jax.value_and_grad(loss), (arrays, n(*batch, scale=1.0), integers(classes, batch[0]))
    return build


def sequential(*layers):
    return eqx.nn.Sequential([layer if isinstance(layer, eqx.Module) else eqx.nn.Lambda(layer) for layer in layers])


class Residual(eqx.Module):
    inner: eqx.Module

    def __call__(self, x, key=None):
        return x + self.inner(x)


def vision(conv, pool, norm=None):
    """A small convolution net for 3 x 8 x 8 pictures."""
    def make():
        return sequential(conv(3, 8, 3, padding=1, key=KEYS[0]), *([norm(8)] if norm else []), jax.nn.relu, pool,
                          conv(8, 8, 3, padding=1, key=KEYS[1]), jax.nn.relu, lambda x: x.mean((1, 2)),
                          eqx.nn.Linear(8, 4, key=KEYS[2]))
    return classifier(make, 3, 3, 8, 8)


add("equinox/mlp", classifier(lambda: eqx.nn.MLP(8, 4, 16, 3, jax.nn.gelu, key=KEYS[0]), 5, 8), sample=True)
add("equinox/conv-max-pool", vision(eqx.nn.Conv2d, eqx.nn.MaxPool2d(2, 2)), sample=True)
add("equinox/conv-avg-pool-group-norm", vision(eqx.nn.Conv2d, eqx.nn.AvgPool2d(2, 2), lambda c: eqx.nn.GroupNorm(4, c)))
add("equinox/conv-adaptive-pool", vision(eqx.nn.Conv2d, eqx.nn.AdaptiveAvgPool2d(3)))
add("equinox/layer-norm-residual", classifier(lambda: sequential(*[Residual(sequential(
    eqx.nn.LayerNorm(16), eqx.nn.Linear(16, 16, key=KEYS[i]), jax.nn.silu)) for i in range(3)], eqx.nn.Linear(16, 4, key=KEYS[9])), 5, 16))
add("equinox/rms-norm-prelu", classifier(lambda: sequential(
    eqx.nn.RMSNorm(16), eqx.nn.Linear(16, 16, key=KEYS[0]), lambda x: eqx.nn.PReLU()(x), eqx.nn.Linear(16, 4, key=KEYS[1])), 5, 16))
add("equinox/weight-norm", classifier(lambda: sequential(
    eqx.nn.WeightNorm(eqx.nn.Linear(8, 16, key=KEYS[0])), jnp.tanh, eqx.nn.Linear(16, 4, key=KEYS[1])), 5, 8))
add("equinox/conv-transpose-1d", classifier(lambda: sequential(
    eqx.nn.Conv1d(4, 8, 3, 2, 1, key=KEYS[0]), jax.nn.relu, eqx.nn.ConvTranspose1d(8, 4, 4, 2, 1, key=KEYS[1]), lambda x: x.mean(1)), 3, 4, 10))
add("equinox/depthwise-separable", classifier(lambda: sequential(
    eqx.nn.Conv2d(4, 8, 3, padding=1, groups=4, key=KEYS[0]), jax.nn.relu, eqx.nn.Conv2d(8, 4, 1, key=KEYS[1]), lambda x: x.max((1, 2))), 3, 4, 6, 6))


class Recurrent(eqx.Module):
    cell: eqx.Module
    head: eqx.nn.Linear
    lstm: bool = eqx.field(static=True)

    def __call__(self, x):
        zeros = jnp.zeros(16, x.dtype)
        state, _ = jax.lax.scan(lambda s, u: (self.cell(u, s), None), (zeros, zeros) if self.lstm else zeros, x)
        return self.head(state[0] if self.lstm else state)


add("equinox/gru", classifier(lambda: Recurrent(eqx.nn.GRUCell(8, 16, key=KEYS[0]), eqx.nn.Linear(16, 4, key=KEYS[1]), False), 3, 6, 8))
add("equinox/lstm", classifier(lambda: Recurrent(eqx.nn.LSTMCell(8, 16, key=KEYS[0]), eqx.nn.Linear(16, 4, key=KEYS[1]), True), 3, 6, 8))


class Block(eqx.Module):
    attention: eqx.nn.MultiheadAttention
    n1: eqx.nn.LayerNorm
    n2: eqx.nn.LayerNorm
    mlp: eqx.nn.MLP
    rope: eqx.nn.RotaryPositionalEmbedding

    def __init__(self, key, rope):
        a, b = jax.random.split(key)
        self.attention = eqx.nn.MultiheadAttention(4, 32, key=a)
        self.n1, self.n2 = eqx.nn.LayerNorm(32), eqx.nn.LayerNorm(32)
        self.mlp = eqx.nn.MLP(32, 32, 64, 1, jax.nn.gelu, key=b)
        self.rope = eqx.nn.RotaryPositionalEmbedding(8) if rope else None

    def heads(self, q, k, v):
        turned = jax.vmap(self.rope, 1, 1)
        return turned(q), turned(k), v

    def __call__(self, x, mask):
        h = jax.vmap(self.n1)(x)
        x = x + self.attention(h, h, h, mask=mask, process_heads=self.heads if self.rope else None)
        return x + jax.vmap(self.mlp)(jax.vmap(self.n2)(x))


class Transformer(eqx.Module):
    embed: eqx.nn.Embedding
    blocks: list
    head: eqx.nn.Linear

    def __init__(self, rope=False):
        self.embed = eqx.nn.Embedding(24, 32, key=KEYS[0])
        self.blocks = [Block(KEYS[i], rope) for i in (1, 2)]
        self.head = eqx.nn.Linear(32, 24, key=KEYS[3])

    def __call__(self, ids):
        x, mask = jax.vmap(self.embed)(ids), jnp.tril(jnp.ones((8, 8), bool))
        for block in self.blocks:
            x = block(x, mask)
        return jax.vmap(self.head)(x)


def language_model(dtype, **about):
    arrays, rest = eqx.partition(to(dtype, Transformer(**about)), eqx.is_inexact_array)

    def loss(arrays, ids, targets):
        return mean_token_loss(jax.vmap(eqx.combine(arrays, rest))(ids), targets)
    return jax.value_and_grad(loss), (arrays, *tokens(24, 2, 8))


step("equinox/transformer", sample=True)(language_model)
step("equinox/transformer-rope")(lambda dtype: language_model(dtype, rope=True))


@step("equinox/filter-value-and-grad")
def filtered(dtype):
    """The whole module is an argument; its activation is not an array."""
    def loss(model, x, y):
        return ((jax.vmap(model)(x) - y) ** 2).mean()
    n = Draw(dtype)
    model = to(dtype, eqx.nn.MLP(8, 4, 16, 2, key=KEYS[0], activation=jnp.tanh))
    return eqx.filter_value_and_grad(loss), (model, n(5, 8, scale=1.0), n(5, 4, scale=1.0))


@step("equinox/batch-norm-state")
def batch_norm(dtype):
    """Running statistics are a state that the step returns besides the loss."""
    class Net(eqx.Module):
        a: eqx.nn.Linear
        norm: eqx.nn.BatchNorm
        b: eqx.nn.Linear

        def __call__(self, x, state):
            h, state = self.norm(self.a(x), state)
            return self.b(jax.nn.relu(h)), state
    model, state = eqx.nn.make_with_state(lambda: Net(eqx.nn.Linear(8, 16, key=KEYS[0]), eqx.nn.BatchNorm(
        16, "batch", mode="batch"), eqx.nn.Linear(16, 4, key=KEYS[1])))()
    arrays, rest = eqx.partition(to(dtype, model), eqx.is_inexact_array)
    held, state_tree = jax.tree.flatten(to(dtype, state))

    def loss(arrays, x, label, held):
        state = jax.tree.unflatten(state_tree, held)
        y, state = jax.vmap(eqx.combine(arrays, rest), axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)
        return mean_token_loss(y, label), jax.tree.leaves(state)
    return jax.value_and_grad(loss, has_aux=True), (arrays, Draw(dtype)(5, 8, scale=1.0), integers(4, 5), held), {
        "roles": {"held": "constant"}}


@step("equinox/dropout-inference-free")
def dropout(dtype):
    arrays, rest = eqx.partition(to(dtype, eqx.nn.Sequential([eqx.nn.Linear(8, 16, key=KEYS[0]), eqx.nn.Dropout(0.3),
                                                              eqx.nn.Linear(16, 4, key=KEYS[1])])), eqx.is_inexact_array)

    def loss(arrays, x, label, key):
        model = eqx.combine(arrays, rest)
        return mean_token_loss(jax.vmap(model)(x, key=jax.random.split(key, x.shape[0])), label)
    return jax.value_and_grad(loss), (arrays, Draw(dtype)(5, 8, scale=1.0), integers(4, 5), jax.random.key(1))


@step("equinox/scan-over-layers")
def scan(dtype):
    """Layers made by filter_vmap, run by a scan over their stacked arrays."""
    layers = to(dtype, eqx.filter_vmap(lambda key: eqx.nn.Linear(16, 16, key=key))(jax.random.split(KEYS[0], 4)))
    arrays, rest = eqx.partition(layers, eqx.is_inexact_array)

    def loss(arrays, x):
        def turn(x, part):
            return x + jnp.tanh(jax.vmap(eqx.combine(part, rest))(x)), None
        return (jax.lax.scan(turn, x, arrays)[0] ** 2).mean()
    return jax.value_and_grad(loss), (arrays, Draw(dtype)(5, 16, scale=1.0))
