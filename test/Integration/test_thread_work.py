"""No thread iterates over all tokens: the instructions of a kernel's thread do not grow with the number of sequences, nor, except in
attention, with their length.

The test reads the emulator's counters, not machine code: how often a loop runs depends on operands that its code does not
contain, and a loop that a warp shares looks like one of a single thread. An instruction is counted once per warp, so one thread
that works while 31 wait counts as a warp."""

import math

import pytest

from emulator import NEEDED, TARGET, counted
from test_kernels import compiled
from tiers import thorough

pytestmark = NEEDED

GPT, LLAMA = "V=32,D=32,H=1,L=1,T={T},B={B}", "V=32,D=32,H=2,G=1,F=64,L=1,T={T},B={B}"
OWN_ATTENTION, OWN_KERNELS = ("--score-bytes=0",), {"STAGEWRIGHT_ALTERNATIVES": "1"}
CASES = [("gpt.py:gpt", GPT, (), {}), ("llama.py:llama", LLAMA, (), {}),
         *thorough([("gpt.py:gpt_bfloat16", GPT, OWN_ATTENTION, OWN_KERNELS)])]
# Rows of a table are summed in the order of the tokens, for the same bits each time: each warp looks at every token's row.
MOST_PER_TOKEN = {"scatter": 2}
# Every query is multiplied by every key.
BY_LENGTH = ("attention", "tensor attention")


def instructions(workshop, model, sizes, flags, env):
    """(kernel, instructions of each of its warps)."""
    variable = f"STAGEWRIGHT_{model.partition('.')[0].upper()}"
    artifact = compiled(workshop, model, {variable: sizes}, 1, *TARGET, *flags)
    kernels = counted(artifact, workshop.path("walks.counters"), env=env)
    warps = [kernel["blocks"] * math.ceil(math.prod(kernel["block"]) / 32) for kernel in kernels]
    return [(kernel, kernel["instructions"] / count) for kernel, count in zip(kernels, warps)]


def walks(workshop, model, sizes, flags, env, short, long):
    """Kernels that execute more instructions per thread for `long` than for `short`, or more than one for each token."""
    before, after = (instructions(workshop, model, sizes.format(**size), flags, env) for size in (short, long))
    tokens, wrong = math.prod(long.values()), []

    def most(*forms):
        return max((count for kernel, count in before if kernel["form"] in forms), default=0)

    for kernel, count in after:
        form = kernel["form"]
        if form in MOST_PER_TOKEN:
            limit = MOST_PER_TOKEN[form] * tokens
        elif form in BY_LENGTH:
            limit = math.inf if long["T"] > short["T"] else 1.5 * most(form)
        else:
            limit = min(1.5 * most("elements", "rows", "sums"), tokens)
        if count > limit:
            wrong.append(f"{kernel['name']} ({form}, grid {kernel['grid']}, block {kernel['block']}): {count:.0f} instructions")
    return wrong


@pytest.mark.parametrize("model, sizes, flags, env", CASES)
def test_no_thread_walks_over_all_tokens(workshop, model, sizes, flags, env):
    short = {"T": 64, "B": 2}
    wrong = {str(long): walks(workshop, model, sizes, flags, env, short, long)
             for long in ({"T": 256, "B": 2}, {"T": 64, "B": 8})}
    assert not any(wrong.values()), wrong


def test_no_thread_walks_over_a_single_sequence(workshop):
    assert not walks(workshop, "gpt.py:gpt", GPT, (), {}, {"T": 64, "B": 1}, {"T": 256, "B": 1})
