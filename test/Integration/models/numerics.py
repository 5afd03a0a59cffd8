"""Training steps with random keys, schedules or mixed precision, as users write them in JAX and optax.

    dropout     dropout from a random key, into which the numbers of step and microbatch are folded; the validation loss
                has no dropout
    schedule    a learning rate that warms up and falls, inside the optimizer
    finite      updates that are not finite are skipped, by optax.apply_if_finite
    master      bfloat16 parameters and gradients, gradients summed over microbatches in float32, and float32 masters of the
                parameters in the optimizer's state
    cast        float32 parameters, cast to bfloat16 in each microbatch
    scaled      a scaled loss, so that small float16 gradients do not underflow: after an overflow the scale halves and the
                step changes nothing else; after every three good steps it doubles
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax

import gpt
from common import integers
from training import updating


def _small():
    return gpt.sizes("STAGEWRIGHT_GPT", **gpt.DEEP)


def _loss(function):
    return functools.partial(function, heads=_small()["H"])


def _arguments(*more):
    s = _small()
    ids, targets = (integers(s["V"], s["B"], s["T"], seed=seed) for seed in (1, 2))
    return gpt.parameters(**s), ids, targets, *more


def _updated(function, optimizer, arguments, **options):
    return jax.value_and_grad(function), arguments, {"update": (updating(optimizer), optimizer.init(arguments[0])), **options}


def dropout():
    def validation(parameters, ids, tgt, _key):
        return _loss(gpt.loss)(parameters, ids, tgt)
    return _updated(_loss(gpt.dropout_loss), optax.adamw(3e-3), _arguments(jax.random.PRNGKey(7)), validation=validation)


def schedule():
    rate = optax.warmup_cosine_decay_schedule(1e-4, 3e-3, 4, 12)
    return _updated(_loss(gpt.loss), optax.adamw(rate), _arguments())


def finite():
    def loss(parameters, ids, tgt):
        # A microbatch that begins with the last token of the vocabulary overflows.
        large = jnp.where(ids[0, 0] == 63, jnp.inf, 1.0)
        return _loss(gpt.loss)(parameters, ids, tgt) * large
    return _updated(loss, optax.apply_if_finite(optax.adamw(3e-3), 5), _arguments())


def _to(dtype, tree):
    return jax.tree.map(lambda leaf: leaf.astype(dtype), tree)


def master():
    optimizer = optax.adamw(3e-3)
    masters, *batch = _arguments()

    def step(parameters, ids, tgt):
        loss, gradients = jax.value_and_grad(_loss(gpt.bfloat16_loss))(parameters, ids, tgt)
        return loss, _to(jnp.float32, gradients)

    def update(parameters, gradients, state):
        changes, inner = optimizer.update(gradients, state["inner"], state["master"])
        made = optax.apply_updates(state["master"], changes)
        return _to(jnp.bfloat16, made), {"master": made, "inner": inner}

    state = {"master": masters, "inner": optimizer.init(masters)}
    return step, (_to(jnp.bfloat16, masters), *batch), {"update": (update, state)}


def cast():
    return _updated(_loss(gpt.bfloat16_loss), optax.adamw(3e-3), _arguments())


def scaled():
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(3e-3))
    parameters, ids, targets = _arguments()
    # Standard deviation 1, not 2e-2: the norm's gradient takes its inverse cube, 125000, which overflows in float16.
    parameters.update({name: parameters[name] * np.float32(50) for name in ("wte", "wpe")})

    def step(parameters, scale, ids, targets):
        def loss(parameters):
            half = _to(jnp.float16, parameters)
            return _loss(gpt.loss)(half, ids, targets).astype(jnp.float32) * scale
        value, gradients = jax.value_and_grad(loss)(parameters)
        return value / scale, gradients

    def update(parameters, gradients, state):
        gradients = jax.tree.map(lambda g: g / state["scale"], gradients)
        good = jnp.array([jnp.isfinite(g).all() for g in jax.tree.leaves(gradients)]).all()
        changes, inner = optimizer.update(gradients, state["inner"], parameters)
        made = optax.apply_updates(parameters, changes)
        inner, made = jax.tree.map(lambda new, old: jnp.where(good, new, old), (inner, made), (state["inner"], parameters))
        run = jnp.where(good, state["run"] + 1, 0)
        scale = jnp.where(good, jnp.where(run % 3 == 0, state["scale"] * 2, state["scale"]), state["scale"] / 2)
        return made, {"scale": scale, "run": run, "inner": inner}

    state = {"scale": np.float32(2.0 ** 18), "run": np.int32(0), "inner": optimizer.init(parameters)}
    return step, (parameters, state["scale"], ids, targets), {"update": (update, state), "roles": {"scale": "state"}}
