"""Steps with an optimizer of optax, for steps that train.

    gpt_adamw   the small GPT of eight layers: gradients clipped by their global norm, AdamW, its rate an argument
    mlp_sgd     the perceptron: momentum
"""

import jax
import jax.numpy as jnp
import numpy as np
import optax

import gpt
import mlp


def updating(optimizer):
    def update(parameters, gradients, state):
        changes, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, changes), state
    return update


def gpt_adamw():
    step, arguments, *_ = gpt.gpt_deep()

    def update(parameters, gradients, state, rate):
        optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(rate, weight_decay=0.1))
        changes, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, changes), state

    state = optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(0.0)).init(arguments[0])
    return step, arguments, {"update": (update, state, np.float32(3e-3))}


def mlp_sgd():
    step, arguments, *_ = mlp.mlp()
    optimizer = optax.sgd(0.05, momentum=0.9)
    return step, arguments, {"update": (updating(optimizer), optimizer.init(arguments[0]))}
