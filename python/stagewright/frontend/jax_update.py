"""Imports an optimizer: a function of parameters, their gradients and its state, as the module's @update.

The function is the framework's, optax's for example. Its arguments and results get their roles from its trees, which
are those of the step's parameters and of the state that it is given.
"""

from __future__ import annotations

import jax
import numpy as np

from stagewright.errors import ImportFailure
from stagewright.frontend.signature import Argument, Result, argument_names, tree_path

HELP = "(function, state, *more): function(parameters, gradients, state, *more) -> (parameters, state)"


class Update:
    """A traced update, for the step with `signature` whose arguments are `arguments`."""

    def __init__(self, made, signature, arguments):
        if not isinstance(made, (tuple, list)) or len(made) < 2 or not callable(made[0]):
            raise ImportFailure(f"option 'update' must be {HELP}")
        self.function, self.state, self.more = made[0], made[1], tuple(made[2:])
        self.parameters, self.of = _parameters(signature, arguments)
        values = (self.parameters, self.parameters, self.state, *self.more)
        try:
            traced = jax.jit(self.function).trace(*values)
        except Exception as error:
            raise ImportFailure(f"the update cannot be traced by JAX: {str(error).strip().splitlines()[0]}") from error
        self._check(traced.out_info)
        self.traced = traced
        self.leaves = [jax.numpy.asarray(leaf) for leaf in jax.tree.leaves((self.state, self.more))]

    def _check(self, out):
        """The results have the trees, shapes and types of what they replace."""
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise ImportFailure("the update must return (parameters, state)")
        for what, given, made in (("parameters", self.parameters, out[0]), ("state", self.state, out[1])):
            if jax.tree.structure(given) != jax.tree.structure(made):
                raise ImportFailure(f"the update returns {what} of another structure than it takes: "
                                    f"{jax.tree.structure(made)}, given {jax.tree.structure(given)}")
            for (keys, old), new in zip(jax.tree.leaves_with_path(given), jax.tree.leaves(made)):
                old = jax.typeof(old)
                if (old.shape, old.dtype) != (new.shape, new.dtype):
                    raise ImportFailure(f"the update returns {tree_path(what, keys)} as {new.dtype}{list(new.shape)}, "
                                        f"given as {old.dtype}{list(old.shape)}")

    def arguments(self):
        """Arguments in the order of the function, and `of`: the step's argument that each belongs to, or None."""
        made = [Argument(_name(role, keys), leaf.shape, leaf.dtype, role)
                for role in ("parameter", "gradient")
                for keys, leaf in jax.tree.leaves_with_path(self.parameters)]
        of = self.of * 2
        names = argument_names(self.function, 3 + len(self.more))[3:]
        for root, role, tree in (("state", "state", self.state),
                                 *((name, "constant", tree) for name, tree in zip(names, self.more))):
            for keys, leaf in jax.tree.leaves_with_path(tree):
                leaf = jax.typeof(leaf)
                made.append(Argument(tree_path(root, keys), leaf.shape, leaf.dtype, role))
                of.append(None)
        return made, of

    def results(self):
        """Results in their order; each replaces the argument whose number is its `of`."""
        arguments, _ = self.arguments()
        return [Result(a.name, a.shape, a.role, number) for number, a in enumerate(arguments)
                if a.role in ("parameter", "state")]

    def attributes(self):
        """What the module says about @update, as plain data."""
        arguments, of = self.arguments()
        return dict(arguments=[dict(role=a.role, name=a.name, of=o) for a, o in zip(arguments, of)],
                    results=[dict(role=r.role, name=r.name, of=r.of) for r in self.results()], slices=False)

    def stablehlo(self):
        return self.traced.lower().as_text(debug_info=True)


def _name(role, keys):
    return tree_path("params" if role == "parameter" else "grads", keys)


def _parameters(signature, arguments):
    """The one tree of parameters of the step, and the numbers of its leaves among the step's arguments."""
    trees, start = [], 0
    for tree in arguments:
        count = len(jax.tree.leaves(tree))
        roles = {a.role for a in signature.arguments[start:start + count]}
        if roles == {"parameter"}:
            trees.append((tree, list(range(start, start + count))))
        elif "parameter" in roles:
            raise ImportFailure("an update needs arguments that are parameters as a whole, not in part")
        start += count
    graded = {r.of for r in signature.results if r.role == "gradient"}
    if len(trees) != 1:
        raise ImportFailure(f"an update needs one argument that holds all parameters, the step has {len(trees)}")
    tree, numbers = trees[0]
    if missing := [signature.arguments[n].name for n in numbers if n not in graded]:
        raise ImportFailure(f"an update needs the gradient of every parameter; '{missing[0]}' has none")
    return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(np.shape(leaf), jax.typeof(leaf).dtype), tree), numbers
