"""Imports a JAX step: roles from its trees, loops unrolled, StableHLO, then linalg.

The model's file is Python and runs in this process; code that uses another copy of MLIR than JAX's runs in other processes
(stagewright.frontend.stablehlo). Files are written only if everything succeeded.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import tempfile

import jax
import numpy as np
from jax import lax

from stagewright.annotations import renumbered
from stagewright.errors import ImportFailure
from stagewright.frontend import rules  # noqa: F401  registers the rules
from stagewright.frontend.evaluate import Evaluator, Options
from stagewright.frontend.examples import as_traced, is_abstract, shaped, stored
from stagewright.frontend.jax_update import HELP, Update
from stagewright.frontend.rows import Lazy, to_array
from stagewright.frontend.shardings import split_dims
from stagewright.frontend.signature import infer
from stagewright.frontend.stablehlo import to_linalg
from stagewright.frontend.train_state import split, static_leaves
from stagewright.named import named

OPTIONS = {
    "roles": "role of an argument (parameter, batch, constant, seed, state) or result (loss, output), by name or position",
    "combine": "how a result is combined over the microbatches (mean, sum, concat, last), by name",
    "batch_dim": "the batch dimension of an argument or of a concatenated result, by name; 0 if absent",
    "pipeline_slices": "whether parameters stacked over layers are owned in slices (default true)",
    "unroll_limit": "the largest number of iterations of one loop that is unrolled (default 4096)",
    "microbatches": "default number of microbatches, written into the module",
    "cluster": "default cluster, written into the module",
    "shard_axis": "the mesh axis along which --tensor-parallel=N splits parameters and values as their shardings do, or two, as x,y, "
                  "for --tensor-parallel=ROWSxCOLUMNS (default: the one or two that split parameters, else constrained values)",
    "source": "what the step was written in, written into the module (default jax)",
    "update": "the optimizer: " + HELP,
    "validation": "the loss without gradients, a function of the step's arguments; written to MODEL.validation.mlir",
}


class Step:
    """A traced step: the program to lower, and the description from the model's file."""

    def __init__(self, function, arguments, options=None):
        options = dict(options or {})
        for key in options:
            if key not in OPTIONS:
                raise ImportFailure(f"unknown option '{key}'; the options are {', '.join(OPTIONS)}")
        self.options, self.location = options, _location(function)
        function, arguments = static_leaves(function, arguments)
        shardings = {}  # by id() of a leaf

        def plain(leaf):
            made = shaped(leaf) if is_abstract(leaf) else leaf
            shardings[id(made)] = getattr(leaf, "sharding", None)
            return made
        arguments = jax.tree.map(plain, tuple(arguments))
        remarks = []
        if options.get("update") is None and (parts := split(function, arguments)):
            function, arguments, options["update"] = parts
            remarks.append("the state's optimizer is the update; its parameters are an argument of the step")
        self.function, self.arguments = function, tuple(arguments)
        self.slices = options.get("pipeline_slices", True)
        try:
            traced = jax.jit(lambda *leaves: function(*leaves)).trace(*arguments)
        except Exception as error:
            if isinstance(error, ImportFailure):
                raise
            raise ImportFailure(f"the step cannot be traced by JAX: {_first_line(error)}") from error
        self.jaxpr = traced.jaxpr
        self.leaves = [as_traced(leaf) for leaf in jax.tree.leaves(tuple(arguments))]
        self.signature = infer(function, jax.tree.map(shaped, tuple(arguments)), traced.out_info, options, self.jaxpr.jaxpr)
        self.signature.remarks[:0] = remarks
        self.shard_axes = split_dims([shardings.get(id(leaf)) for leaf in jax.tree.leaves(tuple(arguments))], self.signature,
                                     self.jaxpr.jaxpr, options.get("shard_axis"))
        self.has_seed = any(a.role == "seed" for a in self.signature.arguments)
        made = options.get("update")
        states = [a.name for a in self.signature.arguments if a.role == "state"]
        if states and made is None:
            raise ImportFailure(f"option 'roles': argument '{states[0]}' has the role 'state', but there is no option "
                                "'update' whose state it could be")
        self.update = Update(made, self.signature, tuple(arguments)) if made is not None else None
        leaves = [*self.leaves, *(self.update.leaves if self.update else ())]
        if unknown := sum(map(is_abstract, leaves)):
            self.signature.remarks.append(f"only the shape is known of {unknown} of {len(leaves)} arguments: to run the "
                                          "step, a file with their values is needed")

    def flat(self, *leaves):
        """The step as a function of leaves, evaluated anew; with a seed, the last argument is the microbatch's index."""
        arguments = self.signature.arguments
        extra = list(leaves[len(arguments):])
        leaves = [_framework_value(leaf, a) for leaf, a in zip(leaves, self.jaxpr.in_avals)]
        evaluator = Evaluator(Options(**{k: self.options[k] for k in ("unroll_limit",) if k in self.options},
                                      shard_axes=self.shard_axes))
        if self.has_seed:
            microbatch, = extra
            leaves = [evaluator.function(_fold_in, leaf, microbatch) if a.role == "seed" else leaf
                      for leaf, a in zip(leaves, arguments)]
        values = [_parameter(leaf) if a.role == "parameter" and leaf.ndim and self.slices else leaf
                  for leaf, a in zip(leaves, arguments)]
        results = evaluator.run(self.jaxpr.jaxpr, self.jaxpr.consts, values)
        remarks = self.signature.remarks
        remarks.extend(remark for remark in evaluator.remarks if remark not in remarks)
        return [_stored_value(r.stacked() if isinstance(r, Lazy) else to_array(r)) for r in results]

    def stablehlo(self) -> str:
        """The evaluated step as text. Its arguments and results have the types used in files: no keys, no unsigned integers."""
        def step(*leaves):
            return self.flat(*leaves)
        avals = [jax.eval_shape(_stored_value, jax.ShapeDtypeStruct(a.shape, a.dtype)) for a in self.jaxpr.in_avals]
        if self.has_seed:
            avals.append(jax.ShapeDtypeStruct((), np.int32))
        with _settings(jax_use_shardy_partitioner=False, jax_traceback_in_locations_limit=1):
            text = jax.jit(step, keep_unused=True).lower(*avals).as_text(debug_info=True)
        names = [a.name for a in self.signature.arguments] + ["microbatch"]
        text = renumbered(text).replace("loc(unknown)", self.location)
        return re.sub(r'loc\("leaves\[(\d+)\]"\)', lambda m: f'loc("{names[int(m.group(1))]}")', text)

    def attributes(self) -> dict:
        """The module's role attributes on arguments and results (dialects/Pipeline), as plain data."""
        arguments = [dict(role=a.role, name=a.name, batch_dim=a.batch_dim, split_dim=a.split_dim) for a in self.signature.arguments]
        if self.has_seed:
            arguments.append(dict(role="microbatch", name="microbatch", batch_dim=None))
        results = [dict(role=r.role, name=r.name, of=r.of, combine=r.combine, batch_dim=r.batch_dim)
                   for r in self.signature.results]
        return dict(arguments=arguments, results=results, slices=self.slices,
                    microbatches=self.options.get("microbatches"), cluster=self.options.get("cluster"),
                    source=self.options.get("source", "jax"))

    def inputs(self) -> dict:
        """The example arguments by position, in the module's types: keys as their words, no unsigned types.

        The step's arguments are followed by those that only the update has: state, then constants. Arguments known only by
        shape are omitted.
        """
        leaves = dict(enumerate(self.leaves))
        if self.update:
            leaves.update(enumerate(self.update.leaves, len(self.leaves) + self.has_seed))
        return {str(i): stored(leaf) for i, leaf in leaves.items() if not is_abstract(leaf)}


