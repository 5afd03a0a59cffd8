"""What each argument and result of a step is: its role, its name, its batch dimension, how it is combined.

Read from the trees, before anything is lowered. A step that returns `(loss, grads)` or `((loss, aux), grads)`, as
`jax.value_and_grad` makes them, has parameters where an argument has the tree of `grads`; every other argument is a
batch, a scalar is a constant, a random key a seed. A step without gradients has parameters where its options say so,
or, if they say nothing, where its first argument is a container of floating-point arrays and others follow it.
If that finds nothing either, no roles are written: the compiler then takes large constants as parameters and
every argument as a batch.
"""

from __future__ import annotations

import dataclasses
import inspect

import jax
import numpy as np

from stagewright.errors import ImportFailure

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


@dataclasses.dataclass
class Result:
    name: str
    shape: tuple
    role: str | None = None
    of: int | None = None
    combine: str | None = None
    batch_dim: int | None = None
    dtype: object = None  # of a gradient


@dataclasses.dataclass
class Signature:
    arguments: list
    results: list
    remarks: list


def tree_path(root, keys):
    """A leaf's name: `root` and the keys that lead to it, parted by slashes."""
    parts = [root] if root else []
    for key in keys:
        parts.append(str(next(getattr(key, a) for a in ("key", "idx", "name") if hasattr(key, a))))
    return "/".join(parts)


def argument_names(function, count):
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [names[i] if i < len(names) else f"arg{i}" for i in range(count)]


def _is_key(leaf):
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return True
    return leaf.dtype == np.uint32 and tuple(leaf.shape) == (2,)


def _is_float(leaf):
    return jax.dtypes.issubdtype(leaf.dtype, np.floating)


def _is_scalar_float(tree):
    leaves = jax.tree.leaves(tree)
    return len(leaves) == 1 and leaves[0] is tree and leaves[0].shape == () and _is_float(leaves[0])


def _same_tree(parameters, gradients):
    """Whether the second can be gradients of the first: floats of their shapes, of their types or wider ones."""
    if jax.tree.structure(parameters) != jax.tree.structure(gradients):
        return False
    leaves = list(zip(jax.tree.leaves(parameters), jax.tree.leaves(gradients)))
    return bool(leaves) and all(x.shape == y.shape and _is_float(x) and _is_float(y) and
                                jax.numpy.promote_types(x.dtype, y.dtype) == y.dtype for x, y in leaves)


class _Overrides:
    """One table of an option: keys are tree paths (or any leading part of one) or positions of arguments."""

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


def _find_gradients(trees, out):
    """(loss, aux, {argument: gradients}) if the result is a loss beside gradients, else None."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        return None
    head, grads = out
    loss, aux = head, ()
    if isinstance(head, (tuple, list)) and head and not _is_scalar_float(head):
        loss, aux = head[0], tuple(head[1:])
    if not _is_scalar_float(loss):
        return None
    for position, tree in trees.items():
        if _same_tree(tree, grads):
            return loss, aux, {position: grads}
    if isinstance(grads, (tuple, list)) and grads:
        found, start = {}, 0
        order = list(trees)
        for part in grads:
            at = next((i for i in range(start, len(order)) if _same_tree(trees[order[i]], part)), None)
            if at is None:
                return None
            found[order[at]], start = part, at + 1
        return loss, aux, found
    return None


def infer(function, arguments, out, options):
    """The signature of `function(*arguments) -> out`; arguments and out are trees of things with shape and dtype."""
    roles = _Overrides("roles", options.get("roles"), (*ARGUMENT_ROLES, *RESULT_ROLES))
    combine = _Overrides("combine", options.get("combine"), COMBINE_RULES)
    batch_dims = _Overrides("batch_dim", options.get("batch_dim"))
    roots = argument_names(function, len(arguments))
    remarks = []

    explicit = {i: roles.find(root, i) for i, root in enumerate(roots)}
    possible = {i: tree for i, tree in enumerate(arguments) if explicit[i] in (None, "parameter")}
    found = _find_gradients(possible, out)
    parameters = set(found[2]) if found else {i for i in possible if explicit[i] == "parameter"}
    partly = any(roles.find(tree_path(roots[i], keys), i) for i, tree in enumerate(arguments)
                 for keys, _ in jax.tree.leaves_with_path(tree))
    known = bool(found or parameters or partly)
    if not known and len(arguments) > 1:
        first = jax.tree.leaves(arguments[0])
        container = jax.tree.structure(arguments[0]) != jax.tree.structure(0)
        if first and container and all(map(_is_float, first)):
            parameters, known = {0}, True
            remarks.append(f"argument '{roots[0]}' is taken as the parameters; option 'roles' overrides this")

    made, starts = [], []
    for i, tree in enumerate(arguments):
        starts.append(len(made))
        root = "params" if i in parameters and len(parameters) == 1 else roots[i]
        for keys, leaf in jax.tree.leaves_with_path(tree):
            names = (tree_path(roots[i], keys), tree_path(root, keys), i)
            role = roles.find(*names)
            if role is None and i in parameters:
                role = "parameter"
            elif role is None and known:
                role = "seed" if _is_key(leaf) else "constant" if leaf.shape == () else "batch"
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
        for position, tree in gradients.items():
            root = "grads" if len(gradients) == 1 else f"grads/{roots[position]}"
            for n, (keys, leaf) in enumerate(jax.tree.leaves_with_path(tree)):
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
        remarks.append("no roles are known; the compiler takes every argument as a batch (option 'roles' says "
                       "otherwise)")
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
    """An output is concatenated where it has the batch's extent, averaged where it is a float, else the last one."""
    dim = batch_dims.find(name)
    dim = 0 if dim is None else int(dim)
    has_batch = len(leaf.shape) > dim and leaf.shape[dim] in batch_sizes
    default = "concat" if has_batch else "mean" if _is_float(leaf) else "last"
    result = Result(name, tuple(leaf.shape), "output", combine=combine.find(name) or default)
    if result.combine == "concat":
        if len(leaf.shape) <= dim:
            raise ImportFailure(f"result '{name}' of shape {tuple(leaf.shape)} cannot be concatenated along dimension "
                                f"{dim}; choose another rule in option 'combine'")
        result.batch_dim = dim
    return result
