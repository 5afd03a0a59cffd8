"""One process per rank, all on one GPU, with messages over NCCL."""

from check_numerics import check
from rows import told


def version(machine):
    return [told("NCCL that lets ranks share a GPU", machine.sharing_nccl())]


def both(machine, name):
    machine.sharing_nccl()
    return [check(machine, name, f"{name}, processes, graph", "--processes"),
            check(machine, name, f"{name}, processes, no graph", "--processes", "--no-graph")]


def items(machine):
    yield "version", lambda: version(machine)
    for case in machine.named("processes"):
        yield case["name"], lambda name=case["name"]: both(machine, name)
