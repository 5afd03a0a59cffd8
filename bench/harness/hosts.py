"""Emulates several hosts on one machine: a network namespace each, connected by one switch, every link shaped by `tc`.

Programs on them use real sockets with a real bandwidth limit, and mpirun sees several nodes: its remote shell is `ip netns
exec`. Needs root (or the capabilities to make namespaces) and iproute2.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess

NETWORK = "10.77.0"
# The token bucket holds about 2 ms of traffic: less would starve a fast link, more would let messages through unshaped.
BUCKET_SECONDS, LEAST_BUCKET = 2e-3, 16 << 10


def why_not():
    """Why hosts cannot be emulated here; empty if they can."""
    if missing := [name for name in ("ip", "tc", "unshare", "mpirun") if not shutil.which(name)]:
        return f"there is no {', '.join(missing)}"
    tried = subprocess.run(["unshare", "--net", "--uts", "true"], capture_output=True, text=True)
    return f"no namespaces: {tried.stderr.strip()}" if tried.returncode else ""


def told(*command):
    """Runs a command that must succeed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")


class Hosts:
    """`bytes_a_second` limits what a host sends to all others together; None means no limit. A context manager: on exit all is
    removed, including processes."""

    def __init__(self, folder, count=2, bytes_a_second=None):
        self.count, self.rate, self.prefix = count, bytes_a_second, f"sw{os.getpid()}"
        self.agent = pathlib.Path(folder) / "remote-shell"

    def namespace(self, host):
        return f"{self.prefix}-{host}"

    def address(self, host):
        return f"{NETWORK}.{host + 1}"

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self.remove)
            switch = self.namespace("switch")
            told("ip", "netns", "add", switch)
            told("ip", "-n", switch, "link", "add", "switch", "type", "bridge")
            told("ip", "-n", switch, "link", "set", "switch", "up")
            for host in range(self.count):
                self.plug(switch, host)
            self.agent.write_text("#!/bin/sh\n# Called as a remote shell: HOST COMMAND...\nhost=${1##*.}; shift\n"
                                  f'exec ip netns exec {self.prefix}-$((host - 1)) unshare --uts '
                                  'sh -c "hostname host$host; $*"\n')
            self.agent.chmod(0o755)
            undo.pop_all()
        return self

    def plug(self, switch, host):
        name, inside = self.namespace(host), f"port{host}"
        told("ip", "netns", "add", name)
        told("ip", "link", "add", inside, "netns", switch, "type", "veth", "peer", "name", "eth0", "netns", name)
        told("ip", "-n", switch, "link", "set", inside, "master", "switch", "up")
        told("ip", "-n", name, "addr", "add", f"{self.address(host)}/24", "dev", "eth0")
        for device in ("eth0", "lo"):
            told("ip", "-n", name, "link", "set", device, "up")
        if self.rate:
            bucket = max(LEAST_BUCKET, int(self.rate * BUCKET_SECONDS))
            told("tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", f"{int(self.rate * 8)}bit",
                  "burst", bucket, "latency", "50ms")

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)
        for host in (*range(self.count), "switch"):
            subprocess.run(["ip", "netns", "delete", self.namespace(host)], capture_output=True)

    def processes(self, host=None):
        """PIDs of the processes on one host, or on all."""
        text = [subprocess.run(["ip", "netns", "pids", self.namespace(one)], capture_output=True, text=True).stdout
                for one in (range(self.count) if host is None else [host])]
        return [int(pid) for pid in " ".join(text).split()]

    def command(self, slots, *program, bind="none"):
        """`program` under mpirun with `slots` processes by host: [2, 2] is two on each of two hosts. With `bind` "core", process n of
        each host is on core n of this machine."""
        where = ",".join(f"{self.address(host)}:{count}" for host, count in enumerate(slots))
        within = f"{NETWORK}.0/24"
        return [str(part) for part in (
            "ip", "netns", "exec", self.namespace(0), "unshare", "--uts", "sh", "-c", 'hostname host1; exec "$@"', "-",
            "mpirun", "--quiet", "--host", where, "-n", sum(slots), "--map-by", "slot", "--bind-to", bind,
            "--mca", "plm_rsh_agent", self.agent, "--mca", "btl", "self,vader,tcp", "--mca", "btl_tcp_if_include", within,
            "--mca", "oob_tcp_if_include", within, *program)]


# Open MPI refuses to run as root without these.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def cluster(name, slots, bytes_a_second=None, core=(7.8e10, 2.0e10), latency=1e-4):
    """A cluster file: cores on each host, and the bandwidth and the latency (seconds) between two hosts; without a bandwidth all
    cores are on one host, as for a plan that does not know the hosts. `core`: flops and memory bytes per second."""
    hosts = [host for host, count in enumerate(slots) for _ in range(count)]
    devices = [{"name": f"core{index}", "class": "cpu-core", "node": host if bytes_a_second else 0, "flops": core[0],
                "bandwidth": core[1], "memory": 16 << 30} for index, host in enumerate(hosts)]
    fabric = {"inside": {"bandwidth": 1e10, "latency": 2e-6}}
    if bytes_a_second:
        fabric |= {"between": {"bandwidth": bytes_a_second, "latency": latency}, "nic": bytes_a_second}
    return {"name": name, "devices": devices, "fabric": fabric}
