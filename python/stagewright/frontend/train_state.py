"""Steps that update a state: `train_step(state, batch) -> (state, loss)`, as with Flax's TrainState.

The step is traced with an optimizer that only returns the gradients it is given, so a loss with its gradients remains, and the
state's own optimizer becomes the update. This gives the same training only if the loss depends on nothing else in the state,
the gradients reach the optimizer unmodified, and the step changes nothing else; all other steps are refused.
"""

from __future__ import annotations

import functools
import inspect

import jax
from jax.ad_checkpoint import checkpoint_name
from jax.extend import core as jex
from jax.interpreters import partial_eval

from stagewright.errors import ImportFailure
from stagewright.frontend.forms import WAY, Flow, is_float, transposes
from stagewright.frontend.names import argument_names, tree_path

MARK = "stagewright-update"


def is_train_state(tree):
    return all(hasattr(tree, name) for name in ("apply_gradients", "params", "opt_state", "tx", "replace"))


def static_leaves(function, arguments):
    """(function, arguments) without the leaves of the arguments that are not arrays, such as functions in Equinox modules.

    Python numbers in such an argument stay numbers, as they configure the module.
    """
    def is_static(leaf):
        return not hasattr(leaf, "dtype") and not isinstance(leaf, (bool, int, float, complex, str, bytes))

    def part(tree):
        leaves, structure = jax.tree.flatten(tree)
        if not any(map(is_static, leaves)):
            return tree, None
        arrays = [leaf if hasattr(leaf, "dtype") else None for leaf in leaves]
        return jax.tree.unflatten(structure, arrays), (structure, leaves)
    parts = [part(tree) for tree in arguments]
    if all(rest is None for _, rest in parts):
        return function, arguments

    @functools.wraps(function)
    def without(*given):
        whole = []
        for tree, (_, rest) in zip(given, parts):
            if rest is not None:
                structure, leaves = rest
                arrays = iter(jax.tree.leaves(tree))
                tree = jax.tree.unflatten(structure, [next(arrays) if hasattr(leaf, "dtype") else leaf
                                                      for leaf in leaves])
            whole.append(tree)
        made = function(*whole)
        leaves, structure = jax.tree.flatten(made)
        return jax.tree.unflatten(structure, [None if is_static(leaf) else leaf for leaf in leaves])
    return without, tuple(tree for tree, _ in parts)


def split(function, arguments):
    """(function, arguments, option "update") of a TrainState step, rewritten as a step of its parameters; None if it is not
    such a step."""
    places = [i for i, tree in enumerate(arguments) if is_train_state(tree)]
    if len(places) != 1:
        return None
    at, = places
    state, root = arguments[at], argument_names(function, len(arguments))[at]
    while hasattr(function, "__wrapped__") and hasattr(function, "lower"):
        function = function.__wrapped__  # the function inside jit: its gradients must be visible

    def traced(state, *others):
        taken = []

        def update(gradients, opt_state, params=None, **_more):
            taken.append(gradients)
            return jax.tree.map(lambda g: checkpoint_name(g, MARK), gradients), opt_state
        tx = state.tx._replace(update=update)
        new, results = _parted(function(*others[:at], state.replace(tx=tx), *others[at:]), type(state), root)
        if len(taken) != 1:
            raise ImportFailure(f"the optimizer of argument '{root}' is called {len(taken)} times in the step; {WAY}")
        return results, taken[0], new.replace(tx=state.tx)

    others = [a for i, a in enumerate(arguments) if i != at]
    inner = f"the optimizer of argument '{root}' is called in an inner function with jit or in a loop; {WAY}"
    try:
        known = jax.jit(traced, keep_unused=True).trace(state, *others)
    except jax.errors.UnexpectedTracerError as error:
        raise ImportFailure(inner) from error
    if len(known.jaxpr.jaxpr.invars) != len(jax.tree.leaves((state, others))):  # gradients from another trace
        raise ImportFailure(inner)
    _check(known, state, root)

    def step(params, *others):
        results, gradients, _ = traced(state.replace(params=params), *others)
        return results, gradients
    names = argument_names(function, len(arguments))
    step.__signature__ = inspect.Signature([inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in
                                            ("params", *(n for i, n in enumerate(names) if i != at))])
    step.__wrapped__ = function

    def update(parameters, gradients, opt_state):
        new = state.replace(params=parameters, opt_state=opt_state).apply_gradients(grads=gradients)
        return new.params, new.opt_state
    return step, (state.params, *others), (update, state.opt_state)


def _parted(out, kind, root):
    """(new state, loss or (loss, aux)) from the results of a step."""
    parts = list(out) if isinstance(out, (tuple, list)) else [out]
    states = [part for part in parts if isinstance(part, kind)]
    rest = [part for part in parts if not isinstance(part, kind)]
    leaves = jax.tree.leaves(rest)
    if len(states) != 1 or not leaves:
        raise ImportFailure(f"the step takes argument '{root}' and has to return (state, loss) or (state, metrics); {WAY}")
    losses = [leaf for leaf in leaves if leaf.shape == () and is_float(leaf)]
    named = [leaf for keys, leaf in jax.tree.leaves_with_path(rest) if tree_path("", keys).split("/")[-1] == "loss"]
    single = [part for part in rest if any(part is leaf for leaf in losses)]
    loss = (named or single or losses or [None])[0]
    if loss is None or len(named or single or losses) > 1:
        raise ImportFailure(f"which of the step's results is its loss is not known; call it 'loss' in the metrics, or {WAY}")
    if len(leaves) == 1:
        return states[0], loss
    return states[0], (loss, rest[0] if len(rest) == 1 else tuple(rest))


def _check(traced, state, root):
    """Refuses steps that do more than a loss, its gradients and the optimizer."""
    jaxpr, (results, gradients, new) = traced.jaxpr.jaxpr, traced.out_info
    names = [tree_path(root, keys) for keys, _ in jax.tree.leaves_with_path(state)]
    count, graded = len(jax.tree.leaves(results)), len(jax.tree.leaves(gradients))
    wanted, used = partial_eval.dce_jaxpr(jaxpr, [n < count + graded for n in range(len(jaxpr.outvars))])
    parameters = {id(leaf) for leaf in jax.tree.leaves(state.params)}
    others = [n for n, leaf in enumerate(jax.tree.leaves(state)) if id(leaf) not in parameters]
    for n in others:
        if used[n]:
            raise ImportFailure(f"the step's loss depends on '{names[n]}', which changes from step to step; {WAY}")
    if MARK in str(wanted):
        raise ImportFailure(f"a result of the step depends on the updated parameters; {WAY}")
    flow = Flow(jaxpr)
    for var in jaxpr.outvars[count:count + graded]:
        maker = None if isinstance(var, jex.Literal) else flow.makers.get(var)
        if maker is not None and maker.outvars[0] in flow.backward and not transposes(maker):
            raise ImportFailure("the step changes its gradients before the optimizer gets them; put that into the "
                                f"optimizer, such as optax.chain(optax.clip_by_global_norm(1.0), ...), or {WAY}")
    for n, var in zip(range(len(names)), jaxpr.outvars[count + graded:]):
        if n in others and var is not jaxpr.invars[n] and names[n] != f"{root}/step":
            raise ImportFailure(f"the step changes '{names[n]}' beside the parameters; {WAY}, and what else changes as "
                                "auxiliary results")
