"""Calls of functions that `jax.export` exported: their StableHLO, with layouts as hints."""

from __future__ import annotations

import jax
from jax.extend import core as jex
from jax.interpreters import mlir

from stagewright.frontend import shardy
from stagewright.frontend.evaluate import rule
from stagewright.frontend.rows import is_plain, to_array

# A call of the StableHLO `text`, with results of types `avals`.
exported_call = jex.Primitive("stagewright_exported")
exported_call.multiple_results = True
exported_call.def_abstract_eval(lambda *_, avals, **__: list(avals))


def _lower(context, *operands, text, name, avals):
    ir = mlir.ir
    module = ir.Module.parse(text)
    callee = mlir.merge_mlir_modules(context.module_context.module, f"exported_{name}", module,
                                     dst_symtab=context.module_context.symbol_table)
    return ir.Operation.create("func.call", results=[mlir.aval_to_ir_type(context.module_context, aval) for aval in avals],
                               operands=list(operands), attributes={"callee": ir.FlatSymbolRefAttr.get(callee)}).results


mlir.register_lowering(exported_call, _lower)


def _problem(exported):
    if len(exported.platforms) > 1:
        return f"it was exported for {' and '.join(exported.platforms)}; export it for one, for example with platforms=['cpu']"
    if exported.ordered_effects or exported.unordered_effects:
        return "it has effects, such as prints; export it without"
    if any(not isinstance(n, int) for aval in exported.in_avals for n in aval.shape):
        return "its shapes have variables; export it with numbers"
    if not all(is_plain(aval.dtype) for aval in exported.in_avals):
        return "random keys are among its arguments; pass their words (jax.random.key_data)"
    return None


@rule("call_exported", folded=False)
def inlined(evaluator, eqn, values):
    exported = eqn.params["exported"]
    if problem := _problem(exported):
        raise evaluator.failure(eqn, problem)
    return exported_call.bind(*(to_array(values[i]) for i in exported.module_kept_var_idx), name=exported.fun_name,
                              text=shardy.with_hints(exported, evaluator.options.shard_axes),
                              avals=tuple(jax.core.ShapedArray(v.aval.shape, v.aval.dtype) for v in eqn.outvars))