def _location(function):
    """The source location of a function in MLIR's syntax, used where JAX knows no location."""
    while hasattr(function, "__wrapped__") or isinstance(function, functools.partial):
        function = function.func if isinstance(function, functools.partial) else function.__wrapped__
    code = getattr(function, "__code__", None)
    return f"loc({json.dumps(code.co_filename, ensure_ascii=False)}:{code.co_firstlineno}:1)" if code else "loc(unknown)"


def _framework_value(leaf, aval):
    """Converts a value from its form in files to the form that the step takes."""
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(lax.bitcast_convert_type(leaf, np.uint32), impl=aval.dtype._impl)
    if np.issubdtype(aval.dtype, np.unsignedinteger):
        return lax.bitcast_convert_type(leaf, aval.dtype)
    return leaf


def _stored_value(value):
    """Converts a computed value to its form in files; `stored` does the same for concrete arrays."""
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    if np.issubdtype(value.dtype, np.unsignedinteger):
        value = lax.bitcast_convert_type(value, np.dtype(f"int{value.dtype.itemsize * 8}"))
    return value


@contextlib.contextmanager
def _settings(**values):
    """JAX settings for one lowering: no partitioner operations, one source position per operation."""
    before = {name: getattr(jax.config, name) for name in values}
    try:
        for name, value in values.items():
            jax.config.update(name, value)
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)


