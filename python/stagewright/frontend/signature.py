"""The role, name, batch dimension and way of combination of each argument and result of a step.

Inferred from the trees, before lowering. A step that returns `(loss, grads)` or `((loss, aux), grads)`, as `jax.value_and_grad`
does, has as parameters the argument with the tree of `grads`; of the others, a scalar is a constant, a random key a seed, and
the rest are batches, unless they seem to be the same for all microbatches (`_kept`, `carried`). A step without gradients has
the parameters that its options name, or, without such options, its first argument if that is a container of floating-point
arrays and others follow it. If neither applies, no roles are written: the compiler then takes large constants as parameters,
scalars as constants and all other arguments as batches.
"""

from __future__ import annotations

import dataclasses

import jax
import numpy as np

from stagewright.errors import ImportFailure
from stagewright.frontend.forms import Flow, carried, check_results, find_gradients, graded, is_float
from stagewright.frontend.names import argument_names, tree_path

ARGUMENT_ROLES = ("parameter", "batch", "constant", "seed", "state")
RESULT_ROLES = ("loss", "gradient", "output")
COMBINE_RULES = ("mean", "sum", "concat", "last")


@dataclasses.dataclass
class Argument:
    name: str
    shape: tuple
    dtype: object
    role: str | None = None
    batch_dim: int | None = None
    split_dim: int | tuple | None = None  # dimension split by the example's sharding; over a grid, one for each axis, or -1


@dataclasses.dataclass
class Result:
    name: str
    shape: tuple
    role: str | None = None
    of: int | None = None
    combine: str | None = None
    batch_dim: int | None = None
    dtype: object = None  # only for gradients


@dataclasses.dataclass
class Signature:
    arguments: list
    results: list
    remarks: list


def _is_key(leaf):
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return True
    return leaf.dtype == np.uint32 and tuple(leaf.shape) == (2,)


class _Overrides:
    """One table of an option: keys are tree paths (or leading parts of them) or positions of arguments."""

    def __init__(self, option, table, allowed=None):
        self.option, self.table, self.used = option, dict(table or {}), set()
        for key, value in self.table.items():
            if allowed and value not in allowed:
                raise ImportFailure(f"option '{option}': '{key}' has the value '{value}'; it can be one of "
                                    f"{', '.join(allowed)}")

    def find(self, *paths):
        best, depth = None, -1
        for key, value in self.table.items():
            for path in paths:
                if path == key or (isinstance(key, str) and isinstance(path, str) and path.startswith(key + "/")):
                    self.used.add(key)
                    if len(str(key)) > depth:
                        best, depth = value, len(str(key))
        return best

    def finish(self, names):
        for key in self.table:
            if key not in self.used:
                raise ImportFailure(f"option '{self.option}': nothing is called '{key}'; the names are "
                                    f"{', '.join(names)}")


def _kept(arguments, possible, parameters):
    """Arguments that are the same for all microbatches: containers of floating-point arrays that do not share their first
    extent.

    Examples are weights without gradients, statistics of layers, a second copy of the parameters. A container of batches has a
    common extent, or, as for graphs, integer arrays.
    """
    kept = []
    for i in possible:
        leaves = jax.tree.leaves(arguments[i])
        extents = {leaf.shape[0] if leaf.shape else None for leaf in leaves}
        if i not in parameters and len(extents) > 1 and all(map(is_float, leaves)):
            kept.append(i)
    return kept


