#!/usr/bin/env python3
"""Starts the ranks of a run as a launcher would, with its documented variables, and prints their output.

  launch-ranks.py [--style torchrun|agent|srun|openmpi|mpich|flags] [--ranks N] [--order 1,0] [--pause SECONDS]
                  [--give "R ARGUMENT"] [--set "R NAME=VALUE"] [--leave-out R] [--signal KILL|STOP --within SECONDS]
                  COMMAND...

Ranks start in --order, --pause seconds apart. Arguments and variables (NAME alone unsets it) can be given to one rank R, or
with '*' to all. `%port` in them and in the command is the port of the rendezvous. With --signal the last rank in the
order gets the signal once all run their steps; then all must end within --within seconds, with one error line in total. The
status is 0 if that of every rank is.
"""

import argparse
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time


def variables(style, rank, ranks, port):
    """The variables of torchrun (also with its agent's store at the port), srun and two kinds of mpirun; none for flags."""
    torchrun = {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "RANK": rank, "WORLD_SIZE": ranks, "LOCAL_RANK": rank}
    return {"torchrun": torchrun,
            "agent": {**torchrun, "TORCHELASTIC_USE_AGENT_STORE": "True"},
            "srun": {"SLURM_PROCID": rank, "SLURM_STEP_NUM_TASKS": ranks, "SLURM_NTASKS": ranks, "SLURM_LOCALID": rank,
                     "SLURM_JOB_ID": os.getpid(), "SLURM_STEP_ID": 3, "SLURM_STEP_NODELIST": "localhost"},
            "openmpi": {"OMPI_COMM_WORLD_RANK": rank, "OMPI_COMM_WORLD_SIZE": ranks, "OMPI_COMM_WORLD_LOCAL_RANK": rank},
            "mpich": {"PMI_RANK": rank, "PMI_SIZE": ranks, "MPI_LOCALRANKID": rank},
            "flags": {}}[style]


def flags(style, rank, ranks, port):
    return [f"--rendezvous=localhost:{port}", f"--rank={rank}", f"--ranks={ranks}"] if style == "flags" else []


def start(options, rank, port):
    own = [text.split(" ", 1)[1].replace("%port", str(port)) for text in options.give if text.split(" ")[0] in (str(rank), "*")]
    environment = {**os.environ, **{name: str(value) for name, value in variables(options.style, rank, options.ranks, port).items()}}
    for text in options.set:
        who, what = text.split(" ", 1)
        if who in (str(rank), "*"):
            name, _, value = what.partition("=")
            environment[name] = value.replace("%port", str(port))
            if "=" not in what:
                del environment[name]
    command = [text.replace("%port", str(port)) for text in options.command]
    return subprocess.Popen([*command, *flags(options.style, rank, options.ranks, port), *own], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def send_signal(options, processes):
    """Signals the last rank once all have begun their steps, which is when a process starts more threads."""
    begin = time.monotonic()
    while not all(len(os.listdir(f"/proc/{it.pid}/task")) > 1 for it in processes.values()):
        if time.monotonic() - begin > 60 or any(it.poll() is not None for it in processes.values()):
            sys.exit("launch-ranks.py: the ranks did not start")
        time.sleep(0.01)
    time.sleep(1)
    target = list(processes.values())[-1]
    begin = time.monotonic()
    target.send_signal(getattr(signal, "SIG" + options.signal))
    for it in processes.values():
        if it is not target:
            it.wait(options.within)
    print(f"all others ended after {time.monotonic() - begin:.2f} s", flush=True)
    if options.signal == "STOP":
        target.send_signal(signal.SIGCONT)
        target.wait(options.within)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--style", default="torchrun")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--order", default="")
    parser.add_argument("--pause", type=float, default=0)
    parser.add_argument("--give", action="append", default=[])
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--leave-out", type=int)
    parser.add_argument("--other-connection", action="store_true", help="two other programs connect to the port first")
    parser.add_argument("--signal")
    parser.add_argument("--within", type=float, default=5)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
    processes, others = {}, []
    for rank in map(int, options.order.split(",") if options.order else range(options.ranks)):
        if rank == options.leave_out:
            continue
        if processes:
            time.sleep(options.pause)
        processes[rank] = start(options, rank, port)
        while options.other_connection and len(others) < 2:
            try:
                others.append(socket.create_connection(("localhost", port)))
                others[0].sendall(b"GET / HTTP/1.1\r\n\r\n"[:18])  # the second sends nothing
            except OSError:
                time.sleep(0.05)
    try:
        if options.signal:
            send_signal(options, processes)
        for rank, process in processes.items():
            out, err = process.communicate(timeout=120)
            sys.stdout.write("".join(f"{rank}: {line}\n" for line in (out + err).splitlines()))
    finally:
        for process in processes.values():
            process.kill()
    sys.exit(any(process.returncode for process in processes.values()))


main()
