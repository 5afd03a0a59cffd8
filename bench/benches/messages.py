"""A message between two processes on two cores: through the channels of a step over MPI (claim, send, receive, release), by
MPI_Send and MPI_Recv in the same processes, and by torch.distributed with gloo; all three take turns. Seconds of one way, half
of a round trip. Also the cost of one more microbatch, with a model of negligible arithmetic."""

import json
import statistics

from ..harness.hosts import AS_ROOT
from ..harness.models import GPT
from ..harness.report import Result, Table, time
from ..harness.sides import call

SIZES = (1 << 10, 256 << 10, 16 << 20)
AT_MOST = 1.5
LAUNCH = ["mpirun", "--quiet", "-n", "2", "--bind-to", "core"]
SMALL = GPT.sized("gpt-tiny", V=64, D=16, H=2, L=2, T=8, B=1)
FEW, MANY = 8, 72  # microbatches


def size(bytes_):
    return f"{bytes_ >> 10} KiB"


def both(session, rounds):
    """By size, the rounds of our channels and of plain MPI, in one run of two processes."""
    program = session.tool("bench-messages")
    engine = program.parent.parent / "lib/libstagewright-mpi.so"
    return {one["bytes"]: one for one in json.loads(call([*LAUNCH, program, engine, rounds, *SIZES], AS_ROOT))}


def slope(measure):
    """Seconds per additional microbatch; `measure(count)` returns seconds of a step."""
    return (measure(MANY) - measure(FEW)) / (MANY - FEW)


def microbatch(session, result):
    """A table of the cost of a microbatch on two ranks under 1F1B: ours with threads and with processes, and torch's."""
    table = Table("One more microbatch of a GPT of width 16 on two ranks, 1F1B.", ["", "seconds", "of all rounds"])
    module = session.imported(SMALL)
    artifact = session.compiled(module, 2, "--schedule=1f1b")

    def ours(count, *launch):
        told = call([*launch, session.tool("pp-run"), artifact, f"--inputs={module.with_suffix('.inputs.safetensors')}",
                     "--repeat-microbatch", "--json", "--steps=200", f"--microbatches={count}"], AS_ROOT)
        return statistics.median(json.loads(told)["seconds"])

    sides = {"ours, threads": ours, "ours, MPI": lambda count: ours(count, *LAUNCH)}
    peers = {}
    if "torch" in session.options.peers:
        peers = {count: session.torch(SMALL, 2, microbatches=count) for count in (FEW, MANY)}
        sides["torch.distributed.pipelining, gloo"] = lambda count: statistics.median(peers[count].turn(20))
    found = {name: [] for name in sides}
    try:
        for _ in range(session.options.rounds):
            for name, measure in sides.items():
                found[name].append(slope(measure))
    finally:
        for peer in peers.values():
            peer.close()
    for name, seconds in found.items():
        result.figures[name] = seconds
        table.rows.append([name, time(statistics.median(seconds)), f"{time(min(seconds))} to {time(max(seconds))}"])
    result.tables.append(table)


def run(session):
    table = Table(__doc__, ["message", "ours", "MPI", "torch, gloo", "ours / MPI", "of all runs", "ours / torch", "limit"])
    result, found = Result("messages", [table]), {bytes_: dict(ours=[], mpi=[], torch=[]) for bytes_ in SIZES}
    peer = session.torch_messages(SIZES) if "torch" in session.options.peers else None
    try:
        for number in range(session.options.rounds):
            for bytes_, one in both(session, 9).items():
                for side in ("ours", "mpi"):
                    found[bytes_][side].append(statistics.median(one[side]))
            for bytes_, seconds in (peer.turn(3) if peer else {}).items():
                found[int(bytes_)]["torch"].append(statistics.median(seconds))
            session.say(f"  round {number + 1}: " + ", ".join(
                f"{size(b)} {time(f['ours'][-1])} beside {time(f['mpi'][-1])}" for b, f in found.items()))
    finally:
        if peer:
            peer.close()
    for bytes_, sides in found.items():
        middle = {side: statistics.median(values) for side, values in sides.items() if values}
        ratios = [a / b for a, b in zip(sides["ours"], sides["mpi"])]
        ratio = statistics.median(ratios)
        result.ratios[str(bytes_)], result.figures[str(bytes_)] = ratio, sides
        torch = middle.get("torch")
        table.rows.append([size(bytes_), time(middle["ours"]), time(middle["mpi"]), time(torch) if torch else "-", f"{ratio:.2f}",
                           f"{min(ratios):.2f} to {max(ratios):.2f}", f"{middle['ours'] / torch:.2f}" if torch else "-",
                           result.want(f"{size(bytes_)}, ours / MPI", ratio, AT_MOST)])
    microbatch(session, result)
    return result
