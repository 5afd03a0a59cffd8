"""Models of Flax NNX: split into a graph and arrays, or differentiated by nnx.value_and_grad."""

import jax
import jax.numpy as jnp
import optax
from flax import nnx

from building import Draw, integers, mean_token_loss, to, tokens
from catalog import add, step


def built(module, dtype):
    """(graph definition, State of the parameters, State of the rest) of a module, with floating-point values of the type."""
    graph, params, rest = nnx.split(module(nnx.Rngs(0)), nnx.Param, ...)
    return graph, to(dtype, params), to(dtype, rest)


def classifier(module, *batch, classes=4):
    def make(dtype):
        graph, params, rest = built(module, dtype)

        def loss(params, x, label):
            return mean_token_loss(nnx.merge(graph, params, rest, copy=True)(x), label)
        return jax.value_and_grad(loss), (params, Draw(dtype)(*batch, scale=1.0), integers(classes, batch[0]))
    return make


IMAGE = (3, 8, 8, 3)
add("flax-nnx/mlp", classifier(lambda r: nnx.Sequential(nnx.Linear(8, 16, rngs=r), nnx.relu, nnx.Linear(16, 16, rngs=r), nnx.gelu,
                                                        nnx.Linear(16, 4, rngs=r)), 5, 8), sample=True)
add("flax-nnx/cnn", classifier(lambda r: nnx.Sequential(
    nnx.Conv(3, 8, (3, 3), rngs=r), nnx.relu, lambda x: nnx.max_pool(x, (2, 2), (2, 2)), nnx.Conv(8, 16, (3, 3), rngs=r), nnx.relu,
    lambda x: nnx.avg_pool(x, (2, 2), (2, 2)), lambda x: x.reshape(x.shape[0], -1), nnx.Linear(64, 4, rngs=r)), *IMAGE))
add("flax-nnx/norms", classifier(lambda r: nnx.Sequential(
    nnx.Linear(8, 16, rngs=r), nnx.LayerNorm(16, rngs=r), nnx.silu, nnx.RMSNorm(16, rngs=r), nnx.GroupNorm(16, 4, rngs=r),
    nnx.Linear(16, 4, rngs=r)), 5, 8))
add("flax-nnx/lora", classifier(lambda r: nnx.Sequential(
    nnx.LoRALinear(8, 16, lora_rank=2, rngs=r), nnx.relu, nnx.LoRALinear(16, 4, lora_rank=2, rngs=r)), 5, 8))
add("flax-nnx/conv-transpose-einsum", classifier(lambda r: nnx.Sequential(
    nnx.ConvTranspose(3, 4, (3, 3), strides=(2, 2), rngs=r), nnx.relu, nnx.Einsum("bhwc,cd->bhwd", (4, 4), rngs=r),
    lambda x: x.mean((1, 2))), *IMAGE))
add("flax-nnx/rnn-lstm", classifier(lambda r: nnx.Sequential(
    nnx.RNN(nnx.OptimizedLSTMCell(8, 16, rngs=r)), lambda x: x[:, -1], nnx.Linear(16, 4, rngs=r)), 3, 6, 8))
add("flax-nnx/rnn-gru", classifier(lambda r: nnx.Sequential(
    nnx.RNN(nnx.GRUCell(8, 16, rngs=r)), lambda x: x.mean(1), nnx.Linear(16, 4, rngs=r)), 3, 6, 8))


class Block(nnx.Module):
    def __init__(self, width, rngs, rate=0.0):
        self.n1, self.n2 = nnx.LayerNorm(width, rngs=rngs), nnx.LayerNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)
        self.up, self.down = nnx.Linear(width, 2 * width, rngs=rngs), nnx.Linear(2 * width, width, rngs=rngs)
        self.drop = nnx.Dropout(rate, rngs=rngs)

    def __call__(self, x, mask=None):
        x = x + self.attention(self.n1(x), mask=mask)
        return x + self.drop(self.down(nnx.gelu(self.up(self.n2(x)))))


class Transformer(nnx.Module):
    def __init__(self, rngs, rate=0.0, remat=False):
        self.embed = nnx.Embed(24, 32, rngs=rngs)
        self.position = nnx.Param(0.1 * jax.random.normal(rngs.params(), (8, 32)))
        self.blocks = nnx.List([Block(32, rngs, rate) for _ in range(2)])
        self.norm, self.remat = nnx.LayerNorm(32, rngs=rngs), remat

    def __call__(self, ids):
        x, mask = self.embed(ids) + self.position[...], nnx.make_causal_mask(ids)
        for block in self.blocks:
            x = nnx.remat(lambda b, x: b(x, mask))(block, x) if self.remat else block(x, mask)
        return self.embed.attend(self.norm(x))


def language_model(dtype, **about):
    graph, params, rest = built(lambda r: Transformer(r, **about), dtype)

    def loss(params, ids, targets):
        return mean_token_loss(nnx.merge(graph, params, rest, copy=True)(ids), targets)
    return jax.value_and_grad(loss), (params, *tokens(24, 2, 8))


