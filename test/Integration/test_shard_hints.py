"""Shardings of JAX models as hints on how to split parameters."""

import re
import subprocess
import sys

import pytest

from sharded import LLAMA, MICROBATCHES, agrees_with_jax
from workshop import BUILD, HERE, call, tool


@pytest.mark.parametrize("devices", (1, 2))
def test_shardings_of_a_jax_model_are_hints(tmp_path, imported, devices):
    """The model's arrays are split over two devices, or over a mesh of one: the program equals that of the same hints."""
    plain, folder = imported("llama.py:llama"), tmp_path / "sharded"
    folder.mkdir()
    call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models/llama.py:llama_sharded", "-o", folder / "step.mlir",
         env={"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"})
    flags = "--cluster=local:2", "--tensor-parallel=2", "--microbatches=4", "--emit=rank", "--quiet"
    hinted, own = tool("pp-compile", plain / "step.mlir", *flags, f"--shard={LLAMA}"), tool("pp-compile", folder / "step.mlir", *flags)
    assert own == hinted
    # Hints override the file; parameters with neither are whole.
    fewer = tool("pp-compile", folder / "step.mlir", *flags, "--shard=*/q=whole,*/k=whole,*/v=whole,*/o=whole")
    assert fewer == tool("pp-compile", plain / "step.mlir", *flags, "--shard=*/gate=1,*/up=1,*/down=0")


def test_constraints_of_values_are_hints(tmp_path, imported):
    """`with_sharding_constraint` on queries and on hidden units: the parameters that are split with them follow, with the keys and
    values of the same heads."""
    plain, folder = imported("llama.py:llama"), imported("llama.py:llama_constrained")
    flags = "--cluster=local:2", "--tensor-parallel=2", "--microbatches=4", "--emit=rank", "--quiet"
    own = tool("pp-compile", folder / "step.mlir", *flags)
    assert own == tool("pp-compile", plain / "step.mlir", *flags, f"--shard={LLAMA},*=auto")
    artifact = tmp_path / "step.swx"
    tool("pp-compile", folder / "step.mlir", *flags[:3], "--quiet", "-o", artifact)
    agrees_with_jax(artifact, plain)
    # Without shards a constraint leaves nothing but the attribute of the parameter.
    whole = [tool("pp-compile", it / "step.mlir", "--cluster=local:1", "--emit=rank", "--quiet") for it in (folder, plain)]
    assert re.sub(r", pipeline.split_derived|, pipeline.split_\w+ = \d+ : i64", "", whole[0]) == whole[1]


def test_shardings_of_exported_functions_are_hints(tmp_path, imported):
    """`jax.export` writes the layouts of arguments and of their gradients in Shardy."""
    plain, artifact = imported("llama.py:llama"), tmp_path / "step.swx"
    call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models/llama.py:llama_exported", "-o", tmp_path / "step.mlir",
         env={"XLA_FLAGS": "--xla_force_host_platform_device_count=2"})
    text = (tmp_path / "step.mlir").read_text()
    assert text.count("pipeline.split_hint") == 2 * 2 * len(LLAMA.split(",")) and "sdy" not in text
    done = subprocess.run([BUILD / "bin/pp-compile", tmp_path / "step.mlir", "--cluster=local:2", "--tensor-parallel=2",
                           f"--microbatches={MICROBATCHES}", "-o", artifact], capture_output=True, text=True)
    found = re.search(r"as by --shard='([^']*)'", done.stderr)[1].split(",")
    assert {f"params/layers/{hint}" for hint in LLAMA.split(",")} <= set(found)
    agrees_with_jax(artifact, plain)
