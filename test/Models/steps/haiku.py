"""Models of Haiku, transformed to functions of their parameters."""

import functools

import haiku as hk
import jax
import jax.numpy as jnp

from building import Draw, integers, mean_token_loss, to, tokens
from catalog import add, step


def classifier(forward, *batch, classes=4):
    """A maker: `forward(x)` makes modules; the batch has labels."""
    def make(dtype):
        net, n = hk.without_apply_rng(hk.transform(forward)), Draw(dtype)
        x = n(*batch, scale=1.0)
        params = to(dtype, jax.jit(net.init)(jax.random.key(0), x))

        def loss(params, x, label):
            return mean_token_loss(net.apply(params, x), label)
        return jax.value_and_grad(loss), (params, x, integers(classes, batch[0]))
    return make


def chain(*parts):
    """A forward function that makes and applies modules one after the other."""
    def forward(x):
        for part in parts:
            x = part()(x)
        return x
    return forward


def plain(function):
    return lambda: function


P, IMAGE = functools.partial, (3, 8, 8, 3)
add("haiku/mlp", classifier(chain(P(hk.nets.MLP, [16, 16, 4])), 5, 8))
add("haiku/cnn-max-pool", classifier(chain(P(hk.Conv2D, 8, 3), plain(jax.nn.relu), P(hk.MaxPool, 2, 2, "VALID"),
                                           P(hk.Conv2D, 8, 3), plain(jax.nn.relu), hk.Flatten, P(hk.Linear, 4)), *IMAGE))
add("haiku/cnn-avg-pool", classifier(chain(P(hk.Conv2D, 8, 3, stride=2), plain(jax.nn.gelu), P(hk.AvgPool, 2, 2, "SAME"),
                                           hk.Flatten, P(hk.Linear, 4)), *IMAGE))
add("haiku/layer-norm", classifier(chain(P(hk.Linear, 16), P(hk.LayerNorm, -1, True, True), plain(jnp.tanh), P(hk.Linear, 4)), 5, 8))
add("haiku/rms-norm", classifier(chain(P(hk.Linear, 16), P(hk.RMSNorm, -1), plain(jax.nn.silu), P(hk.Linear, 4)), 5, 8))
add("haiku/group-norm", classifier(chain(P(hk.Conv2D, 8, 3), P(hk.GroupNorm, 4), plain(jax.nn.relu),
                                         plain(lambda x: x.mean((1, 2))), P(hk.Linear, 4)), *IMAGE))
add("haiku/instance-norm", classifier(chain(P(hk.Conv2D, 8, 3), P(hk.InstanceNorm, True, True), plain(jax.nn.relu),
                                            plain(lambda x: x.max((1, 2))), P(hk.Linear, 4)), *IMAGE))
add("haiku/depthwise", classifier(chain(P(hk.DepthwiseConv2D, 2, 3), plain(jax.nn.relu), P(hk.SeparableDepthwiseConv2D, 1, 3),
                                        plain(lambda x: x.mean((1, 2))), P(hk.Linear, 4)), *IMAGE))
add("haiku/conv-transpose", classifier(chain(P(hk.Conv2D, 8, 3, stride=2), plain(jax.nn.relu), P(hk.Conv2DTranspose, 4, 3, stride=2),
                                             plain(lambda x: x.mean((1, 2)))), *IMAGE))
add("haiku/conv1d-dilated", classifier(chain(P(hk.Conv1D, 8, 3, rate=2, padding="VALID"), plain(jax.nn.elu),
                                             plain(lambda x: x.mean(1)), P(hk.Linear, 4)), 3, 12, 4))
add("haiku/conv3d", classifier(chain(P(hk.Conv3D, 4, 3), plain(jax.nn.relu), plain(lambda x: x.mean((1, 2, 3))), P(hk.Linear, 4)),
                               2, 4, 4, 4, 2))
for name, core in (("lstm", hk.LSTM), ("gru", hk.GRU), ("vanilla-rnn", hk.VanillaRNN)):
    def recurrent(x, core=core):
        cell = core(16)
        state = jax.tree.map(lambda s: s.astype(x.dtype), cell.initial_state(x.shape[0]))
        return hk.Linear(4)(hk.dynamic_unroll(cell, x.swapaxes(0, 1), state)[0][-1])
    add(f"haiku/{name}", classifier(recurrent, 3, 6, 8))
add("haiku/static-unroll-lstm", classifier(lambda x: hk.Linear(4)(hk.static_unroll(
    cell := hk.LSTM(16), x.swapaxes(0, 1), jax.tree.map(lambda s: s.astype(x.dtype), cell.initial_state(x.shape[0])))[0][-1]), 3, 5, 8))
add("haiku/highway-residual", classifier(lambda x: hk.Linear(4)(functools.reduce(
    lambda h, _: h + jax.nn.sigmoid(hk.Linear(8)(h)) * jnp.tanh(hk.Linear(8)(h)), range(3), x)), 5, 8))
add("haiku/bilinear", classifier(lambda x: hk.Linear(4)(jnp.tanh(hk.Linear(8)(x)) * hk.Linear(8, with_bias=False)(x)), 5, 8))


