"""One step in one type: its results by JAX, compared with those of its artifact for each number of stages.

An outcome is a kind and a text. Kinds: `equal`; `refused`, with the error that a user reads; `wrong number`; `crash`, of the
importer, the compiler or the artifact; `time-out`; and `invalid`, where JAX itself cannot run the step."""

import collections
import dataclasses
import functools
import json
import pathlib
import sys
import time
import traceback

import jax
import jax.numpy as jnp
import numpy as np

import catalog

sys.path[:0] = [str(catalog.HERE.parents[1] / "python"), str(catalog.HERE.parent / "Fuzz")]

import golden  # noqa: E402
from judge import nudged  # noqa: E402
from pipeline import MICROBATCHES, Failed  # noqa: E402
from stagewright.errors import ImportFailure  # noqa: E402
from stagewright.frontend.jax_step import Step, stored  # noqa: E402
from stagewright.frontend.train_state import static_leaves  # noqa: E402

# Our error over the whole step, relative to the reference, may be this multiple of JAX's error in the same type.
MULTIPLE = {"float32": 2.0, "bfloat16": 1.5}
# Or this part of the norm of all results, because JAX's error may happen to be less than single roundings. FEW_ROUNDINGS is for
# the whole step, ROUNDING for one result, in which terms may cancel.
FEW_ROUNDINGS = {"float32": 2.0 ** -20, "bfloat16": 0.0}
ROUNDING = {"float32": 2.0 ** -22, "bfloat16": 0.0}
WIDER = {"float32": jnp.float64, "bfloat16": jnp.float32}
NUDGES = 4
DRAWS = 12  # further inputs, tried if bfloat16 is too far from float32 on the first one
KINDS = ("equal", "refused", "wrong number", "crash", "time-out", "invalid")


@dataclasses.dataclass
class Outcome:
    kind: str
    message: str = ""
    seconds: float = 0.0


class Invalid(Exception):
    """JAX cannot run the step: the suite is wrong, not the compiler."""


def made(entry, dtype):
    function, arguments, *options = entry.make(dtype)
    return function, tuple(arguments), options[0] if options else {}