step("flax-nnx/transformer", sample=True)(language_model)
step("flax-nnx/transformer-remat")(lambda dtype: language_model(dtype, remat=True))


class ResNet(nnx.Module):
    def __init__(self, rngs):
        self.stem, self.norm = nnx.Conv(3, 8, (3, 3), rngs=rngs), nnx.BatchNorm(8, rngs=rngs)
        self.convs = nnx.List([nnx.Conv(8, 8, (3, 3), use_bias=False, rngs=rngs) for _ in range(4)])
        self.norms = nnx.List([nnx.BatchNorm(8, rngs=rngs) for _ in range(4)])
        self.head = nnx.Linear(8, 4, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.norm(self.stem(x)))
        for i in (0, 2):
            h = nnx.relu(self.norms[i](self.convs[i](x)))
            x = nnx.relu(x + self.norms[i + 1](self.convs[i + 1](h)))
        return self.head(x.mean((1, 2)))


@step("flax-nnx/resnet-batch-stats")
def resnet(dtype):
    """The running statistics that the module changes are further results."""
    graph, params, rest = built(ResNet, dtype)

    def loss(params, rest, x, label):
        model = nnx.merge(graph, params, rest, copy=True)
        value = mean_token_loss(model(x), label)
        return value, nnx.state(model, nnx.BatchStat)
    return jax.value_and_grad(loss, has_aux=True), (params, rest, Draw(dtype)(*IMAGE, scale=1.0), integers(4, 3)), {
        "roles": {"rest": "constant"}}


@step("flax-nnx/value-and-grad")
def module_gradients(dtype):
    """nnx.value_and_grad of a module, as in Flax's guides, on the split state."""
    graph, params, rest = built(lambda r: nnx.Sequential(nnx.Linear(8, 16, rngs=r), nnx.tanh, nnx.Linear(16, 4, rngs=r)), dtype)

    def train(params, x, label):
        model = nnx.merge(graph, params, rest, copy=True)
        value, gradients = nnx.value_and_grad(lambda model: mean_token_loss(model(x), label))(model)
        return value, gradients
    return train, (params, Draw(dtype)(5, 8, scale=1.0), integers(4, 5))


@step("flax-nnx/value-and-grad-functional")
def functional(dtype):
    """nnx.value_and_grad of a function whose argument is the module itself."""
    model = nnx.Sequential(nnx.Linear(8, 16, rngs=nnx.Rngs(0)), nnx.tanh, nnx.Linear(16, 4, rngs=nnx.Rngs(1)))
    nnx.update(model, to(dtype, nnx.state(model)))

    def loss(model, x, label):
        return mean_token_loss(model(x), label)
    return nnx.value_and_grad(loss), (model, Draw(dtype)(5, 8, scale=1.0), integers(4, 5))


@step("flax-nnx/dropout-key")
def dropout(dtype):
    """The key of the dropout is an argument of the step."""
    graph, params, rest = built(lambda r: nnx.Sequential(nnx.Linear(8, 16, rngs=r), nnx.relu, nnx.Linear(16, 4, rngs=r)), dtype)

    def loss(params, x, label, key):
        model = nnx.merge(graph, params, rest, copy=True)
        drop = nnx.Dropout(0.3, deterministic=False)
        return mean_token_loss(model(drop(x, rngs=nnx.Rngs(dropout=key))), label)
    return jax.value_and_grad(loss), (params, Draw(dtype)(5, 8, scale=1.0), integers(4, 5), jax.random.key(2))


@step("flax-nnx/scan-over-layers")
def scanned(dtype):
    @nnx.split_rngs(splits=3)
    @nnx.vmap(in_axes=(0,), out_axes=0)
    def layers(rngs):
        return nnx.Linear(16, 16, rngs=rngs)
    graph, params, rest = built(layers, dtype)

    def loss(params, x, y):
        model = nnx.merge(graph, params, rest, copy=True)
        turn = nnx.scan(lambda x, layer: x + jnp.tanh(layer(x)), in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
        return ((turn(x, model) - y) ** 2).mean()
    n = Draw(dtype)
    return jax.value_and_grad(loss), (params, n(5, 16, scale=1.0), n(5, 16, scale=1.0))


@step("flax-nnx/optimizer-step", dtypes=("float32",), refused=r"update|optimizer|gradients", stages=("1", "2"))
def optimizer_step(dtype):
    """A train step over the split state of model and nnx.Optimizer."""
    model = nnx.Sequential(nnx.Linear(8, 16, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(16, 4, rngs=nnx.Rngs(1)))
    optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
    graph, state = nnx.split((model, optimizer))

    def train(state, x, label):
        model, optimizer = nnx.merge(graph, state, copy=True)
        value, gradients = nnx.value_and_grad(lambda m: mean_token_loss(m(x), label))(model)
        optimizer.update(model, gradients)
        return nnx.state((model, optimizer)), value
    return train, (to(dtype, state), Draw(dtype)(5, 8, scale=1.0), integers(4, 5))
