"""Overhead of the executor over the kernels: four stages on one GPU compared with a hand-made graph, the host's share of a
step, and the cost of a microbatch in torch.distributed.pipelining. Streams of one GPU share its multiprocessors, so these
figures do not show the speed of stages on separate GPUs."""

import importlib.util
import json
import pathlib
import statistics
import sys

from golden_step import Golden
from rows import Skip, ms, row, told, us

COUNTS = (4, 8, 16, 32)
ROUNDS, STEPS = 9, 20


def by_hand(machine, name):
    """The rows of bench-graph, which runs our step and the same kernels and products by hand in one process, in turns."""
    case, inputs = machine.case(name), Golden(machine, name).inputs()
    text = machine.call(machine.program("bench-graph", machine.artifact(name), inputs, ROUNDS, STEPS))
    found = json.loads(text)
    middle = {side: statistics.median(values) for side, values in found["seconds"].items()}
    what = f"{name}, {case['stages']} stages, {case['microbatches']} microbatches"
    ratio = middle["ours"] / middle["graph"]
    least = min(found["different_results"]["ours"], found["results"])
    rows = [row(f"{what}: graph replay beside a graph by hand", "ratio at most 1.02",
                f"{ratio:.3f} ({ms(middle['ours'])} and {ms(middle['graph'])}; {found['nodes']['ours']} and "
                f"{found['nodes']['graph']} nodes)", ratio <= 1.02)]
    for side, title in (("graph", "graph by hand"), ("streams", "streams by hand"), ("line", "one stream by hand")):
        differ = found["different_results"][side]
        rows.append(row(f"{what}: results of the {title}", f"the bits of ours in all but {least} of {found['results']}",
                        f"{differ} differ", differ <= least))
    for side, title in (("streams", "streams and events, call by call"), ("line", "a graph of one stream")):
        rows.append(told(f"{what}: ours beside {title}", f"{middle['ours'] / middle[side]:.3f} ({ms(middle[side])})"))
    return rows


def host(machine, name):
    """Host time of a step, for several numbers of microbatches."""
    rows, costs = [], []
    for count in COUNTS:
        inputs = Golden(machine, name, count).inputs()
        whole, enqueue = machine.times(name, inputs, f"--microbatches={count}")
        costs.append(enqueue)
        rows.append(row(f"{name}, host in a step of {count} microbatches", "under 50 us",
                        f"{us(enqueue)}; the step takes {ms(whole)}", enqueue < 50e-6))
    slope = (costs[-1] - costs[0]) / (COUNTS[-1] - COUNTS[0])
    # Host time does not depend on the number of microbatches: the increase is within the variation of a step.
    return rows + [row(f"{name}, host for one microbatch more", "under 0.5 us", f"{slope * 1e6:.2f} us", slope < 0.5e-6)]


def torch_pipelining(machine, name):
    """torch on the same sizes; the slope over the number of microbatches is the cost of one."""
    if not importlib.util.find_spec("torch"):
        raise Skip("PyTorch is not installed")
    case = machine.case(name)
    sizes = [item.partition("=")[2] for item in case["sizes"].split(",")]
    script = pathlib.Path(__file__).with_name("torch_stages.py")
    text = machine.call([sys.executable, str(script), *sizes, str(case["stages"]), "cuda", *map(str, COUNTS)], timeout=170)
    found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    first, last = found[0], found[-1]

    def slope(key):
        return (last[key] - first[key]) / (last["microbatches"] - first["microbatches"])
    ours = [machine.times(name, Golden(machine, name, count).inputs(), f"--microbatches={count}")[0]
            for count in (COUNTS[0], COUNTS[-1])]
    return [told(f"torch {first['torch']}, torch.distributed.pipelining, 4 stages in one process: a microbatch",
                 f"{us(slope('seconds'))} of the step, {us(slope('host_seconds'))} of the host"),
            told("the same forwards and backwards without a schedule: a microbatch", us(slope("without_schedule"))),
            told(f"ours, {name}: a microbatch of the step", us((ours[1] - ours[0]) / (COUNTS[-1] - COUNTS[0])))]


def items(machine):
    for case in machine.named("executor"):
        yield f"{case['name']} by hand", lambda name=case["name"]: by_hand(machine, name)
    yield "host", lambda: host(machine, "gpt-4")
    yield "torch", lambda: torch_pipelining(machine, "gpt-4")
