"""The forms in which a step returns its loss, its gradients and what it updates.

`(loss, gradients)` and `((loss, aux), gradients)` are accepted. Gradients elsewhere among the results, updated parameters and
updated states are refused with the correct form in the error: as plain results they would be averaged or concatenated over the
microbatches.
"""

from __future__ import annotations

import jax
import numpy as np
from jax.extend import core as jex

from stagewright.errors import ImportFailure
from stagewright.frontend.names import tree_path

WAY = ("return jax.value_and_grad(loss)(parameters, ...), that is (loss, gradients) or ((loss, aux), gradients), and give "
       "the optimizer as option 'update'")


def is_float(leaf):
    return jax.dtypes.issubdtype(leaf.dtype, np.floating)


def is_scalar_float(tree):
    leaves = jax.tree.leaves(tree)
    return len(leaves) == 1 and leaves[0] is tree and leaves[0].shape == () and is_float(leaves[0])


def _can_be_gradient(parameter, gradient):
    return parameter.shape == gradient.shape and is_float(parameter) and is_float(gradient) and \
        jax.numpy.promote_types(parameter.dtype, gradient.dtype) == gradient.dtype


def graded(parameters, gradients):
    """For each leaf of `gradients` the number of the leaf of `parameters` whose gradient it can be; None if one has none.

    Either both trees have the same structure, or every leaf of the second has the name of a leaf of the first. The latter
    happens with NNX modules, in which only some variables have gradients.
    """
    found = jax.tree.leaves(gradients)
    own = jax.tree.leaves(parameters)
    if jax.tree.structure(parameters) == jax.tree.structure(gradients):
        numbers = list(range(len(own)))
    elif isinstance(gradients, (tuple, list)) or len(found) > len(own):
        return None
    else:
        places = {tree_path("", keys): n for n, (keys, _) in enumerate(jax.tree.leaves_with_path(parameters))}
        numbers = [places.get(tree_path("", keys)) for keys, _ in jax.tree.leaves_with_path(gradients)]
    if not found or None in numbers or not all(_can_be_gradient(own[n], g) for n, g in zip(numbers, found)):
        return None
    return numbers


def find_gradients(trees, out):
    """(loss, aux, {argument: (gradients, numbers from `graded`)}) if the result is a loss and gradients, else None."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        return None
    head, grads = out
    loss, aux = head, ()
    if isinstance(head, (tuple, list)) and head and not is_scalar_float(head):
        loss, aux = head[0], tuple(head[1:])
    if not is_scalar_float(loss):
        return None
    for position, tree in trees.items():
        if (numbers := graded(tree, grads)) is not None:
            return loss, aux, {position: (grads, numbers)}
    if isinstance(grads, (tuple, list)) and grads:
        found, start = {}, 0
        order = list(trees)
        for part in grads:
            fits = {i: graded(trees[order[i]], part) for i in range(start, len(order))}
            at = next((i for i, numbers in fits.items() if numbers is not None), None)
            if at is None:
                return None
            found[order[at]], start = (part, fits[at]), at + 1
        return loss, aux, found
    return None


class Flow:
    """Properties of a traced step's results: which come from a backward, and which are an argument updated."""

    def __init__(self, jaxpr):
        self.jaxpr = jaxpr
        self.arguments = {var: n for n, var in enumerate(jaxpr.invars)}
        self.makers = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
        self.backward = set()
        for eqn in jaxpr.eqns:
            if any(not isinstance(a, jex.Literal) and a in self.backward for a in eqn.invars) or transposes(eqn):
                self.backward.update(eqn.outvars)

    def is_backward(self, result):
        var = self.jaxpr.outvars[result]
        return not isinstance(var, jex.Literal) and var in self.backward

    def is_updated(self, result, argument):
        """Whether a result is the argument, or a sum or difference with it."""
        var = self.jaxpr.outvars[result]
        for _ in range(4):  # follows casts, copies and calls of jitted functions
            if isinstance(var, jex.Literal):
                return False
            if var in self.arguments:
                return self.arguments[var] == argument
            eqn = self.makers.get(var)
            if eqn is None:
                return False
            if "jaxpr" in eqn.params and eqn.primitive.name == "jit":
                inner, number = Flow(eqn.params["jaxpr"].jaxpr), eqn.outvars.index(var)
                return any(inner.is_updated(number, n) for n, a in enumerate(eqn.invars)
                           if not isinstance(a, jex.Literal) and self.arguments.get(a) == argument)
            if eqn.primitive.name in ("add", "sub", "add_any"):
                return any(not isinstance(a, jex.Literal) and self.arguments.get(a) == argument for a in eqn.invars)
            if eqn.primitive.name not in ("convert_element_type", "copy"):
                return False
            var = eqn.invars[0]
        return False


