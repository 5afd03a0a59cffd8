"""A program as a stand-alone Python file: `stagewright import jax FILE.py:program` takes it."""

from __future__ import annotations

import dataclasses

from operations import OPERATIONS
from program import Input, Program, Statement, Unsuitable, input_values, write

HEAD = '''"""{title}"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

F, H, I, B = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def weigh(v):
    """A sum in which every element counts differently."""
    return (v.astype(F) * jnp.cos(jnp.arange(v.size).astype(F).reshape(v.shape))).sum()


'''


@dataclasses.dataclass
class Written:
    """The text of a program, its values and its remaining inputs."""
    text: str
    values: dict
    inputs: dict


def written(program: Program, title="") -> Written:
    """Raises Unsuitable if an operation no longer has the operands that it needs."""
    inputs = {name: dataclasses.replace(i) for name, i in program.inputs.items()}
    values, lines, scope = input_values(inputs), [], None
    for statement in program.statements:
        text, value = write(_copy(statement), OPERATIONS, values, inputs)
        values = {**input_values(inputs), **{n: v for n, v in values.items() if n not in inputs}}
        values[statement.target] = value
        if program.scopes and statement.scope != scope:
            scope = statement.scope
            lines.append(f'with jax.named_scope("h{scope}"):')
        lines.append(f"{'    ' * program.scopes}{statement.target} = {text}")
    results = [n for n in (*program.terms, *program.outputs)]
    if not program.terms or any(n not in values for n in results):
        raise Unsuitable("a result is gone")
    if not any(i.role == "parameter" for i in inputs.values()):
        inputs["w"] = Input("parameter", ())
    if not any(i.role == "batch" for i in inputs.values()):
        inputs["x"] = Input("batch", (2,))
    others = [n for n, i in inputs.items() if i.role != "parameter"]
    outputs = "".join(f"{values[n]}, " for n in program.outputs)
    if program.training:
        total = " + ".join(f"weigh({values[n]})" for n in program.terms)
        lines.append(f"return {total}" + (f", ({outputs})" if outputs else ""))
        step = f"jax.value_and_grad(function{', has_aux=True' if outputs else ''})"
    else:
        lines.append(f"return {''.join(f'{values[n]}, ' for n in program.terms)}{outputs}".rstrip(", ") + ",")
        step = "function"
    body = "\n".join("    " + line for line in lines)
    text = (HEAD.replace("{title}", title) + f"def function(p, {', '.join(others)}):\n{body}\n\n\n" +
            _arguments(inputs, others, program.seed) + f"    return {step}, (p, {', '.join(others)})\n")
    return Written(text, values, inputs)


def _arguments(inputs, others, seed):
    """The function that makes the arguments, each from its own generator, so that shrinking one does not change others."""
    lines = ["def program():", "    p = {"]
    for number, (name, i) in enumerate(inputs.items()):
        made = _array(i, seed * 1000 + int("".join(filter(str.isdigit, name)) or 0) * 7 + len(name))
        if i.role == "parameter":
            lines.append(f'        "{name}": {made},')
    lines.append("    }")
    for name in others:
        made = _array(inputs[name], seed * 1000 + int("".join(filter(str.isdigit, name)) or 0) * 7 + ord(name[0]))
        lines.append(f"    {name} = {made}")
    return "\n".join(lines) + "\n"


def _array(i, seed):
    if i.role == "seed":
        return f"jax.random.PRNGKey({seed % 1000})"
    rng = f"np.random.default_rng({seed})"
    if i.dtype == "I":
        return f"jnp.asarray({rng}.integers({-1 if i.high > 3 else 0}, {i.high}, {i.shape}), I)"
    if i.dtype == "B":
        return f"jnp.asarray({rng}.integers(0, 2, {i.shape}), B)"
    scale = "" if i.scale == 1 else f" * {i.scale}"
    return f"jnp.asarray({rng}.standard_normal({i.shape}){scale}, {i.dtype})"


def live(program: Program) -> Program:
    """The same program without the statements and inputs that no result needs."""
    needed, kept = set(program.terms) | set(program.outputs), []
    for statement in reversed(program.statements):
        if statement.target in needed:
            needed.update(statement.operands)
            kept.append(statement)
    return dataclasses.replace(program, statements=[_copy(s) for s in reversed(kept)],
                               inputs={n: i for n, i in program.inputs.items() if n in needed})


def _copy(s: Statement) -> Statement:
    return dataclasses.replace(s, operands=list(s.operands))
