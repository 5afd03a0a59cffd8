"""Activations: elementwise functions and softmax."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from stagewright.onnx.registry import operator


@operator("Relu")
def relu(node, x):
    return jax.nn.relu(x)


@operator("LeakyRelu")
def leaky_relu(node, x):
    return jax.nn.leaky_relu(x, node.get("alpha", 0.01))


@operator("PRelu")
def parametric_relu(node, x, slope):
    return jnp.where(jnp.asarray(x) < 0, x * slope, x)


@operator("ThresholdedRelu")
def thresholded_relu(node, x):
    return jnp.where(x > node.get("alpha", 1.0), x, jnp.zeros_like(x))


@operator("Elu")
def elu(node, x):
    return jax.nn.elu(x, node.get("alpha", 1.0))


@operator("Celu")
def celu(node, x):
    return jax.nn.celu(x, node.get("alpha", 1.0))


@operator("Selu")
def selu(node, x):
    alpha, gamma = node.get("alpha", 1.67326319217681884765625), node.get("gamma", 1.05070102214813232421875)
    return gamma * jax.nn.elu(x, alpha)


@operator("Gelu")
def gelu(node, x):
    return jax.nn.gelu(x, approximate=node.get("approximate", "none") == "tanh")


@operator("Sigmoid")
def sigmoid(node, x):
    return jax.nn.sigmoid(x)


@operator("HardSigmoid")
def hard_sigmoid(node, x):
    return jnp.clip(node.get("alpha", 0.2) * x + node.get("beta", 0.5), 0, 1)


@operator("HardSwish")
def hard_swish(node, x):
    return x * (jax.nn.relu6(x + 3) * (1 / 6))


@operator("Swish")
def swish(node, x):
    alpha = node.get("alpha", 1.0)
    return x * jax.nn.sigmoid(x if alpha == 1 else alpha * x)


@operator("Mish")
def mish(node, x):
    return x * jnp.tanh(jax.nn.softplus(x))


@operator("Softplus")
def softplus(node, x):
    return jax.nn.softplus(x)


@operator("Softsign")
def softsign(node, x):
    return jax.nn.soft_sign(x)


@operator("Shrink")
def shrink(node, x):
    """Numbers within `lambd` of zero become zero; others move towards zero by `bias`."""
    bias, width = node.get("bias", 0.0), node.get("lambd", 0.5)
    shift = jnp.where(x < -width, bias, -bias)
    return jnp.where(jnp.abs(x) > width, x + shift, 0).astype(x.dtype)


@operator("Softmax")
def softmax(node, x):
    return jax.nn.softmax(x, node.get("axis", -1))


@operator("LogSoftmax")
def log_softmax(node, x):
    return jax.nn.log_softmax(x, node.get("axis", -1))


@operator("Hardmax")
def hardmax(node, x):
    axis = node.get("axis", -1)
    return jax.nn.one_hot(jnp.argmax(x, axis), x.shape[axis], dtype=x.dtype, axis=axis)