def attention_block(x, mask):
    h = hk.LayerNorm(-1, True, True)(x)
    x = x + hk.MultiHeadAttention(4, 8, w_init=hk.initializers.VarianceScaling(1.0), model_size=32)(h, h, h, mask=mask)
    return x + hk.Linear(32)(jax.nn.gelu(hk.Linear(64)(hk.LayerNorm(-1, True, True)(x))))


def transformer(ids, scan=False, remat=False):
    x = hk.Embed(24, 32)(ids) + hk.get_parameter("position", (8, 32), init=hk.initializers.RandomNormal(0.1))
    mask = jnp.tril(jnp.ones((1, 1, 8, 8), bool))
    if scan:
        x = hk.experimental.layer_stack(2)(lambda x: attention_block(x, mask))(x)
    else:
        for _ in range(2):
            x = (hk.remat(attention_block) if remat else attention_block)(x, mask)
    return hk.Linear(24)(hk.LayerNorm(-1, True, True)(x))


def language_model(dtype, **about):
    net = hk.without_apply_rng(hk.transform(functools.partial(transformer, **about)))
    ids, targets = tokens(24, 2, 8)
    params = to(dtype, jax.jit(net.init)(jax.random.key(0), ids))
    return jax.value_and_grad(lambda params, ids, targets: mean_token_loss(net.apply(params, ids), targets)), (params, ids, targets)


step("haiku/transformer")(language_model)
step("haiku/transformer-layer-stack")(lambda dtype: language_model(dtype, scan=True))
step("haiku/transformer-remat")(lambda dtype: language_model(dtype, remat=True))


def stateful(forward, dtype, *batch):
    """A classifier of four classes that also returns the state of its modules."""
    net, n = hk.without_apply_rng(hk.transform_with_state(forward)), Draw(dtype)
    x = n(*batch, scale=1.0)
    params, state = to(dtype, jax.jit(net.init)(jax.random.key(0), x))

    def loss(params, state, x, label):
        logits, state = net.apply(params, state, x)
        return mean_token_loss(logits, label), state
    label = integers(4, batch[0])
    return jax.value_and_grad(loss, has_aux=True), (params, state, x, label), {"roles": {"state": "constant"}}


@step("haiku/batch-norm-state")
def batch_norm(dtype):
    """The state of batch norm and of exponential averages is also returned."""
    def forward(x):
        x = hk.Conv2D(8, 3)(x)
        x = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(x, is_training=True))
        x = hk.Conv2D(8, 3)(x)
        x = jax.nn.relu(hk.BatchNorm(True, True, 0.9)(x, is_training=True))
        return hk.Linear(4)(x.mean((1, 2)))
    return stateful(forward, dtype, *IMAGE)


@step("haiku/dropout-key")
def dropout(dtype):
    def forward(x):
        x = jax.nn.relu(hk.Linear(16)(x))
        return hk.Linear(4)(hk.dropout(hk.next_rng_key(), 0.3, x))
    net, n = hk.transform(forward), Draw(dtype)
    x = n(5, 8, scale=1.0)

    def loss(params, key, x, label):
        return mean_token_loss(net.apply(params, key, x), label)
    return jax.value_and_grad(loss), (to(dtype, net.init(jax.random.key(0), x)), jax.random.PRNGKey(3), x, integers(4, 5))


@step("haiku/resnet", dtypes=("float32",))
def resnet(dtype):
    """The library's own ResNet, small, with the state of its batch norms. Its variance, a mean of squares less the square
    of the mean, is negative in bfloat16."""
    def forward(x):
        return hk.nets.ResNet((1, 1, 1, 1), 4, resnet_v2=True, bottleneck=False, channels_per_group=(8, 8, 16, 16),
                              use_projection=(False, True, True, True), initial_conv_config=dict(output_channels=8, kernel_shape=3, stride=1),
                              bn_config=dict(decay_rate=0.9))(x, is_training=True)
    return stateful(forward, dtype, 2, 16, 16, 3)


@step("haiku/vq-vae")
def vq_vae(dtype):
    """Vectors from a codebook, with the straight-through gradient."""
    def forward(x):
        z = hk.Linear(8)(jax.nn.relu(hk.Linear(16)(x)))
        codes = hk.get_parameter("codes", (10, 8), init=hk.initializers.RandomNormal(1.0), dtype=x.dtype)
        nearest = jnp.argmin(((z[:, None] - codes) ** 2).sum(-1), -1)
        chosen = codes[nearest]
        y = hk.Linear(8)(jax.nn.relu(hk.Linear(16)(z + jax.lax.stop_gradient(chosen - z))))
        return y, ((jax.lax.stop_gradient(z) - chosen) ** 2).mean() + 0.25 * ((z - jax.lax.stop_gradient(chosen)) ** 2).mean()
    net, n = hk.without_apply_rng(hk.transform(forward)), Draw(dtype)
    x = n(6, 8, scale=1.0)

    def loss(params, x):
        y, commitment = net.apply(params, x)
        return ((y - x) ** 2).mean() + commitment
    return jax.value_and_grad(loss), (to(dtype, net.init(jax.random.key(0), x)), x)
