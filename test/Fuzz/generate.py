"""Makes a random program from a seed and a number: the same one each time."""

from __future__ import annotations

import random
import re

from operations import FAMILIES, OPERATIONS, WEIGHTS
from program import Input, Program, Statement, Unsuitable, input_values, write

SCHEDULES = ("", "", "1f1b", "gpipe", "zb-h1")
MOST_STATEMENTS = 14
ATTEMPTS = 12  # for one statement


def _inputs(rng, short):
    """Arguments: batches of different ranks, integers that serve as indices, constants, parameters; some never read."""
    batch, features = rng.randint(1, 5) if rng.random() < 0.2 else rng.randint(2, 5), rng.randint(2, 8)
    if rng.random() < 0.15:  # larger than a vector register, mostly with a remainder
        features = rng.choice((15, 16, 17, 24, 33))
    length = rng.randint(2, 6)
    shapes = [(batch, features), (batch, length, features), (batch, length), (batch, 4, rng.randint(3, 6), 2), (batch,)]
    kind = lambda: "H" if short and rng.random() < 0.4 else "F"
    main = rng.choices(shapes, (5, 4, 2, 3, 1))[0]
    inputs = {"x0": Input("batch", main, kind())}
    if rng.random() < 0.6:
        inputs["x1"] = Input("batch", main if rng.random() < 0.5 else rng.choice(shapes), kind())
    inputs["i0"] = Input("batch", (batch,), "I", high=rng.randint(2, 7))
    if rng.random() < 0.5:
        inputs["i1"] = Input("batch", main if len(main) < 4 else (batch, length), "I", high=rng.randint(2, 7))
    if rng.random() < 0.25:
        inputs["m0"] = Input("batch", main, "B")
    if rng.random() < 0.3:
        inputs["c0"] = Input("constant", (), "F")
    if rng.random() < 0.4:
        inputs["n0"] = Input("constant", (), "I", high=5)
    if rng.random() < 0.25:
        inputs["key"] = Input("seed", ())
    for name, shape in (("w1", main[1:]), ("w2", main), ("w3", ())):
        if rng.random() < 0.35:
            inputs[name] = Input("parameter", shape, kind())
    return inputs


def generate(seed: int, number: int, families=None) -> Program:
    """Program `number` of a seed. With `families`, only operations of these files and `layer`."""
    rng = random.Random(f"{seed}.{number}")
    short = rng.random() < 0.25
    inputs = _inputs(rng, short)
    names = list(OPERATIONS)
    theme = rng.sample(sorted(set(FAMILIES.values())), 3)
    weights = [WEIGHTS[n] * (4 if FAMILIES[n] in theme else 1) for n in names]
    if families:
        weights = [w if FAMILIES[n] in families or n == "layer" else 0 for n, w in zip(names, weights)]
    blocks = rng.randint(1, 4)
    count = rng.randint(max(3, blocks), MOST_STATEMENTS)
    values, statements = input_values(inputs), []
    # An index that operations read or write at; it differs between microbatches.
    where = Statement("j0", "first_integer", 0, [])
    values["j0"] = write(where, OPERATIONS, values, inputs, random.Random(0))[1]
    statements.append(where)
    while len(statements) <= count:
        for _ in range(ATTEMPTS):
            name = rng.choices(names, weights)[0]
            statement = Statement(f"v{len(statements)}", name, rng.randrange(10**6), [],
                                  len(statements) * blocks // (count + 1))
            try:
                text, value = write(statement, OPERATIONS, values, inputs, rng)
            except Unsuitable:
                continue
            if not short and re.search(r"\bH\b", text):
                for operand in statement.operands:
                    if operand not in values and operand in inputs:
                        inputs.pop(operand)
                continue
            values = {**input_values(inputs), **{n: v for n, v in values.items() if n not in inputs}}
            values[statement.target] = value
            statements.append(statement)
            break
        else:
            count -= 1
    made = [s.target for s in statements[1:]]
    floating = [n for n in made if values[n].floating] or [next(n for n, v in values.items() if v.floating)]
    training = rng.random() < 0.92
    read = {o for s in statements for o in s.operands}
    terms = [n for n in floating if n == floating[-1] or n not in read and rng.random() < 0.8 or rng.random() < 0.1]
    others = [n for n in made if n not in terms]
    outputs = rng.sample(others, min(len(others), rng.randint(1, 2))) if rng.random() < 0.25 else []
    stages = rng.randint(1, min(3, blocks))
    if rng.random() < 0.8:
        used = {o for s in statements for o in s.operands}
        inputs = {n: i for n, i in inputs.items() if n in used or n in terms}
    replicas = 2 if rng.random() < 0.2 else 1
    schedule = rng.choice(SCHEDULES) if replicas == 1 else ""
    shards = 2 if replicas == 1 and rng.random() < 0.25 else 1
    if shards > 1:
        schedule = rng.choice(("", "gpipe", "zb-h1")) if stages > 1 else ""
    return Program(inputs, statements, terms, outputs, stages, replicas, schedule, shards,
                   blocks > 1 or rng.random() < 0.5, training, rng.randrange(1000))
