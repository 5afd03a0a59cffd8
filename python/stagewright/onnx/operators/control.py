"""Control flow known at import: the branch to take, loops to unroll."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from stagewright.onnx.registry import is_known, operator

UNROLL_LIMIT = 4096  # iterations, as in stagewright.frontend.evaluate


def _branch(node, graph, inputs):
    """The outputs of a subgraph of a node; it can also read outer values."""
    names = [value.name for value in graph.input]
    return node.evaluation.run(graph, {**node.values, **dict(zip(names, inputs))})


@operator("If")
def if_then_else(node, condition):
    if not is_known(condition):
        raise node.failure("its condition depends on the step's arguments; export the model with that branch fixed, or "
                           "with Where")
    return tuple(_branch(node, node.get("then_branch" if condition.reshape(()) else "else_branch"), []))


@operator("Loop", static=(0,))
def loop(node, limit=None, condition=None, *carried):
    """Unrolled. The last outputs of the body are stacked over the iterations."""
    graph, stacks, number = node.get("body"), None, 0
    carried, going = list(carried), condition
    while limit is None or number < int(limit.reshape(())):
        if going is not None and not is_known(going):
            raise node.failure("its end depends on the step's arguments; export the model with a fixed number of "
                               "iterations")
        if going is not None and not going.reshape(()):
            break
        if number == UNROLL_LIMIT:
            raise node.failure(f"it has more than {UNROLL_LIMIT} iterations, and loops are unrolled; export a shorter "
                               "loop")
        going, *results = _branch(node, graph, [np.asarray(number, np.int64), going, *carried])
        carried, rows = results[:len(carried)], results[len(carried):]
        stacks = [[row] for row in rows] if stacks is None else [s + [r] for s, r in zip(stacks, rows)]
        number += 1
    if stacks is None and len(carried) < len(graph.output) - 1:
        raise node.failure("it has no iteration, so the shape of what it collects is unknown; export the model "
                           "without it")
    return *carried, *[jnp.stack(stack) for stack in stacks or []]


@operator("Scan")
def scan(node, *inputs):
    """Unrolled over the scanned inputs."""
    graph, count = node.get("body"), node.get("num_scan_inputs")
    carried, scanned = list(inputs[:-count]), inputs[-count:]
    outputs = len(graph.output) - len(carried)
    axes = [a % x.ndim for a, x in zip(node.get("scan_input_axes") or [0] * count, scanned)]
    backwards = node.get("scan_input_directions") or [0] * count
    length = scanned[0].shape[axes[0]]
    if length > UNROLL_LIMIT:
        raise node.failure(f"it has {length} iterations, and at most {UNROLL_LIMIT} are unrolled; export a shorter "
                           "loop")
    stacks = [[] for _ in range(outputs)]
    for step in range(length):
        rows = [jnp.asarray(x).take(length - 1 - step if back else step, axis)
                for x, axis, back in zip(scanned, axes, backwards)]
        results = _branch(node, graph, [*carried, *rows])
        carried = results[:len(carried)]
        for stack, row in zip(stacks, results[len(carried):]):
            stack.append(row)
    axes = node.get("scan_output_axes") or [0] * outputs
    backwards = node.get("scan_output_directions") or [0] * outputs
    return *carried, *[jnp.stack(s[::-1] if back else s, axis) for s, axis, back in zip(stacks, axes, backwards)]
