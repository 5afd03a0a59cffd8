"""Reports the machine and its software."""

import machine as machines
from rows import told


def about(machine):
    rows = [told("GPU", line) for line in machines.gpus()]
    for name in ("jax", "torch"):
        try:
            rows.append(told(name, __import__(name).__version__))
        except ImportError:
            rows.append(told(name, "not installed"))
    for variable, file in {variable: file for variable, file, _ in reversed(machines.LIBRARIES)}.items():
        rows.append(told(file, machine.environment.get(variable, "as the system finds it")))
    size = sum(path.stat().st_size for path in machine.bundle.rglob("*") if path.is_file())
    return rows + [told("bundle", f"{size / 2**20:.1f} MiB")]


def items(machine):
    yield "about", lambda: about(machine)
