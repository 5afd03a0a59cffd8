"""Imports an optimizer: a function of parameters, their gradients and its state, as the module's @update.

The function is the framework's, for example optax's. The roles of its arguments and results come from its trees, which are
those of the step's parameters and of the given state.
"""

from __future__ import annotations

import jax

from stagewright.errors import ImportFailure
from stagewright.frontend.evaluate import Evaluator
from stagewright.frontend.examples import as_traced, shaped
from stagewright.frontend.names import argument_names, tree_path
from stagewright.frontend.rows import to_array
from stagewright.frontend.signature import Argument, Result

HELP = "(function, state, *more): function(parameters, gradients, state, *more) -> (parameters, state)"


class Update:
    """A traced update, for the step with `signature` whose arguments are `arguments`."""

    def __init__(self, made, signature, arguments):
        if not isinstance(made, (tuple, list)) or len(made) < 2 or not callable(made[0]):
            raise ImportFailure(f"option 'update' must be {HELP}")
        self.function, self.state, self.more = made[0], made[1], tuple(made[2:])
        self.parameters, self.of = _parameters(signature, arguments)
        self.gradients = _gradients(signature, self.parameters, self.of)
        self.shared = _shared(signature, self.state)
        values = (self.parameters, self.gradients, self.state, *self.more)
        try:
            traced = jax.jit(self.function).trace(*values)
        except Exception as error:
            raise ImportFailure(f"the update cannot be traced by JAX: {str(error).strip().splitlines()[0]}") from error
        self._check(traced.out_info)
        self.traced = traced
        state = [leaf for number, leaf in enumerate(jax.tree.leaves(self.state)) if number not in self.shared]
        self.leaves = [as_traced(leaf) for leaf in (*state, *jax.tree.leaves(self.more))]

    def _check(self, out):
        """Checks that the results have the trees, shapes and types of the values that they replace."""
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise ImportFailure("the update must return (parameters, state)")
        for what, given, made in (("parameters", self.parameters, out[0]), ("state", self.state, out[1])):
            if jax.tree.structure(given) != jax.tree.structure(made):
                raise ImportFailure(f"the update returns {what} of another structure than it takes: "
                                    f"{jax.tree.structure(made)}, given {jax.tree.structure(given)}")
            for (keys, old), new in zip(jax.tree.leaves_with_path(given), jax.tree.leaves(made)):
                old = shaped(old)
                if (old.shape, old.dtype) != (new.shape, new.dtype):
                    raise ImportFailure(f"the update returns {tree_path(what, keys)} as {new.dtype}{list(new.shape)}, "
                                        f"given as {old.dtype}{list(old.shape)}")

    def arguments(self):
        """Arguments in the function's order, and `of`: the step's argument that each belongs to, or None."""
        made = [Argument(_name(role, keys), leaf.shape, leaf.dtype, role)
                for role, tree in (("parameter", self.parameters), ("gradient", self.gradients))
                for keys, leaf in jax.tree.leaves_with_path(tree)]
        of = self.of * 2
        names = argument_names(self.function, 3 + len(self.more))[3:]
        for root, role, tree in (("state", "state", self.state),
                                 *((name, "constant", tree) for name, tree in zip(names, self.more))):
            for number, (keys, leaf) in enumerate(jax.tree.leaves_with_path(tree)):
                leaf = shaped(leaf)
                made.append(Argument(tree_path(root, keys), leaf.shape, leaf.dtype, role))
                of.append(self.shared.get(number) if role == "state" else None)
        return made, of

    def results(self):
        """Results in order; each replaces the argument whose number is its `of`."""
        arguments, _ = self.arguments()
        return [Result(a.name, a.shape, a.role, number) for number, a in enumerate(arguments)
                if a.role in ("parameter", "state")]

    def attributes(self):
        """The module's attributes on @update, as plain data."""
        arguments, of = self.arguments()
        return dict(arguments=[dict(role=a.role, name=a.name, of=o) for a, o in zip(arguments, of)],
                    results=[dict(role=r.role, name=r.name, of=r.of) for r in self.results()], slices=False)

    def stablehlo(self):
        """The evaluated update as text: conditions become selections, calls are inlined, all arguments are kept."""
        def update(*leaves):
            results = Evaluator().run(self.traced.jaxpr.jaxpr, self.traced.jaxpr.consts, leaves)
            return [to_array(result) for result in results]
        avals = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in self.traced.jaxpr.in_avals]
        return jax.jit(update, keep_unused=True).lower(*avals).as_text(debug_info=True)


def _name(role, keys):
    return tree_path("params" if role == "parameter" else "grads", keys)


def _gradients(signature, parameters, of):
    """The tree of the gradients, which may have wider types than the parameters."""
    types = {result.of: result.dtype for result in signature.results if result.role == "gradient"}
    leaves = [jax.ShapeDtypeStruct(leaf.shape, types[number])
              for number, leaf in zip(of, jax.tree.leaves(parameters))]
    return jax.tree.unflatten(jax.tree.structure(parameters), leaves)


def _shared(signature, state):
    """{number of a leaf of the state: the step's argument of the same name with the role "state"}."""
    leaves = [(tree_path("state", keys), shaped(leaf)) for keys, leaf in jax.tree.leaves_with_path(state)]
    shared = {}
    for position, argument in enumerate(signature.arguments):
        if argument.role != "state":
            continue
        found = [number for number, (name, _) in enumerate(leaves) if name == f"state/{argument.name}"]
        if not found:
            raise ImportFailure(f"option 'roles': argument '{argument.name}' of the step has the role 'state', but the "
                                f"update's state has no '{argument.name}'; it has "
                                f"{', '.join(name.removeprefix('state/') for name, _ in leaves) or 'nothing'}")
        leaf = leaves[found[0]][1]
        if (leaf.shape, leaf.dtype) != (tuple(argument.shape), argument.dtype):
            raise ImportFailure(f"argument '{argument.name}' of the step is {argument.dtype}{list(argument.shape)}, in "
                                f"the update's state it is {leaf.dtype}{list(leaf.shape)}")
        argument.name = f"state/{argument.name}"
        shared[found[0]] = position
    return shared


def _parameters(signature, arguments):
    """The step's only tree of parameters, and the numbers of its leaves among the step's arguments."""
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
    return jax.tree.map(shaped, tree), numbers
