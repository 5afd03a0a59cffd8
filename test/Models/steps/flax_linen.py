"""Models of Flax linen."""

import functools

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training import train_state

from building import Draw, integers, mean_token_loss, to, tokens
from catalog import add, step


def variables(module, dtype, *example, **more):
    """The module's variables in a type, as plain dictionaries of arrays."""
    made = jax.jit(functools.partial(module.init, **more))(jax.random.key(0), *example)
    return to(dtype, flax.core.unfreeze(made))


def classifier(module, *batch, classes=4, **more):
    """A maker: a module applied to a batch, and labels."""
    def make(dtype):
        n, net = Draw(dtype), module()
        x = n(*batch, scale=1.0)

        def loss(params, x, label):
            return mean_token_loss(net.apply({"params": params}, x, **more), label)
        return jax.value_and_grad(loss), (variables(net, dtype, x, **more)["params"], x, integers(classes, batch[0]))
    return make




def layers(*makers):
    """Layers made inside a compact method, as people write them."""
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            for maker in makers:
                x = maker()(x) if isinstance(maker, functools.partial) or isinstance(maker, type) else maker(x)
            return x
    return Net


P = functools.partial
IMAGE = (3, 8, 8, 3)
add("flax-linen/mlp", classifier(layers(P(nn.Dense, 16), nn.relu, P(nn.Dense, 16), nn.gelu, P(nn.Dense, 4)), 5, 8), sample=True)
add("flax-linen/cnn", classifier(layers(P(nn.Conv, 8, (3, 3)), nn.relu, lambda x: nn.max_pool(x, (2, 2), (2, 2)),
                                        P(nn.Conv, 16, (3, 3)), nn.relu, lambda x: nn.avg_pool(x, (2, 2), (2, 2)),
                                        lambda x: x.reshape(x.shape[0], -1), P(nn.Dense, 4)), *IMAGE), sample=True)
add("flax-linen/layer-norm", classifier(layers(P(nn.Dense, 16), nn.LayerNorm, nn.silu, P(nn.Dense, 4)), 5, 8))
add("flax-linen/group-norm", classifier(layers(P(nn.Conv, 8, (3, 3), (2, 2)), P(nn.GroupNorm, 4), nn.relu,
                                               lambda x: x.mean((1, 2)), P(nn.Dense, 4)), *IMAGE))
add("flax-linen/rms-instance-norm", classifier(layers(P(nn.Conv, 8, (3, 3)), nn.InstanceNorm, nn.RMSNorm, nn.elu,
                                                      lambda x: x.max((1, 2)), P(nn.Dense, 4)), *IMAGE))
add("flax-linen/weight-norm", classifier(layers(lambda x: nn.WeightNorm(nn.Dense(16))(x), nn.tanh, P(nn.Dense, 4)), 5, 8))
add("flax-linen/depthwise", classifier(layers(P(nn.Conv, 8, (1, 1)), P(nn.Conv, 8, (3, 3), feature_group_count=8), nn.relu6,
                                              P(nn.Conv, 8, (1, 1)), lambda x: x.mean((1, 2)), P(nn.Dense, 4)), *IMAGE))
add("flax-linen/conv-transpose", classifier(layers(P(nn.Conv, 8, (3, 3), (2, 2)), nn.relu, P(nn.ConvTranspose, 4, (3, 3), (2, 2)),
                                                   lambda x: x.mean((1, 2))), *IMAGE))
add("flax-linen/dense-general-einsum", classifier(layers(P(nn.DenseGeneral, (4, 6)), nn.relu, P(nn.Einsum, (4, 6, 5), "bhi,hio->bho"),
                                                         lambda x: x.reshape(x.shape[0], -1), P(nn.Dense, 4)), 5, 8))
add("flax-linen/conv-local-circular", classifier(layers(P(nn.ConvLocal, 4, (3,)), nn.relu, P(nn.Conv, 4, (3,), padding="CIRCULAR"),
                                                        lambda x: x.mean(1)), 3, 10, 4))
add("flax-linen/causal-conv-prelu", classifier(layers(P(nn.Conv, 8, (3,), padding="CAUSAL"), nn.PReLU, lambda x: x[:, -1],
                                                      P(nn.Dense, 4)), 3, 10, 4))
for name, cell in (("lstm", nn.OptimizedLSTMCell), ("gru", nn.GRUCell), ("simple", nn.SimpleCell), ("mgu", nn.MGUCell)):
    add(f"flax-linen/rnn-{name}", classifier(layers(lambda x, cell=cell: nn.RNN(cell(16))(x), lambda x: x[:, -1], P(nn.Dense, 4)), 3, 6, 8))