def _parameter(leaf):
    return Lazy(leaf.shape, leaf.dtype, lambda i: lax.index_in_dim(leaf, i, 0, keepdims=False), lambda: leaf,
                "parameter")


def _fold_in(key, microbatch):
    if key.shape == () or not jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key):
        return jax.random.fold_in(key, microbatch)
    return jax.vmap(lambda k: jax.random.fold_in(k, microbatch))(key)


def _first_line(error):
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def import_jax(function, arguments, path, *, name=None, **options):
    """Writes `path` (a module with @step, and @update if the options have one) and `<path without .mlir>.inputs.safetensors`.

    `function` is the step, `arguments` a tuple of example arguments, one microbatch each; the options are those of OPTIONS.
    Returns the signature: arguments and results with their roles. If it raises ImportFailure, nothing was written. Arguments
    may be shapes only (jax.ShapeDtypeStruct): these are not in the inputs file, which is not written if it would be empty.
    """
    from safetensors.numpy import save_file

    step = Step(function, arguments, options)
    functions = {"step": (step.stablehlo(), step.attributes())}
    if step.update:
        functions["update"] = (step.update.stablehlo(), step.update.attributes())
    stem = path[:-5] if path.endswith(".mlir") else path
    texts = {path: to_linalg(functions)}
    if options.get("validation") is not None:
        loss = validation_step(options["validation"], step.arguments, step)
        texts[f"{stem}.validation.mlir"] = to_linalg({"step": (loss.stablehlo(), loss.attributes())})
    directory = os.path.dirname(os.path.abspath(path))
    with tempfile.TemporaryDirectory(dir=directory, prefix=".stagewright-") as temporary:
        made = {os.path.join(temporary, str(number)): place for number, place in enumerate(texts)}
        for file, place in made.items():
            with open(file, "w") as stream:
                stream.write(texts[place])
        if values := step.inputs():
            inputs = os.path.join(temporary, "inputs")
            save_file(values, inputs)
            os.replace(inputs, stem + ".inputs.safetensors")
        for file, place in made.items():
            os.replace(file, place)
    return step.signature


def validation_step(function, arguments, step):
    """A step that computes only a loss; its arguments are those of `step`, with the same names."""
    roles = {"out": "loss"}
    start = 0
    for position, tree in enumerate(arguments):
        count = len(jax.tree.leaves(tree))
        for a in step.signature.arguments[start:start + 1]:
            roles[position] = "constant" if a.role == "state" else a.role or "batch"
        start += count
    out = jax.eval_shape(function, *arguments)
    if len(jax.tree.leaves(out)) != 1 or jax.tree.leaves(out)[0].shape != ():
        raise ImportFailure("option 'validation': the function must return the loss alone, a number, but it returns "
                            f"{out}")
    loss = Step(function, arguments, {"roles": roles})
    for own, of in zip(loss.signature.arguments, step.signature.arguments):
        own.name, own.batch_dim = of.name, of.batch_dim if own.role == "batch" else None
    return loss


def load_model(specification):
    """`FILE.py:NAME` -> (function, arguments, options)."""
    made, name, file = call_model(specification, "(function, example_arguments[, options])")
    if not isinstance(made, tuple) or len(made) not in (2, 3) or not callable(made[0]) or \
            not isinstance(made[1], (tuple, list)) or (len(made) == 3 and not isinstance(made[2], dict)):
        raise ImportFailure(f"'{name}' of '{file}' must return (function, example_arguments[, options]): a function, "
                            f"a tuple and a dictionary, but it returned {described(made)}")
    return made[0], tuple(made[1]), made[2] if len(made) == 3 else {}


def call_model(specification, returns):
    """The result of the function of `FILE.py:NAME` (`returns` describes it in errors), and NAME and FILE.py."""
    with named(specification, f"take no arguments and return {returns}", ImportFailure) as make:
        file, _, name = specification.rpartition(":")
        return make(), name, file


def described(made):
    if isinstance(made, tuple):
        return f"({', '.join(type(m).__name__ for m in made)})"
    return type(made).__name__
