"""Shrinks a failing program while it still fails in the same way: fewer results, statements, stages, smaller shapes."""

from __future__ import annotations

import dataclasses
import itertools
import time

from program import Program, Statement, Unsuitable
from source import live, written


def _replaced(program, target, name):
    """The program with another value in place of `target` everywhere, and without the statement that made `target`."""
    swap = lambda names: list(dict.fromkeys(name if n == target else n for n in names))
    statements = [dataclasses.replace(s, operands=[name if o == target else o for o in s.operands])
                  for s in program.statements if s.target != target]
    return dataclasses.replace(program, statements=statements, terms=swap(program.terms), outputs=swap(program.outputs))


def _results(program):
    if program.outputs:
        yield dataclasses.replace(program, outputs=[])
        for n in program.outputs if len(program.outputs) > 1 else ():
            yield dataclasses.replace(program, outputs=[o for o in program.outputs if o != n])
    for n in program.terms if len(program.terms) > 1 else ():
        yield dataclasses.replace(program, terms=[n])
        yield dataclasses.replace(program, terms=[t for t in program.terms if t != n])


def _earlier_results(program):
    """The loss computed from one intermediate value."""
    for s in program.statements[:-1]:
        yield dataclasses.replace(program, terms=[s.target], outputs=[])


def _plan(program):
    if program.schedule:
        yield dataclasses.replace(program, schedule="")
    if program.replicas > 1:
        yield dataclasses.replace(program, replicas=1)
    if program.shards > 1:
        yield dataclasses.replace(program, shards=1)
    for stages in range(1, program.stages):
        yield dataclasses.replace(program, stages=stages)
    if program.scopes and program.stages == 1:
        yield dataclasses.replace(program, scopes=False)
    scopes = sorted({s.scope for s in program.statements})
    for a, b in zip(scopes, scopes[1:]):
        yield dataclasses.replace(program, statements=[
            dataclasses.replace(s, scope=a if s.scope == b else s.scope) for s in program.statements])


def _statements(program):
    """A value replaced by another of the same type: an operand of it, an argument, any earlier one."""
    values = written(program).values
    made = {s.target: s for s in program.statements}
    for s in reversed(program.statements):
        alike = [n for n, v in values.items() if n != s.target and v.shape == values[s.target].shape and
                 v.dtype == values[s.target].dtype and (n not in made or program.statements.index(made[n]) <
                                                        program.statements.index(s))]
        for n in sorted(alike, key=lambda n: (n in made, n not in s.operands))[:6]:
            yield _replaced(program, s.target, n)
        # Or by an operand of any shape, if the readers accept it.
        for n in s.operands:
            if n in values:
                yield _replaced(program, s.target, n)


def _simpler(program):
    """A statement replaced by operation `plain`."""
    for number, s in enumerate(program.statements):
        if s.operation in ("layer", "smooth", "plain") or not s.operands:
            continue
        plain = Statement(s.target, "plain", 0, s.operands[:1], s.scope)
        yield dataclasses.replace(program, statements=[*program.statements[:number], plain,
                                                       *program.statements[number + 1:]])


def _shapes(program):
    """A smaller extent in place of all equal ones."""
    extents = sorted({n for i in program.inputs.values() for n in i.shape}, reverse=True)
    for n in extents:
        for smaller in sorted({1, 2, 3, n - 1} & set(range(1, n))):
            inputs = {name: dataclasses.replace(i, shape=tuple(smaller if m == n else m for m in i.shape))
                      for name, i in program.inputs.items()}
            made = {o for s in program.statements for o in s.operands if o not in program.inputs}
            yield dataclasses.replace(program, inputs={k: i for k, i in inputs.items() if k not in made})


def _types(program):
    if any(i.dtype == "H" for i in program.inputs.values()):
        yield dataclasses.replace(program, inputs={n: dataclasses.replace(i, dtype="F" if i.dtype == "H" else i.dtype)
                                                   for n, i in program.inputs.items()})


STEPS = (_results, _earlier_results, _plan, _statements, _simpler, _shapes, _types)


def candidates(program: Program):
    """Smaller programs, those that remove most first."""
    for step in STEPS:
        try:
            yield from step(program)
        except Unsuitable:
            continue


def size(program):
    return (len(program.statements), len(program.terms) + len(program.outputs), program.stages, program.replicas,
            bool(program.schedule),
            sum(s.operation != "plain" for s in program.statements), len({s.scope for s in program.statements}),
            program.scopes, sum(sum(i.shape) for i in program.inputs.values()),
            sum(i.dtype == "H" for i in program.inputs.values()))


def minimise(program: Program, fails, attempts=150, seconds=120):
    """The smallest program found for which `fails(program)` is true; None if the given one does not fail again."""
    program, tried, seen, end = live(program), 0, set(), time.monotonic() + seconds
    if not fails(program):
        return None
    while True:
        for candidate in itertools.islice(candidates(program), 400):
            try:
                candidate = live(candidate)
                text = written(candidate).text
            except (Unsuitable, KeyError, IndexError):
                continue
            if text in seen or size(candidate) >= size(program):
                continue
            seen.add(text)
            tried += 1
            if tried > attempts or time.monotonic() > end:
                return program
            if fails(candidate):
                program = candidate
                break
        else:
            return program