class Attempt:
    """A step in one type, with JAX's results; converts, compiles and compares in `directory`."""

    def __init__(self, entry, dtype, directory):
        self.entry, self.dtype, self.directory = entry, dtype, pathlib.Path(directory)
        self.import_seconds = self.trace_seconds = None
        try:
            self.function, self.arguments, self.options = made(entry, jnp.dtype(dtype))
        except Exception as error:
            raise Invalid(f"{type(error).__name__}: {error}\n{traceback.format_exc()[-2000:]}") from error

    def convert(self, pipeline):
        """Imports the step into directory/module.mlir. Raises Failed."""
        began = time.monotonic()
        try:
            self.step = Step(self.function, self.arguments, self.options)
            # A train step is split into the function of a microbatch and the update.
            self.function, self.arguments, self.options = self.step.function, self.step.arguments, self.step.options
            self.trace_seconds = time.monotonic() - began
            functions = {"step": (self.step.stablehlo(), self.step.attributes())}
            if self.step.update:
                functions["update"] = (self.step.update.stablehlo(), self.step.update.attributes())
        except ImportFailure as failure:
            if "cannot be traced by JAX" in str(failure):
                raise Invalid(f"{failure}\n{traceback.format_exc()[-2000:]}") from failure
            raise Failed("refused", "import", str(failure)) from failure
        except Exception as error:
            raise Failed("crash", "import", traceback.format_exc()[-3000:]) from error
        for name, (text, _) in functions.items():
            (self.directory / f"{name}.stablehlo.mlir").write_text(text)
        (self.directory / "attributes.json").write_text(json.dumps({name: about for name, (_, about) in functions.items()}))
        pipeline.convert(self.directory)
        self.import_seconds = time.monotonic() - began

    def expect(self):
        """Computes JAX's results of different microbatches, by position."""
        self.raw = golden.step_inputs(self.step, self.arguments, MICROBATCHES)
        self.golden = self.evaluate(jax.jit(self.function), self.raw)
        if not all(np.isfinite(a.astype(np.float64)).all() for a in self.golden.values()):
            raise Invalid("JAX's results are not finite")
        self.inputs = named(self.raw)
        if self.step.update:
            self.inputs.update({k: v for k, v in self.step.inputs().items() if k not in self.inputs})
            self.update_expected()

    def evaluate(self, function, raw, arguments=None):
        """The results of all microbatches by position; `arguments`: a tree of the same structure, if not the step's."""
        tree = jax.tree.structure(self.arguments if arguments is None else arguments)
        return named(golden.evaluate(function, self.step.signature, tree, raw, MICROBATCHES))

    def update_expected(self):
        """Appends the parameters and state that the update computes from the golden gradients, by position."""
        update, state, *more = self.options["update"]
        results = self.step.signature.results
        values = [jnp.asarray(v) for v in self.golden.values()]
        gradients = [values[i] for i, r in enumerate(results) if r.role == "gradient"]
        parameters = self.arguments[0]
        gradients = jax.tree.unflatten(jax.tree.structure(parameters), gradients)
        updated = jax.tree.leaves(jax.jit(update)(parameters, gradients, state, *more))
        self.golden.update({str(i): stored(jnp.asarray(v)) for i, v in enumerate(updated, len(values))})

    @functools.cached_property
    def reference(self):
        """A function from inputs to their results computed in a wider type, by position."""
        wide = WIDER[self.dtype]
        with jax.enable_x64(wide == jnp.float64):
            function, arguments, _ = made(self.entry, jnp.dtype(wide))
            function, arguments = static_leaves(function, arguments)
        compiled = jax.jit(function)

        def results(raw):
            with jax.enable_x64(wide == jnp.float64):
                inputs = [jnp.asarray(np.asarray(a), wide) if jnp.issubdtype(a.dtype, jnp.floating) else a for a in raw]
                return self.evaluate(compiled, inputs, arguments)
        return results

    @functools.cached_property
    def wide_results(self):
        return self.reference(self.raw)

    def compare(self, found, run):
        """Texts for wrong results, none if all equal JAX's. `found`: results by position; `run`: from inputs to results."""
        wanted = {k: v for k, v in self.golden.items()}
        problems = golden.disagreements(wanted, found)
        if not problems or any(" is not " in p or " missing " in p for p in problems):
            return problems
        if self.step.update:  # an update amplifies errors, so a tolerance applies
            return loosely(wanted, found, 1e-3 if self.dtype == "float32" else 3e-2)
        wider, reference = self.reference, self.wide_results
        ours, theirs = golden.short_float_errors(wanted, found, reference)
        own = {key: error for key, (error, _) in golden.norms(reference, wanted).items()}
        if self.dtype == "float32":  # the error of a cancelling difference depends on the last bits
            for errors in self.errors_of_nudges(wider):
                theirs = max(theirs, sum(error * error for error in errors.values()) ** 0.5)
                own = {key: max(error, errors[key]) for key, error in own.items()}
        whole = sum(size * size for _, size in golden.norms(reference, wanted).values()) ** 0.5
        if not ours <= max(MULTIPLE[self.dtype] * theirs, FEW_ROUNDINGS[self.dtype] * whole):
            texts = [f"the error over all results is {ours:.3e}, JAX's own {theirs:.3e}"]
            if self.dtype != "bfloat16":
                return texts + problems
            ours, theirs = self.errors_of_draws(wider, run)
            if not ours <= MULTIPLE[self.dtype] * theirs:
                return [*texts, f"over {DRAWS} other inputs it is {ours:.3e}, JAX's own {theirs:.3e}", *problems]
        # The error of a small result disappears in the total: check each result by itself, loosely.
        mistakes = self.mistakes(golden.norms(reference, found), own,
                                 max(0.01 * theirs, ROUNDING[self.dtype] * whole))
        if not mistakes or self.dtype != "bfloat16":
            return list(mistakes.values())
        again = self.mistakes(*self.results_of_draws(wider, run))  # a kink, see errors_of_draws
        return [mistakes[key] for key in mistakes if key in again]

    @staticmethod
    def mistakes(ours, theirs, least=0.0):
        """{result: text} for results of `ours`, {result: (error, norm)}, whose error is too large compared with `theirs`."""
        return {key: f"result {key}: error {error:.3e}, JAX's own {theirs[key]:.3e}, norm {size:.3e}"
                for key, (error, size) in ours.items() if not error <= 4 * theirs[key] + 0.05 * size + least}

    def errors_of_nudges(self, wider):
        """JAX's error against the reference, by result, on inputs that differ in their last bits."""
        random, function = np.random.default_rng(2), jax.jit(self.function)
        for _ in range(NUDGES):
            raw = nudged(self.raw, random, 2.0 ** -22)
            yield {key: error for key, (error, _) in golden.norms(wider(raw), self.evaluate(function, raw)).items()}

    def errors_of_draws(self, wider, run):
        """(our error, JAX's own), root mean squares over DRAWS other inputs. The original input is not among them: it was
        selected because our error was large.

        Rounding decides on which side of a kink an activation lies, and one such unit is a large part of a small net's
        gradient: with one input, either error may be several times the other.
        """
        errors = [golden.short_float_errors(wanted, found, wide) for wanted, found, wide in self.draws(wider, run)]
        return np.sqrt(np.mean(np.square(errors), 0))

    def results_of_draws(self, wider, run):
        """({result: (our error, norm)}, {result: JAX's own error}), root mean squares over the same inputs."""
        def mean(values):
            return float(np.sqrt(np.mean(np.square(values))))
        ours, theirs = collections.defaultdict(list), collections.defaultdict(list)
        for wanted, found, wide in self.draws(wider, run):
            for key, pair in golden.norms(wide, found).items():
                ours[key].append(pair)
            for key, (error, _) in golden.norms(wide, wanted).items():
                theirs[key].append(error)
        return {k: tuple(map(mean, zip(*pairs))) for k, pairs in ours.items()}, {k: mean(v) for k, v in theirs.items()}

    def draws(self, wider, run):
        """Yields (JAX's results, ours, the reference's) for DRAWS other inputs."""
        random = np.random.default_rng(1)
        batches = [n for n, a in enumerate(self.step.signature.arguments) if (a.role or "batch") == "batch"]
        floats = [n for n in batches if jnp.issubdtype(self.raw[n].dtype, jnp.floating)]
        function = jax.jit(self.function)
        for _ in range(DRAWS):
            raw = list(self.raw)
            for n in floats or batches:
                values = np.asarray(raw[n])
                raw[n] = random.permutation(values.reshape(-1)).reshape(values.shape)
            yield self.evaluate(function, raw), run(named(raw))[0], wider(raw)

    def run(self, pipeline, stages):
        """The outcome for a number of stages."""
        seconds = 0.0
        try:
            began = time.monotonic()
            pipeline.compile(self.directory, stages)
            seconds = time.monotonic() - began
            first, second = pipeline.run(self.directory, self.inputs)
            problems = self.compare(first, lambda inputs: pipeline.run(self.directory, inputs))
        except Failed as failed:
            return outcome_of(failed, seconds)
        if not problems and not self.step.update and any(first[k].tobytes() != second[k].tobytes() for k in first):
            problems = ["a second run has other results"]
        return Outcome("wrong number", "\n".join(problems[:8]), seconds) if problems else Outcome("equal", "", seconds)


def named(values):
    return {str(i): stored(v if hasattr(v, "dtype") else jnp.asarray(v)) for i, v in enumerate(values)}


def loosely(wanted, found, tolerance):
    return [f"result {key}: difference {d:.3e}, norm {size:.3e}" for key, (d, size) in golden.norms(wanted, found).items()
            if not d <= tolerance * size + 1e-6]


def outcome_of(failed, seconds=0.0):
    kind, text = failed.outcome.kind, f"{failed.outcome.where}: {failed.outcome.message}"
    if "not done after" in text or "SIGALRM" in text:
        kind = "time-out"
    return Outcome("refused" if kind == "known" else kind, text, seconds)


