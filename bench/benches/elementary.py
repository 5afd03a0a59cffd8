"""Elementary functions in float32 on one core: ours beside SLEEF, glibc's vector library and XLA, ns per value.

Every side sums f(x + s) over 16 shifts s for 16,384 values x in [0.25, 4.25], so that nearly all its time is that of the function.
The libraries are called from C with the widest vectors of the processor (packages libsleef-dev and clang). Errors are in units in the
last place: ours over all values of float32 (test_elementary.py), the libraries' as they state them.
"""

import contextlib
import platform
import shutil
import statistics
import struct

from devtool.console import Failure

from ..harness import turns
from ..harness.models import FOLDER, MICROBATCHES, Model
from ..harness.report import Result, Table, number
from ..harness.session import PEERS, agree
from ..harness.sides import Peer, call

SIDE, SHIFTS = 128, 16
VALUES = SIDE * SIDE
# Largest errors of ours, as in Elementary.h.
PARTS = dict(exp=1.62, exp2=1.59, expm1=1.44, log=0.92, log1p=1.46, tanh=1.96, erf=1.57, erfc=1.82, sin=1.50, cos=1.50)
# Errors of SLEEF 3.5's functions, in tenths of a unit: 1 unit, for erfc 1.5, and for some also 3.5, which is faster.
EXACT = dict.fromkeys(PARTS, 10) | dict(erfc=15)
FAST = dict.fromkeys(("exp2", "log", "tanh", "sin", "cos"), 35)
LIMIT = 1.1


def run(session):
    table = Table(__doc__.splitlines()[0], ["", "ours", "error", "SLEEF", "error", "SLEEF", "error", "glibc", "error", "XLA"])
    result = Result("elementary", [table])
    options = session.options
    for name in session.parts(PARTS):
        model = Model(name, "elementary.py:elementary", dict(F=list(PARTS).index(name), N=SIDE, K=SHIFTS), 1)
        module = session.imported(model)
        with contextlib.ExitStack() as open_sides:
            sides = [session.ours(session.compiled(module, 1), module, "0"), *libraries(session, name), session.jax(model, "0")]
            for side in sides:
                open_sides.callback(side.close)
            mean = computed(sides[0], session)
            if wrong := [side.name for side in sides[1:] if not agree(side.loss, mean)]:
                raise Failure(f"{name}: {', '.join(wrong)} and ours do not compute the same")
            taken = turns.take(sides, session.say, name, options.rounds, options.rounds, options.turn)
        each = {side: statistics.median(map(statistics.median, kept)) / (VALUES * SHIFTS * MICROBATCHES)
                for side, kept in taken.items()}
        errors = dict(ours=PARTS[name], sleef=EXACT[name] / 10, fast=FAST.get(name, 0) / 10, glibc=4)
        table.rows.append([name, *(cell for side, error in errors.items() for cell in (
            (number(1e9 * each[side], 3), error) if side in each else ("", ""))), number(1e9 * each["jax"], 3)])
        quickest = min(seconds for side, seconds in each.items() if side in ("sleef", "fast", "glibc"))
        result.want(f"{name}, ours relative to the fastest library", each["ours"] / quickest, LIMIT)
        result.figures[name] = {f"{side}_s": seconds for side, seconds in each.items()}
    return result


def computed(ours, session):
    """What our step computes: its one result, the last bytes of the file."""
    results = session.work / "elementary.safetensors"
    call([*ours.command, "--steps=1", f"--outputs={results}"])
    return struct.unpack("<f", results.read_bytes()[-4:])[0]


def libraries(session, name):
    """The functions of the libraries as peers. In glibc's names e is AVX-512, d AVX2; N: without a mask."""
    yield peer(session, name, "sleef", f"Sleef_{name}f16_u{EXACT[name]}", f"Sleef_{name}f8_u{EXACT[name]}", "-lsleef")
    if name in FAST:
        yield peer(session, name, "fast", f"Sleef_{name}f16_u{FAST[name]}", f"Sleef_{name}f8_u{FAST[name]}", "-lsleef")
    yield peer(session, name, "glibc", f"_ZGVeN16v_{name}f", f"_ZGVdN8v_{name}f", "-lmvec")


def peer(session, name, side, wide, narrow, flag):
    compiler = shutil.which("clang-22") or shutil.which("clang")
    if not compiler or platform.machine() != "x86_64":
        raise Failure("the peers of this bench need clang and an x86-64 processor")
    program = session.work / f"elementary-{name}-{side}"
    call([compiler, "-O3", "-march=native", f"-DCALL16={wide}", f"-DCALL8={narrow}", PEERS / "elementary.c", "-o", program, flag, "-lm"])
    return Peer(side, [["taskset", "-c", "0", program, VALUES, SHIFTS, MICROBATCHES]], session.work / f"elementary-{side}.log")