def infer(function, arguments, out, options, jaxpr=None):
    """The signature of `function(*arguments) -> out`; arguments and out are trees of things with shape and dtype.

    Given the jaxpr, results that only look like gradients are distinguished from gradients.
    """
    roles = _Overrides("roles", options.get("roles"), (*ARGUMENT_ROLES, *RESULT_ROLES))
    combine = _Overrides("combine", options.get("combine"), COMBINE_RULES)
    batch_dims = _Overrides("batch_dim", options.get("batch_dim"))
    roots = argument_names(function, len(arguments))
    remarks = []

    explicit = {i: roles.find(root, i) for i, root in enumerate(roots)}
    possible = {i: tree for i, tree in enumerate(arguments) if explicit[i] in (None, "parameter")}
    found = find_gradients(possible, out)
    if jaxpr is not None:
        check_results(arguments, roots, possible, out, found, Flow(jaxpr))
    parameters = set(found[2]) if found else {i for i in possible if explicit[i] == "parameter"}
    partly = any(roles.find(tree_path(roots[i], keys), i) for i, tree in enumerate(arguments)
                 for keys, _ in jax.tree.leaves_with_path(tree))
    known = bool(found or parameters or partly)
    if not known and len(arguments) > 1:
        first = jax.tree.leaves(arguments[0])
        container = jax.tree.structure(arguments[0]) != jax.tree.structure(0)
        if container and any(map(is_float, first)) and all(is_float(leaf) or leaf.shape == () for leaf in first):
            parameters, known = {0}, True
            remarks.append(f"argument '{roots[0]}' is taken as the parameters; option 'roles' overrides this")

    if found:
        remarks += [f"argument '{roots[i]}' has the tree of the gradients too; they are taken as those of "
                    f"'{roots[min(parameters)]}' (option 'roles' overrides this)" for i in possible
                    if i not in parameters and len(parameters) == 1 and
                    not jax.tree_util.all_leaves([possible[i]]) and graded(possible[i], out[1]) is not None]
    kept = _kept(arguments, possible, parameters) if known else []
    remarks += [f"argument '{roots[i]}' holds arrays of several first extents, so it is taken as a constant, not as a "
                "batch (option 'roles' overrides this)" for i in kept]
    if found:
        kept += carried(possible, found[1], {*parameters, *kept})
    made, starts = [], []
    for i, tree in enumerate(arguments):
        starts.append(len(made))
        of = found[2][i][1] if found and i in found[2] else None
        root = "params" if i in parameters and len(parameters) == 1 else roots[i]
        for number, (keys, leaf) in enumerate(jax.tree.leaves_with_path(tree)):
            names = (tree_path(roots[i], keys), tree_path(root, keys), i)
            role = roles.find(*names)
            if role is None and i in parameters and (number in of if of is not None else is_float(leaf)):
                role = "parameter"
            elif role is None and known:
                fixed = leaf.shape == () or i in kept or i in parameters
                role = "seed" if _is_key(leaf) else "constant" if fixed else "batch"
            elif role is None and _is_key(leaf):
                role, known = "seed", True
            if role in RESULT_ROLES:
                raise ImportFailure(f"option 'roles': argument '{names[0]}' cannot have the role '{role}'; an argument "
                                    f"can be {', '.join(ARGUMENT_ROLES)}")
            argument = Argument(names[1], tuple(leaf.shape), leaf.dtype, role)
            argument.batch_dim = _batch_dim(argument, batch_dims.find(*names))
            made.append(argument)
    if known:
        for argument in made:
            if argument.role is None:
                argument.role = "batch" if argument.shape else "constant"
                argument.batch_dim = _batch_dim(argument, argument.batch_dim)
    batch_sizes = {a.shape[a.batch_dim] for a in made if a.role == "batch"}

    results = []
    if found:
        loss, aux, gradients = found
        rule = combine.find("loss") or "mean"
        results.append(Result("loss", (), "loss", combine=rule))
        for keys, leaf in jax.tree.leaves_with_path(aux[0] if len(aux) == 1 else aux):
            results.append(_output(tree_path("aux", keys), leaf, combine, batch_dims, batch_sizes))
        for position, (tree, numbers) in gradients.items():
            root = "grads" if len(gradients) == 1 else f"grads/{roots[position]}"
            for n, (keys, leaf) in zip(numbers, jax.tree.leaves_with_path(tree)):
                name, of = tree_path(root, keys), starts[position] + n
                results.append(Result(name, tuple(leaf.shape), "gradient", of, combine.find(name) or rule, dtype=leaf.dtype))
                if made[of].role != "parameter":
                    raise ImportFailure(f"option 'roles': argument '{made[of].name}' has a gradient, so its role is "
                                        f"'parameter', not '{made[of].role}'")
    else:
        for keys, leaf in jax.tree.leaves_with_path(out):
            name = tree_path("out", keys)
            result = _output(name, leaf, combine, batch_dims, batch_sizes)
            asked = roles.find(name)
            if asked == "loss":
                if leaf.shape != ():
                    raise ImportFailure(f"option 'roles': result '{name}' of shape {tuple(leaf.shape)} cannot be the "
                                        "loss; a loss is a scalar")
                result.role, result.combine = "loss", combine.find(name) or "mean"
            elif asked not in (None, "output"):
                raise ImportFailure(f"option 'roles': result '{name}' cannot have the role '{asked}'; return "
                                    "(loss, gradients) to have gradients recognised")
            if not known and asked is None:
                result.role = result.combine = result.batch_dim = None
            results.append(result)
    names = [*roots, *(a.name for a in made), *(r.name for r in results)]
    for table in (roles, combine, batch_dims):
        table.finish(names)
    if not known:
        remarks.append("no roles are known; the compiler takes scalars as constants and all other arguments as batches "
                       "(option 'roles' says otherwise)")
    return Signature(made, results, remarks)


def _batch_dim(argument, asked):
    if argument.role != "batch":
        return None
    dim = 0 if asked is None else int(asked)
    if not 0 <= dim < len(argument.shape):
        raise ImportFailure(f"batch dimension {dim} of argument '{argument.name}' does not exist in its shape "
                            f"{argument.shape}; set its role to 'constant' or option 'batch_dim'")
    return dim


def _output(name, leaf, combine, batch_dims, batch_sizes):
    """An output is concatenated if it has the batch's extent, averaged if it is a float, else taken from the last
    microbatch."""
    dim = batch_dims.find(name)
    dim = 0 if dim is None else int(dim)
    has_batch = len(leaf.shape) > dim and leaf.shape[dim] in batch_sizes
    default = "concat" if has_batch else "mean" if is_float(leaf) else "last"
    result = Result(name, tuple(leaf.shape), "output", combine=combine.find(name) or default)
    if result.combine == "concat":
        if len(leaf.shape) <= dim:
            raise ImportFailure(f"result '{name}' of shape {tuple(leaf.shape)} cannot be concatenated along dimension "
                                f"{dim}; choose another rule in option 'combine'")
        result.batch_dim = dim
    return result