add("flax-linen/rnn-bidirectional", classifier(layers(lambda x: nn.Bidirectional(nn.RNN(nn.GRUCell(8)), nn.RNN(nn.GRUCell(8)))(x),
                                                      lambda x: x.mean(1), P(nn.Dense, 4)), 3, 6, 8))


class ResidualBlock(nn.Module):
    width: int
    stride: int = 1

    @nn.compact
    def __call__(self, x, train):
        norm = P(nn.BatchNorm, use_running_average=not train, momentum=0.9)
        h = nn.relu(norm()(nn.Conv(self.width, (3, 3), self.stride, use_bias=False)(x)))
        h = norm(scale_init=nn.initializers.ones)(nn.Conv(self.width, (3, 3), use_bias=False)(h))
        if x.shape != h.shape:
            x = norm()(nn.Conv(self.width, (1, 1), self.stride, use_bias=False)(x))
        return nn.relu(x + h)


class ResNet(nn.Module):
    block: type = ResidualBlock

    @nn.compact
    def __call__(self, x, train=True):
        x = nn.relu(nn.BatchNorm(use_running_average=not train)(nn.Conv(8, (3, 3))(x)))
        for i, width in enumerate((8, 16, 16)):
            x = self.block(width, 2 if i == 1 else 1)(x, train)
        return nn.Dense(10)(x.mean((1, 2)))


def batch_statistics(dtype, module=None):
    n, net = Draw(dtype), module or ResNet()
    x = n(*IMAGE, scale=1.0)
    made = variables(net, dtype, x)

    def loss(params, batch_stats, x, label):
        logits, updated = net.apply({"params": params, "batch_stats": batch_stats}, x, mutable=["batch_stats"])
        return mean_token_loss(logits, label), updated["batch_stats"]
    return jax.value_and_grad(loss, has_aux=True), (made["params"], made["batch_stats"], x, integers(10, 3)), {
        "roles": {"batch_stats": "constant"}}


step("flax-linen/resnet-batch-stats", sample=True)(batch_statistics)
step("flax-linen/resnet-remat")(lambda dtype: batch_statistics(dtype, ResNet(nn.remat(ResidualBlock, static_argnums=(2,)))))


@step("flax-linen/resnet-inference")
def resnet_inference(dtype):
    n, net = Draw(dtype), ResNet()
    x = n(*IMAGE, scale=1.0)

    def forward(variables, x):
        return net.apply(variables, x, train=False)
    return forward, (variables(net, dtype, x), x), {"roles": {"variables": "parameter"}}


class UNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        kept = []
        for width in (8, 16):
            x = nn.gelu(nn.GroupNorm(4)(nn.Conv(width, (3, 3))(x)))
            kept.append(x)
            x = nn.avg_pool(x, (2, 2), (2, 2))
        x = nn.gelu(nn.Conv(16, (3, 3))(x))
        for width in (16, 8):
            x = jax.image.resize(x, (x.shape[0], 2 * x.shape[1], 2 * x.shape[2], x.shape[3]), "nearest")
            x = nn.gelu(nn.Conv(width, (3, 3))(jnp.concatenate([x, kept.pop()], -1)))
        return nn.Conv(3, (1, 1))(x)


@step("flax-linen/unet")
def unet(dtype):
    n, net = Draw(dtype), UNet()
    x = n(2, 8, 8, 3, scale=1.0)

    def loss(params, x, target):
        return ((net.apply({"params": params}, x) - target) ** 2).mean()
    return jax.value_and_grad(loss), (variables(net, dtype, x)["params"], x, n(2, 8, 8, 3, scale=1.0))


class Block(nn.Module):
    rate: float = 0.0

    @nn.compact
    def __call__(self, x, mask=None):
        h = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(4, dropout_rate=self.rate, deterministic=not self.rate)(h, mask=mask)
        h = nn.Dense(32)(nn.gelu(nn.Dense(64)(nn.LayerNorm()(x))))
        return x + nn.Dropout(self.rate, deterministic=not self.rate)(h)


class Transformer(nn.Module):
    block: type = Block
    rate: float = 0.0
    tied: bool = False

    @nn.compact
    def __call__(self, ids):
        embed = nn.Embed(24, 32)
        x = embed(ids) + self.param("position", nn.initializers.normal(0.1), (8, 32))
        for i in range(2):
            x = self.block(self.rate, name=f"block_{i}")(x, nn.make_causal_mask(ids))
        x = nn.LayerNorm()(x)
        return embed.attend(x) if self.tied else nn.Dense(24)(x)


