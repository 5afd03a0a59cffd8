"""Calls of functions that `jax.export` exported, and the layouts in them."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from stagewright.errors import ImportFailure
from stagewright.frontend import shardy
from stagewright.frontend.jax_step import import_jax

MESH = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("data", "model"))


def imported(tmp_path, function, *arguments, **options):
    made = import_jax(function, arguments, str(tmp_path / "out.mlir"), **options)
    return (tmp_path / "out.mlir").read_text(), made.remarks


def test_layouts_become_hints(tmp_path):
    """Two arguments and a constraint are split over the requested axis and become hints; the batch, over another, does not."""
    def net(p, x):
        h = jnp.tanh(x @ p["up"])
        return jax.lax.with_sharding_constraint(h, jax.sharding.NamedSharding(MESH, jax.P(None, "model"))) @ p["down"]
    params, x = dict(up=np.ones((8, 16), np.float32), down=np.ones((16, 8), np.float32)), np.ones((4, 8), np.float32)
    placed = [jax.sharding.NamedSharding(MESH, jax.P(*spec)) for spec in ((None, "model"), ("model", None), ("data", None))]
    net = export.export(jax.jit(net, in_shardings=(dict(up=placed[0], down=placed[1]), placed[2])))(params, x)

    def loss(p, x):
        return (net.call(p, x) ** 2).mean()
    text, remarks = imported(tmp_path, jax.value_and_grad(loss), params, x, shard_axis="model")
    hints = sorted(re.findall(r'"pipeline.split_hint".*{dim = (\d) : i64}>? : \(tensor<(\w+)xf32>\)', text))
    # For parameters and hidden units, and for the gradients of each.
    assert hints == 2 * [("0", "16x8")] + 2 * [("1", "4x16")] + 2 * [("1", "8x16")]
    assert "sdy" not in text and "func.call" not in text
    text, remarks = imported(tmp_path, jax.value_and_grad(loss), params, x)
    hints = re.findall(r'"pipeline.split_hint".*{axis = (\d) : i64, dim = (\d) : i64}>? : \(tensor<(\w+)xf32>\)', text)
    # The same over the second axis, and the batch over the first.
    assert sorted(hint[1:] for hint in hints if hint[0] == "1") == 2 * [("0", "16x8")] + 2 * [("1", "4x16")] + 2 * [("1", "8x16")]
    assert {hint[1:] for hint in hints if hint[0] == "0"} == {("0", "4x8")}
    assert any("split over the mesh axes data, model: --tensor-parallel=ROWSxCOLUMNS" in remark for remark in remarks)


MODULE = """
module @m {
  sdy.mesh @mesh = <["model"=4, "data"=1]>
  func.func public @main(%%arg0: tensor<4x8xf32> loc("x")) -> tensor<4x8xf32> {
    %%0 = %s loc("model.py":3:1)
    return %%0 : tensor<4x8xf32>
  }
}"""


@pytest.mark.parametrize("operation, message", (
    ('sdy.sharding_constraint %arg0 <@mesh, [{}, {"model":(1)2}]> : tensor<4x8xf32>',
     r"""model.py:3: the layout .* splits by a part of the mesh axis 'model'; only whole axes can be followed"""),
    ('sdy.sharding_constraint %arg0 <@mesh, [{}, {}], unreduced={"model"}> : tensor<4x8xf32>',
     "model.py:3: the layout .* is a sum that is still open"),
    ('sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"model"}, {}]>] out_shardings=[<@mesh, [{"model"}, {}]>] '
     'manual_axes={"model"} (%arg1: tensor<1x8xf32>) { sdy.return %arg1 : tensor<1x8xf32> } : (tensor<4x8xf32>) -> tensor<4x8xf32>',
     "model.py:3: 'sdy.manual_computation' is no hint that --tensor-parallel could follow"),
    ('sdy.sharding_constraint %arg0 <@mesh, [{"model", "data"}, {}]> : tensor<4x8xf32>',
     "model.py:3: a dimension is split over the mesh axes 'model', then 'data', but over the grid of shards first over 'data'")))
def test_layouts_that_are_no_hints_are_refused(operation, message):
    class Exported:
        def mlir_module(self):
            return MODULE % operation
    with pytest.raises(ImportFailure, match=message):
        shardy.with_hints(Exported(), ("data", "model"))


def double(x):
    return 2 * x


@pytest.mark.parametrize("how, shape, message", (
    (dict(platforms=["cpu", "cuda"]), "4, 8", "it was exported for cpu and cuda; export it for one"),
    (dict(), "n, 8", "its shapes have variables; export it with numbers")))
def test_what_cannot_be_called_is_refused(tmp_path, how, shape, message):
    exported = export.export(jax.jit(double), **how)(jax.ShapeDtypeStruct(export.symbolic_shape(shape), jnp.float32))
    with pytest.raises(ImportFailure, match=message):
        imported(tmp_path, exported.call, np.ones((4, 8), np.float32))