def transposes(eqn):
    """Whether an equation, or one in its sub-jaxprs, belongs to a backward."""
    if any(type(s).__name__ == "Transform" and s.name == "transpose" for s in eqn.source_info.name_stack.stack):
        return True
    inner = [getattr(p, "jaxpr", p) for p in eqn.params.values()]
    return any(transposes(e) for p in inner for e in getattr(p, "eqns", ()))


def _nodes(tree):
    """The tree and all subtrees, outer ones first."""
    pending = [tree]
    while pending:
        node = pending.pop(0)
        yield node
        children = jax.tree_util.default_registry.flatten_one_level(node)
        pending.extend(c for c in (children[0] if children else ()) if jax.tree.leaves(c))


def _is_same(tree, node):
    """Whether `node` may be an updated `tree`: same structure, shapes and types, with at least one floating-point leaf."""
    leaves, others = jax.tree.leaves(tree), jax.tree.leaves(node)
    return any(map(is_float, leaves)) and jax.tree.structure(tree) == jax.tree.structure(node) and \
        all((a.shape, a.dtype) == (b.shape, b.dtype) for a, b in zip(leaves, others))


def check_results(arguments, roots, possible, out, found, flow):
    """Refuses gradients that are not the second of two results, updated arguments as results, and optimizers as arguments.

    Only results of a backward are checked: a step without a backward may return anything.
    """
    leaves = {id(leaf): n for n, leaf in enumerate(jax.tree.leaves(out))}
    names = [tree_path("out", keys) for keys, _ in jax.tree.leaves_with_path(out)]
    starts = np.cumsum([0, *(len(jax.tree.leaves(tree)) for tree in arguments)])
    for position, tree in possible.items():
        if getattr(tree, "tx", None) is not None and hasattr(tree, "opt_state"):
            raise ImportFailure(f"argument '{roots[position]}' is an optimizer with its state; {WAY}")
    for node in _nodes(out):
        results = [leaves[id(leaf)] for leaf in jax.tree.leaves(node)]
        if not any(map(flow.is_backward, results)):
            continue
        for position, tree in possible.items():
            numbers = graded(tree, node)
            if numbers is None and not _is_same(tree, node):
                continue
            at = f"'{names[results[0]]}'" + (" and others" if len(results) > 1 else "")
            places = [int(starts[position]) + n for n in numbers or ()]
            if numbers is None or any(map(flow.is_updated, results, places)):
                raise ImportFailure(f"the step returns argument '{roots[position]}' updated by an optimizer (result {at}); "
                                    f"{WAY}")
            if not found and (len(results) > 1 or not jax.tree_util.all_leaves([node]) or position == 0):
                raise ImportFailure(f"the step returns the gradients of argument '{roots[position]}' (result {at}), but "
                                    f"not as the second of two results, after the loss; {WAY}")
    if not found:
        for position, tree in possible.items():
            _check_spread(roots[position], jax.tree.leaves(tree), jax.tree.leaves(out), names, flow)


def _check_spread(root, parameters, results, names, flow):
    """Refuses gradients returned as separate results: `return loss, *jax.tree.leaves(gradients)`."""
    count = len(parameters)
    for start in range(len(results) - count + 1 if count > 1 else 0):
        if all(flow.is_backward(start + n) and _can_be_gradient(p, results[start + n]) for n, p in enumerate(parameters)):
            raise ImportFailure(f"the step returns the gradients of argument '{root}' as separate results ('{names[start]}' "
                                f"and the {count - 1} after it); {WAY}")


def carried(trees, aux, taken):
    """Indices of the trees that a step returns updated in its aux and whose leading extents occur in no other tree. Trees in
    `taken` are left out, also from this comparison."""
    extents = {i: {leaf.shape[0] for leaf in jax.tree.leaves(tree) if leaf.shape} for i, tree in trees.items()}
    found = []
    for i, tree in trees.items():
        others = set().union(*(extents[j] for j in trees if j not in (i, *taken)))
        if i not in taken and not jax.tree_util.all_leaves([tree]) and not extents[i] & others and \
                any(_is_same(tree, node) for node in _nodes(aux)):
            found.append(i)
    return found
