"""The fuzzer's pipeline with the stages chosen by the planner, and the names of layers."""

import re
import subprocess
import sys

import catalog

sys.path[:0] = [str(catalog.HERE.parent / "Fuzz")]

from pipeline import BUILD, MICROBATCHES, SECONDS, Failed, Pipeline  # noqa: E402


class Compiler(Pipeline):
    """A pipeline whose `compile` can let the planner choose the stages."""

    def compile(self, directory, stages):
        """`stages`: their number, "auto" for the planner's choice on two devices, "shards": all layers split over two, "groups": the
        same in two stages, or "gpu": one stage on a GPU, which the emulator runs."""
        if stages == "auto":
            self._compile(directory, 2)
        elif stages == "shards":
            self._compile(directory, 2, "--tensor-parallel=2")
        elif stages == "groups":
            try:
                self._compile(directory, 4, "--tensor-parallel=2", "--stages=2")
            except Failed as failed:
                if "cannot be cut into 2 stages" not in failed.outcome.message:
                    raise
                self._compile(directory, 2, "--tensor-parallel=2")
        elif stages == "gpu":
            self._compile(directory, 1, "--stages=1", "--target=cuda:sm_90a", "--ptx=all")
        else:
            self._compile(directory, stages, f"--stages={stages}")

    def cache(self, directory):
        """A code cache: most function bodies are the same for every number of stages."""
        return f"--cache-dir={directory / 'cache'}"

    def layers(self, directory):
        """The names of the layers of DIRECTORY/module.mlir in order, or none if it has no program."""
        try:
            done = subprocess.run([BUILD / "bin/pp-compile", directory / "module.mlir", "--emit=program", "--cluster=local:1",
                                   "--stages=1", f"--microbatches={MICROBATCHES}"], capture_output=True, text=True,
                                  timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return []
        found = re.search(r"\blayers = \[([^\]]*)\]", done.stdout)
        return re.findall(r'"([^"]*)"', found[1]) if found else []
