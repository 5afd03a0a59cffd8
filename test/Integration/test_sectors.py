"""What the accesses of each kernel cost, by the emulator's counters: sectors of device memory, waves of shared memory.

The efficiency of loads is their bytes divided by those of the sectors that they touch, request by request; it is above 1 where
lanes of a warp read the same address. Widths are multiples of 32 elements, so that rows begin at sectors. Only accesses of at
least 8 KiB per launch are checked: a loss or one number per row cannot fill sectors."""

import dataclasses

import pytest

from emulator import NEEDED, TARGET, counted
from test_kernels import compiled

pytestmark = NEEDED

GPT = {"STAGEWRIGHT_GPT": "V=256,D=128,H=2,L=1,T=128,B=2"}
LLAMA = {"STAGEWRIGHT_LLAMA": "V=256,D=128,H=4,G=2,F=256,L=1,T=128,B=2"}
CONVNET = {"STAGEWRIGHT_CONVNET": "S=16,C=32,B=2,K=32"}
OWN_ATTENTION, OWN_KERNELS = ("--score-bytes=0",), {"STAGEWRIGHT_ALTERNATIVES": "1"}
LEAST_BYTES = 8192

# Efficiency of loads and stores, waves for each request of shared memory, by the form of the kernel.
LIMITS = {"elements": (0.95, 0.95, 1), "sums": (0.95, 0.95, 1), "scatter": (0.95, 0.95, 1),
          "rows": (0.95, 0.8, 1.5),  # also stores one number per row, as a mean
          # Accesses of 16 bytes take four waves. A thread stores four neighbours one by one, not 16 bytes at once.
          "attention": (0.95, 0.25, 4),
          # Four threads store 16 bytes of a row.
          "tensor attention": (0.95, 0.5, 5)}


@dataclasses.dataclass(frozen=True)
class Known:
    """Kernels that do not keep the limit of their form, at most `number` in a step."""
    form: str
    access: str
    least: float
    number: int
    reason: str


LOOKUP = Known("rows", "loads", 0.28, 1, "a thread reads four neighbours of the embedding one by one, not 16 bytes at once")
ROW_SUM = Known("elements", "loads", 0.06, 1, "each thread sums a row, to replace the library's gradient of attention")
FILTERS = Known("elements", "loads", 0.12, 8, "brings filters into another layout, without a tile in shared memory")

CASES = [("gpt.py:gpt", GPT, (), {}, (LOOKUP,)), ("gpt.py:gpt", GPT, OWN_ATTENTION, {}, (LOOKUP,)),
         ("gpt.py:gpt_bfloat16", GPT, (), {}, (LOOKUP,)),
         ("gpt.py:gpt_bfloat16", GPT, OWN_ATTENTION, OWN_KERNELS, (LOOKUP, ROW_SUM)),
         ("llama.py:llama", LLAMA, (), {}, (LOOKUP,)),
         ("llama.py:llama_bfloat16", LLAMA, OWN_ATTENTION, OWN_KERNELS, (LOOKUP, ROW_SUM)),
         ("convnet.py:convnet", CONVNET, (), {}, (FILTERS,))]


def measured(kernel):
    """(access, efficiency, whether it keeps the limit) of the accesses that are large enough."""
    loads, stores, waves = LIMITS[kernel["form"]]
    for access, prefix, least in (("loads", "loaded", loads), ("stores", "stored", stores)):
        count, sectors = kernel[f"{prefix}_bytes"], kernel[f"{prefix}_sectors"]
        if count >= LEAST_BYTES * kernel["launches"]:
            yield access, count / (32 * sectors), count / (32 * sectors) >= least
    if kernel["shared_requests"]:
        each = kernel["waves"] / kernel["shared_requests"]
        yield "waves", each, each <= waves


@pytest.mark.parametrize("model, sizes, flags, env, exceptions", CASES)
def test_every_kernel_uses_whole_sectors(workshop, model, sizes, flags, env, exceptions):
    artifact = compiled(workshop, model, sizes, 1, *TARGET, *flags)
    kernels = counted(artifact, workshop.path("sectors.counters"), env=env)
    left, wrong, seen = {it: it.number for it in exceptions}, [], 0
    for kernel in kernels:
        for access, value, keeps in measured(kernel):
            seen += 1
            known = next((it for it in exceptions
                          if (it.form, it.access) == (kernel["form"], access) and value >= it.least), None)
            if not keeps and left.get(known, 0) > 0:
                left[known] -= 1
            elif not keeps:
                wrong.append(f"{kernel['name']} ({kernel['form']}, grid {kernel['grid']}): {access} {value:.2f}")
    assert seen >= 20 and not wrong, wrong