def language_model(dtype, **about):
    net, (ids, targets) = Transformer(**about), tokens(24, 2, 8)
    params = variables(net, dtype, ids)["params"] if not about.get("rate") else to(dtype, net.init(
        {"params": jax.random.key(0), "dropout": jax.random.key(1)}, ids)["params"])

    def loss(params, ids, targets, *key):
        rngs = {"rngs": {"dropout": key[0]}} if key else {}
        return mean_token_loss(net.apply({"params": params}, ids, **rngs), targets)
    return jax.value_and_grad(loss), (params, ids, targets, *([jax.random.key(5)] if about.get("rate") else []))


step("flax-linen/transformer", sample=True)(language_model)
step("flax-linen/transformer-tied")(lambda dtype: language_model(dtype, tied=True))
step("flax-linen/transformer-dropout")(lambda dtype: language_model(dtype, rate=0.2))
step("flax-linen/transformer-remat")(lambda dtype: language_model(dtype, block=nn.remat(Block)))


@step("flax-linen/scan-over-layers")
def scanned(dtype):
    class Turn(nn.Module):
        @nn.compact
        def __call__(self, x, _):
            types = dict(dtype=dtype, param_dtype=dtype)  # the carry of a scan must keep its type
            return x + nn.Dense(16, **types)(nn.tanh(nn.LayerNorm(**types)(x))), None

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            x, _ = nn.scan(Turn, variable_axes={"params": 0}, split_rngs={"params": True}, length=3)()(x, None)
            return nn.Dense(4)(x)
    return classifier(Net, 5, 16)(dtype)


@step("flax-linen/vmap-ensemble")
def ensemble(dtype):
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            wide = nn.vmap(nn.Dense, in_axes=None, out_axes=1, axis_size=3, variable_axes={"params": 0}, split_rngs={"params": True})
            return nn.Dense(4)(nn.relu(wide(16)(x)).mean(1))
    return classifier(Net, 5, 8)(dtype)


@step("flax-linen/mixed-precision", dtypes=("bfloat16",))
def mixed(dtype):
    """Parameters in float32, computation in the short type by the modules' own `dtype`."""
    wide, n = jnp.promote_types(dtype, jnp.float32), Draw(jnp.promote_types(dtype, jnp.float32))
    net = nn.Sequential([nn.Dense(16, dtype=dtype), nn.relu, nn.LayerNorm(dtype=dtype), nn.Dense(4, dtype=dtype)])
    x = n(5, 8, scale=1.0)

    def loss(params, x, label):
        return mean_token_loss(net.apply({"params": params}, x).astype(wide), label)
    return jax.value_and_grad(loss), (variables(net, wide, x)["params"], x, integers(4, 5))


@step("flax-linen/sown-intermediates")
def sown(dtype):
    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            h = nn.relu(nn.Dense(16)(x))
            self.sow("losses", "norm", 0.01 * (h ** 2).mean())
            return nn.Dense(4)(h)
    n, net = Draw(dtype), Net()
    x = n(5, 8, scale=1.0)

    def loss(params, x, label):
        logits, more = net.apply({"params": params}, x, mutable=["losses"])
        return mean_token_loss(logits, label) + sum(jax.tree.leaves(more["losses"]))
    return jax.value_and_grad(loss), (variables(net, dtype, x)["params"], x, integers(4, 5))


@step("flax-linen/train-state", dtypes=("float32",), stages=("1", "2"))
def state_step(dtype):
    """train_step(state, batch) -> state, loss, as in Flax's own examples."""
    net, n = nn.Sequential([nn.Dense(16), nn.relu, nn.Dense(4)]), Draw(dtype)
    x = n(5, 8, scale=1.0)
    state = train_state.TrainState.create(apply_fn=net.apply, params=variables(net, dtype, x)["params"], tx=optax.adam(1e-2))

    @jax.jit
    def train_step(state, x, label):
        def loss(params):
            return mean_token_loss(state.apply_fn({"params": params}, x), label)
        value, gradients = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradients), value
    return train_step, (state, x, integers(4, 5))


@step("flax-linen/train-state-update", dtypes=("float32",), sample=True)
def state_update(dtype):
    """The same as a step with an update."""
    net, n, optimizer = nn.Sequential([nn.Dense(16), nn.relu, nn.Dense(4)]), Draw(dtype), optax.adam(1e-2)
    x = n(5, 8, scale=1.0)
    params = variables(net, dtype, x)["params"]

    def loss(params, x, label):
        return mean_token_loss(net.apply({"params": params}, x), label)

    def update(params, gradients, state):
        changes, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, changes), state
    return jax.value_and_grad(loss), (params, x, integers(4, 5)), {"update": (update, optimizer.init(params))}
