"""A message between two processes on two cores: through the channels of a step over MPI (claim, send, receive, release), by
MPI_Send and MPI_Recv in the same processes in turn, and by torch.distributed with gloo in turn with both. Seconds of one way,
half of a round trip."""

import json
import statistics

from ..stand.report import Result, Table, time
from ..stand.sides import call

SIZES = (1 << 10, 256 << 10, 16 << 20)
AT_MOST = 1.5
# Open MPI does not run as the superuser unless it is told to.
LAUNCH = ["mpirun", "--quiet", "-n", "2", "--bind-to", "core"]
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def size(bytes_):
    return f"{bytes_ >> 10} KiB"


def both(session, rounds):
    """By size, the rounds of ours and of MPI's own, in one run of two processes."""
    program = session.tool("bench-messages")
    engine = program.parent.parent / "lib/libstagewright-mpi.so"
    return {one["bytes"]: one for one in json.loads(call([*LAUNCH, program, engine, rounds, *SIZES], AS_ROOT))}


def run(session):
    table = Table(__doc__, ["message", "ours", "MPI", "torch, gloo", "ours / MPI", "of all runs", "ours / torch", "wanted at most"])
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
    return result
