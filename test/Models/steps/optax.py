"""Losses of optax as steps, its optimizers as updates of a small net, and train steps that return their state."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from building import Draw, dense, integers
from catalog import add, step


def net(p, x):
    with jax.named_scope("hidden"):
        h = jnp.tanh(dense(p["a"], x))
    with jax.named_scope("out"):
        return dense(p["b"], h)


def parameters(n, out=6):
    return dict(a=n.dense(8, 16), b=n.dense(16, out))


def positive(y):
    return jax.nn.softmax(y)


LOSSES = {  # functions of (outputs, labels, float targets)
    "softmax-integer": lambda y, i, t: optax.losses.softmax_cross_entropy_with_integer_labels(y, i),
    "softmax": lambda y, i, t: optax.losses.softmax_cross_entropy(y, jax.nn.softmax(t)),
    "softmax-smoothed": lambda y, i, t: optax.losses.softmax_cross_entropy(
        y, optax.losses.smooth_labels(jax.nn.one_hot(i, 6, dtype=y.dtype), 0.1)),
    "safe-softmax": lambda y, i, t: optax.losses.safe_softmax_cross_entropy(y, jax.nn.softmax(t)),
    "sigmoid": lambda y, i, t: optax.losses.sigmoid_binary_cross_entropy(y, (t > 0).astype(y.dtype)),
    "sigmoid-focal": lambda y, i, t: optax.losses.sigmoid_focal_loss(y, (t > 0).astype(y.dtype), alpha=0.3, gamma=2.0),
    "hinge": lambda y, i, t: optax.losses.hinge_loss(y, jnp.sign(t)),
    "multiclass-hinge": lambda y, i, t: optax.losses.multiclass_hinge_loss(y, i),
    "perceptron": lambda y, i, t: optax.losses.perceptron_loss(y, jnp.sign(t)) + optax.losses.multiclass_perceptron_loss(y, i)[:, None],
    "poly": lambda y, i, t: optax.losses.poly_loss_cross_entropy(y, jax.nn.one_hot(i, 6, dtype=y.dtype)),
    "squared": lambda y, i, t: optax.losses.squared_error(y, t) + optax.losses.l2_loss(y, t),
    "log-cosh": lambda y, i, t: optax.losses.log_cosh(y, t),
    "huber": lambda y, i, t: optax.losses.huber_loss(y, t, delta=0.5),
    "absolute": lambda y, i, t: jnp.abs(y - t) + optax.losses.squared_error(y),
    "cosine": lambda y, i, t: optax.losses.cosine_distance(y, t, epsilon=1e-4) + optax.losses.cosine_similarity(y, t, epsilon=1e-4),
    "kl": lambda y, i, t: optax.losses.kl_divergence(jax.nn.log_softmax(y), jax.nn.softmax(t)),
    "kl-log-targets": lambda y, i, t: optax.losses.kl_divergence_with_log_targets(jax.nn.log_softmax(y), jax.nn.log_softmax(t)),
    "convex-kl": lambda y, i, t: optax.losses.convex_kl_divergence(jax.nn.log_softmax(y), jax.nn.softmax(t)),
    "js": lambda y, i, t: optax.losses.kl_divergence(jax.nn.log_softmax(y), (positive(y) + positive(t)) / 2),
    "ntxent": lambda y, i, t: optax.losses.ntxent(y, jnp.array([0, 0, 1, 1, 2])),
    "ctc": lambda y, i, t: optax.losses.ctc_loss(
        jnp.broadcast_to(y[:, None], (5, 4, 6)) * jnp.arange(1, 5)[None, :, None].astype(y.dtype), jnp.zeros((5, 4), y.dtype),
        jnp.stack([1 + i % 5, 1 + (i + 2) % 5], 1), jnp.zeros((5, 2), y.dtype)),
    "triplet": lambda y, i, t: optax.losses.triplet_margin_loss(y, t, y[::-1]),
    "ranking": lambda y, i, t: optax.losses.ranking_softmax_loss(y, t),
    "sparsemax": lambda y, i, t: optax.losses.sparsemax_loss(y, (t > 0).astype(y.dtype)),
    "multiclass-logistic": lambda y, i, t: optax.losses.multiclass_sparsemax_loss(y, i),
    "dice": lambda y, i, t: optax.losses.dice_loss(jax.nn.sigmoid(y), (t > 0).astype(y.dtype)),
}


def with_loss(function):
    def make(dtype):
        n = Draw(dtype)

        def loss(p, x, labels, targets):
            return jnp.mean(function(net(p, x), labels, targets))
        return jax.value_and_grad(loss), (parameters(n), n(5, 8, scale=1.0), integers(6, 5), n(5, 6, scale=1.0))
    return make


for name, function in LOSSES.items():
    only = dict(dtypes=("float32",)) if name == "multiclass-logistic" else {}  # its custom derivative needs it
    add(f"optax/loss-{name}", with_loss(function), sample=name in ("softmax-integer", "huber", "kl"), **only)

OPTIMIZERS = {
    "sgd-momentum": lambda: optax.sgd(0.1, 0.9, nesterov=True),
    "adamw-clipped": lambda: optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(1e-2)),
    "adam-schedule": lambda: optax.adam(optax.warmup_cosine_decay_schedule(1e-3, 1e-2, 3, 10)),
    "lion": lambda: optax.lion(1e-3),
    "lamb": lambda: optax.lamb(1e-2),
    "adafactor": lambda: optax.adafactor(1e-2, min_dim_size_to_factor=8),
    "rmsprop": lambda: optax.rmsprop(1e-2, momentum=0.5),
    "adagrad-clip": lambda: optax.chain(optax.adaptive_grad_clip(0.1), optax.adagrad(1e-2)),
    "novograd": lambda: optax.novograd(1e-2),
    "radam": lambda: optax.radam(1e-2),
    "multi-transform": lambda: optax.multi_transform(
        {"a": optax.adam(1e-2), "b": optax.sgd(1e-1)}, lambda p: {"a": jax.tree.map(lambda _: "a", p["a"]),
                                                                  "b": jax.tree.map(lambda _: "b", p["b"])}),
    "lookahead-free-ema": lambda: optax.chain(optax.scale_by_adam(), optax.ema(0.9), optax.scale(-1e-2)),
}


def with_optimizer(make_optimizer):
    def make(dtype):
        n, optimizer = Draw(dtype), make_optimizer()
        p = parameters(n)

        def update(p, gradients, state):
            changes, state = optimizer.update(gradients, state, p)
            return optax.apply_updates(p, changes), state

        def loss(p, x, labels):
            return optax.softmax_cross_entropy_with_integer_labels(net(p, x), labels).mean()
        return jax.value_and_grad(loss), (p, n(5, 8, scale=1.0), integers(6, 5)), {"update": (update, optimizer.init(p))}
    return make


for name, optimizer in OPTIMIZERS.items():
    add(f"optax/update-{name}", with_optimizer(optimizer), dtypes=("float32",), sample=name in ("adamw-clipped", "sgd-momentum"))


def train_step(dtype, **jit):
    """A train step that takes its state, and returns the next state and the loss."""
    n, optimizer = Draw(dtype), optax.adamw(1e-2)
    p = parameters(n)

    def train(state, x, labels):
        def loss(p):
            return optax.softmax_cross_entropy_with_integer_labels(net(p, x), labels).mean()
        value, gradients = jax.value_and_grad(loss)(state["params"])
        changes, opt = optimizer.update(gradients, state["opt"], state["params"])
        return dict(params=optax.apply_updates(state["params"], changes), opt=opt, step=state["step"] + 1), value
    state = dict(params=p, opt=optimizer.init(p), step=np.int32(0))
    return jax.jit(train, **jit) if jit else train, (state, n(5, 8, scale=1.0), integers(6, 5))


WAY_OUT = r"update|optimizer|gradients"
step("optax/train-step", dtypes=("float32",), refused=WAY_OUT, stages=("1", "2"))(train_step)
step("optax/train-step-donated", dtypes=("float32",), refused=WAY_OUT, stages=("1", "2"))(
    lambda dtype: train_step(dtype, donate_argnums=(0,)))


@step("optax/donated-gradients", sample=True)
def donated(dtype):
    """A jitted step with donated arguments that returns loss and gradients."""
    n = Draw(dtype)

    def loss(p, x, labels):
        return optax.softmax_cross_entropy_with_integer_labels(net(p, x), labels).mean()
    # Donation does not delete the caller's arguments: numpy arrays are copied at the call.
    return jax.jit(jax.value_and_grad(loss), donate_argnums=(1,)), (parameters(n), n(5, 8, scale=1.0), integers(6, 5))
