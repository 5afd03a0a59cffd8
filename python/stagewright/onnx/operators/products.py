"""Matrix products."""

from __future__ import annotations

import jax.numpy as jnp

from stagewright.onnx.registry import operator


@operator("MatMul")
def matmul(node, a, b):
    return jnp.matmul(a, b)


@operator("Gemm")
def gemm(node, a, b, c=None):
    alpha, beta = node.get("alpha", 1.0), node.get("beta", 1.0)
    a = jnp.transpose(a) if node.get("transA", 0) else a
    b = jnp.transpose(b) if node.get("transB", 0) else b
    result = jnp.matmul(a, b)
    result = result if alpha == 1 else result * alpha
    if c is None:
        return result
    return result + (c if beta == 1 else c * beta)


@operator("Einsum")
def einsum(node, *inputs):
    return jnp.einsum(node.get("equation"), *inputs)
