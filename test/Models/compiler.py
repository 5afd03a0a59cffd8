"""The tools as the suite uses them: the fuzzer's processes, stages that are left to the planner, the names of layers."""

import re
import subprocess
import sys

import catalog

sys.path[:0] = [str(catalog.HERE.parent / "Fuzz")]

from pipeline import BUILD, MICROBATCHES, SECONDS, Failed, Pipeline, _errors, _named  # noqa: E402


class Compiler(Pipeline):
    """A pipeline whose `compile` may leave the stages to the planner."""

    def compile(self, directory, stages):
        """`stages`: their number, or "auto" for what the planner takes of two devices."""
        command = [BUILD / "bin/pp-compile", directory / "module.mlir", f"--cluster=local:{2 if stages == 'auto' else stages}",
                   f"--microbatches={MICROBATCHES}", "--quiet", "--no-cache", "-o", directory / "step.swx",
                   *([] if stages == "auto" else [f"--stages={stages}"])]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, errors="replace")
        except subprocess.TimeoutExpired:
            raise Failed("crash", "compile", f"not done after {SECONDS} s") from None
        if done.returncode:
            crashed = done.returncode != 1
            text = f"{_named(done.returncode)}\n{_errors(done.stderr)}" if crashed else _errors(done.stderr)
            raise Failed("crash" if crashed else "refused", "compile", text)

    def layers(self, directory):
        """The names of the layers of DIRECTORY/module.mlir in order, or none where it has no program."""
        try:
            done = subprocess.run([BUILD / "bin/pp-compile", directory / "module.mlir", "--emit=program", "--cluster=local:1",
                                   "--stages=1", f"--microbatches={MICROBATCHES}"], capture_output=True, text=True,
                                  timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return []
        found = re.search(r"\blayers = \[([^\]]*)\]", done.stdout)
        return re.findall(r'"([^"]*)"', found[1]) if found else []
