"""Steps with an optimizer of optax, for steps that train.

    gpt_adamw   the small GPT of eight layers: gradients clipped by their global norm, AdamW, its rate an argument
    gpt_adamw_wide  the same of the size of gpt
    gpt_adamw_100m  a hundred million parameters: 12 layers, width 768, sequence 256
    tied_adamw  the same with one matrix for embedding and output, which the first stage owns and the last reads
    slices_adamw  a small GPT with seven samples to share among replicas
    scan_adamw  a scan over stacked layers: rows of parameters, gradients and moments belong to the stages of their layers
    scan_lamb   the same by LAMB: norms of what was scaled by the norm of all
    mlp_sgd     the perceptron: momentum
"""

import numpy as np
import optax

import gpt
import mlp


def updating(optimizer):
    def update(parameters, gradients, state):
        changes, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, changes), state
    return update


def _adamw(made):
    step, arguments, *_ = made

    def optimizer(rate):
        return optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(rate, weight_decay=0.1))

    def update(parameters, gradients, state, rate):
        return updating(optimizer(rate))(parameters, gradients, state)

    return step, arguments, {"update": (update, optimizer(0.0).init(arguments[0]), np.float32(3e-3))}


def gpt_adamw():
    return _adamw(gpt.gpt_deep())


def gpt_adamw_wide():
    return _adamw(gpt.gpt())


def gpt_adamw_100m():
    return _adamw(gpt.gpt_100m())


def tied_adamw():
    return _adamw(gpt.gpt_deep_tied())


def slices_adamw():
    return _adamw(gpt.gpt_slices())


def scan_adamw():
    return _adamw(gpt.gpt_scan())


def scan_lamb():
    step, arguments, *_ = gpt.gpt_scan()
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.lamb(1e-2))
    return step, arguments, {"update": (updating(optimizer), optimizer.init(arguments[0]))}


def mlp_sgd():
    step, arguments, *_ = mlp.mlp()
    optimizer = optax.sgd(0.05, momentum=0.9)
    return step, arguments, {"update": (updating(optimizer), optimizer.init(arguments[0]))}
