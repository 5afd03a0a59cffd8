"""The sections of the check. Each is a module with `items(machine)`: pairs of a name and a function that returns rows. Items
are independent, so that a section can continue after a timeout. The most informative sections come first, since a GPU may be
available for minutes only."""

import dataclasses
import importlib


@dataclasses.dataclass(frozen=True)
class Section:
    name: str
    module: str
    title: str
    seconds: int  # limit for one call

    def items(self, machine):
        return list(importlib.import_module(self.module).items(machine))


SECTIONS = {section.name: section for section in [
    Section("about", "check_about", "What runs here", 60),
    Section("first", "check_first", "One tiny step equal to JAX's: whether anything runs here", 120),
    Section("step", "check_step", "GPT-2 small on one stage beside jax.jit and torch.compile", 330),
    Section("numerics", "check_numerics", "Loss and every gradient equal to JAX's on the same GPU, by a graph and without", 300),
    Section("executor", "check_executor", "Stages on one GPU beside a graph by hand; what the host does in a step", 200),
    Section("profile", "check_profile", "Measured costs, from which `gpu-check --predict` puts the step together", 150),
    Section("processes", "check_processes", "Every rank a process on the same GPU, messages by NCCL", 200),
    Section("faults", "check_faults", "A process that is killed or hangs in a step ends the run everywhere", 150),
    Section("sanitizer", "check_sanitizer", "compute-sanitizer on small steps: accesses and races", 300),
]}
NAMES = list(SECTIONS)
