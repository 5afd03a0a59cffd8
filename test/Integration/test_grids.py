"""Shards that form a grid of 2 x 2: conversions between layouts with an entry for each axis, and models. Values equal the global
ones; bytes equal OneFlow's table for the axes that change, one after the other."""

import itertools
import re
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file

import sharded
from conversions import LAYOUTS, compiled, mpirun, run
from emulator import NEEDED, emulated
from sharded import MPI
from tiers import thorough
from workshop import BUILD, HERE, call, tool

ROWS, INNER, COLUMNS = 8, 8, 16
SIZE = 4 * ROWS * COLUMNS   # Bytes of a value.
SPLIT = "S0", "S1"
BOTH = list(itertools.product(LAYOUTS, LAYOUTS))
PAIRS = list(itertools.product(BOTH, BOTH))


def hints(name, layouts, dims):
    """The hint for an argument that has dimension `dims[layout]` split along each axis."""
    own = [str(dims.get(layout, "whole")) for layout in layouts]
    return [] if set(own) == {"whole"} else [f"{name}={';'.join(own)}"]


class Pair:
    """Operations whose value `v`, the product of two arguments, has layout `source`, and is then needed in layout `target`:
    added to `to`. On an axis where `v` must be whole, `to` is split and `v` is reversed in the split dimension; on an axis
    where `v` must be a sum, `to` is a sum too, and so is `then`, which is added later, so that all become one sum."""

    def __init__(self, number, source, target):
        self.source, self.target, n = source, target, f"n{number}"
        self.name, self.arguments, self.hints, self.body = n, {}, [], []
        self.product(n, source)
        # A dimension that the other axis does not split.
        self.to = tuple(own if own != "B" else "S1" if target[1 - axis] == "S0" or axis == 1 and target[0] == "B" else "S0"
                        for axis, own in enumerate(target))
        self.reversed = [any(own == "B" and to == f"S{dim}" for own, to in zip(target, self.to)) for dim in (0, 1)]
        index = ", ".join(f"%{name}r" if isReversed else f"%{name}" for name, isReversed in zip("ij", self.reversed))
        if "P" in target:
            self.product(f"{n}to", self.to)
            self.product(f"{n}then", self.to)
            value = f"%{n}v"
            if "B" in target:   # Reverses both dimensions of a sum over one axis, which must be whole on the other.
                self.reversed = [True, True]
                value = f"%{n}r"
                self.body.append(f"""{value} = linalg.generic {{indexing_maps = [#reverse, #id], iterator_types = ["parallel", "parallel"]}}
                    ins(%{n}v : !v) outs(%empty : !v) {{
                  ^bb0(%a: f32, %o: f32):
                    linalg.yield %a : f32
                }} -> !v""")
            self.body += [f"%{n}z = linalg.add ins(%{n}tov, {value} : !v, !v) outs(%empty : !v) -> !v",
                          f"%{n}y = linalg.add ins(%{n}z, %{n}thenv : !v, !v) outs(%empty : !v) -> !v"]
        else:
            self.add(f"{n}to", (ROWS, COLUMNS), hints(f"{n}to", self.to, {"S0": 0, "S1": 1}))
            self.body.append(f"""%{n}y = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
                ins(%{n}to : !v) outs(%empty : !v) {{
              ^bb0(%a: f32, %o: f32):
                %i = linalg.index 0 : index
                %j = linalg.index 1 : index
                %last = arith.constant {ROWS - 1} : index
                %end = arith.constant {COLUMNS - 1} : index
                %ir = arith.subi %last, %i : index
                %jr = arith.subi %end, %j : index
                %b = tensor.extract %{n}v[{index}] : !v
                %c = arith.addf %a, %b : f32
                linalg.yield %c : f32
            }} -> !v""" if "B" in target else
                             f"%{n}y = linalg.add ins(%{n}to, %{n}v : !v, !v) outs(%empty : !v) -> !v")

    def add(self, name, shape, own):
        self.arguments[name] = "parameter" if own else "batch", shape
        self.hints += own

    def product(self, n, layouts):
        left, right = f"{n}left", f"{n}right"
        self.add(left, (ROWS, INNER), hints(left, layouts, {"S0": 0}))
        self.add(right, (INNER, COLUMNS), hints(right, layouts, {"S1": 1, "P": 0}))
        self.body.append(f"%{n}v = linalg.matmul ins(%{left}, %{right} : tensor<{ROWS}x{INNER}xf32>, tensor<{INNER}x{COLUMNS}xf32>) "
                         "outs(%zeros : !v) -> !v")

    def value(self, values):
        n = self.name
        value = values[f"{n}left"] @ values[f"{n}right"]
        to = sum(values[f"{n}{own}left"] @ values[f"{n}{own}right"] for own in ("to", "then")) if "P" in self.target else values[f"{n}to"]
        return to + value[tuple(slice(None, None, -1 if isReversed else 1) for isReversed in self.reversed)]

    def expected(self):
        """Bytes of the conversion and of its result to the last device."""
        if self.source == ("P", "P") and self.target[0] == "P":   # Is added up only where the last device needs it.
            return to_the_last(self.source)
        convert = reversed_sum if {"P", "B"} <= set(self.target) else conversion
        return convert(self.source, self.target) + to_the_last(self.to)


def on_axis(old, new, other, groups=2):
    """Bytes of a conversion along one axis, by OneFlow's table, in `groups` groups of two, whose values are halves if the other axis
    splits them."""
    size = SIZE if other in SPLIT else groups * SIZE
    if old == new or old == "B" or new == "P":
        return 0
    if old == "P":
        return 2 * size if new == "B" else size
    return size if new == "B" else size // 2


def conversion(source, target):
    """Bytes of a conversion: along the first axis, then along the second. The second is made whole before if the first must
    split the same dimension, or if it splits sums of the second. A value that is read at computed places is made whole on an
    axis whose layout does not fit. Of a whole value that becomes a sum only one device of a group needs it, so that only one group
    has to be converted along the other axis."""
    isRead, sent, (first, second) = "B" in target, 0, source
    groups = [1 if pair == ("B", "P") else 2 for pair in zip(source, target)]
    chunks = False   # The second axis splits each half.
    if first != target[0]:
        if not isRead and target[0] == second in SPLIT or first in SPLIT and second == "P" and target != ("P", "P"):
            sent, second = on_axis(second, "B", first), "B"
            if target[1] == "P":
                sent, groups[1] = sent // 2, 1
        sent += on_axis(first, "B" if isRead else target[0], second, groups[1])
        chunks = first == second in SPLIT
        first = "B" if isRead else target[0]
    if isRead:
        return sent + (0 if second == target[1] else on_axis(second, "B", first))
    return sent + on_axis(second, "B" if chunks and second == target[1] else target[1], first, groups[0])


def reversed_sum(source, target):
    """The same if the value is reversed before it becomes a sum along one axis. Along the other one, what is split becomes whole
    for that; what is a sum becomes the split of what it is added to, since it can be reversed before. Only one device of each
    group needs what is whole along the axis of the sum."""
    (first, second), groups = source, [1 if pair == ("B", "P") else 2 for pair in zip(source, target)]
    if target == ("B", "P"):
        return on_axis(first, "B" if first in SPLIT else "S1", second, groups[1]) + (SIZE if second in SPLIT else 0)
    sent = 0
    if first in SPLIT:
        if second == "P":
            sent, second = on_axis("P", "B", first), "B"
        sent += on_axis(first, "B", second) // 2
        first, groups[0] = "B", 1
    return sent + on_axis(second, "B" if second in SPLIT else "S1", first, groups[0])


def to_the_last(layouts):
    """Bytes that are sent to give the last device, which returns it, the whole value: along the first axis, in all shards that
    have parts, then along the second. Sums over the second axis of parts along the first are added up before."""
    first, second = layouts
    whole = {"S0": SIZE // 2, "S1": SIZE // 2, "B": 0, "P": SIZE}
    if first in SPLIT and second == "P":
        return SIZE + SIZE // 2
    return whole[first] * (2 if second == "P" else 1) + whole[second]


def text(pairs):
    """A step with all `pairs`, and a parameter that is split over both axes."""
    arguments = ", ".join(f'%{name}: tensor<{n}x{m}xf32> {{pipeline.role = "{role}", pipeline.name = "{name}"}}'
                          for pair in pairs for name, (role, (n, m)) in pair.arguments.items())
    results = ", ".join('!v {pipeline.role = "output"}' for _ in pairs)
    lines = "\n".join(line for pair in pairs for line in pair.body)
    return f"""
        #id = affine_map<(i, j) -> (i, j)>
        #reverse = affine_map<(i, j) -> (-i + {ROWS - 1}, -j + {COLUMNS - 1})>
        !v = tensor<{ROWS}x{COLUMNS}xf32>
        func.func @step({arguments}, %unused: tensor<4x4xf32> {{pipeline.role = "parameter", pipeline.name = "unused"}}) -> ({results}) {{
            %zero = arith.constant 0.0 : f32
            %empty = tensor.empty() : !v
            %zeros = linalg.fill ins(%zero : f32) outs(%empty : !v) -> !v
            {lines}
            return {", ".join(f"%{pair.name}y" for pair in pairs)} : {", ".join("!v" for _ in pairs)}
        }}"""


def check(folder, source, launch=()):
    """Compiles and runs all conversions from `source`."""
    pairs = [Pair(number, source, target) for number, target in enumerate(BOTH)]
    arguments = {name: it for pair in pairs for name, it in pair.arguments.items()} | {"unused": ("parameter", (4, 4))}
    compiled(folder, text(pairs), "2x2", ",".join([hint for pair in pairs for hint in pair.hints] + ["unused=0;1"]), "--cluster=local:4")
    rng = np.random.default_rng(0)
    values = {name: rng.integers(-3, 4, shape).astype(np.float32) for name, (_, shape) in arguments.items()}
    found, sent = run(folder, arguments, values, *launch)
    for number, pair in enumerate(pairs):
        assert (found[str(number)] == pair.value(values)).all(), (pair.source, pair.target)
    assert sent == sum(pair.expected() for pair in pairs)


@pytest.mark.parametrize("source", BOTH, ids="".join)
def test_a_conversion_sends_what_the_table_says(tmp_path, source):
    check(tmp_path, source)


@MPI
@pytest.mark.parametrize("source", [("S0", "S1"), ("B", "S0"), ("P", "P"), *thorough([(it,) for it in BOTH])], ids="".join)
def test_processes_send_what_the_table_says(tmp_path, source):
    check(tmp_path, source, mpirun(4))


@pytest.mark.parametrize("seed", [0, *thorough(range(1, 12))])
def test_random_conversions_of_uneven_parts(tmp_path, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    for _ in range(2):
        grid = rng.integers(2, 4), rng.integers(2, 4)
        for name in "ROWS", "INNER", "COLUMNS":
            monkeypatch.setitem(globals(), name, int(rng.integers(np.prod(grid), 2 * np.prod(grid) + 6)))
        pairs = [Pair(number, *PAIRS[index]) for number, index in enumerate(rng.integers(len(PAIRS), size=6))]
        arguments = {name: it for pair in pairs for name, it in pair.arguments.items()} | {"unused": ("parameter", (4, 4))}
        compiled(tmp_path, text(pairs), f"{grid[0]}x{grid[1]}", ",".join([hint for pair in pairs for hint in pair.hints] + ["unused=0;1"]),
                 f"--cluster=local:{np.prod(grid)}")
        values = {name: rng.integers(-3, 4, shape).astype(np.float32) for name, (_, shape) in arguments.items()}
        found, _ = run(tmp_path, arguments, values)
        for number, pair in enumerate(pairs):
            assert (found[str(number)] == pair.value(values)).all(), (grid, ROWS, INNER, COLUMNS, pair.source, pair.target)


@pytest.mark.parametrize("hint", ["0;1", "1;0", "0;0", "1;1", "1:3;1:3", "1;1:3", "0:1:3;1", "1:3;0:1:3", "1:1:2;1:1:2", "0;whole", "whole;1"])
def test_a_parameter_is_loaded_and_joined_in_uneven_parts(tmp_path, hint):
    """The loss needs every part of the parameter; the result with the gradient's role, here w + x, is joined from parts."""
    step = f"""
        func.func @step(%w: tensor<15x18xf32> {{pipeline.role = "parameter", pipeline.name = "w"}},
                        %x: tensor<15x18xf32> {{pipeline.role = "batch", pipeline.name = "x"}})
            -> (tensor<f32> {{pipeline.role = "loss"}}, tensor<15x18xf32> {{pipeline.role = "gradient", pipeline.of = 0}}) {{
            %zero = arith.constant 0.0 : f32
            %e = tensor.empty() : tensor<15x18xf32>
            %s = tensor.empty() : tensor<f32>
            %z = linalg.fill ins(%zero : f32) outs(%s : tensor<f32>) -> tensor<f32>
            %p = linalg.mul ins(%w, %x : tensor<15x18xf32>, tensor<15x18xf32>) outs(%e : tensor<15x18xf32>) -> tensor<15x18xf32>
            %loss = linalg.reduce ins(%p : tensor<15x18xf32>) outs(%z : tensor<f32>) dimensions = [0, 1]
                (%a: f32, %b: f32) {{ %c = arith.addf %a, %b : f32
                                    linalg.yield %c : f32 }}
            %g = linalg.add ins(%w, %x : tensor<15x18xf32>, tensor<15x18xf32>) outs(%e : tensor<15x18xf32>) -> tensor<15x18xf32>
            return %loss, %g : tensor<f32>, tensor<15x18xf32>
        }}"""
    arguments = {"w": ("parameter", (15, 18)), "x": ("batch", (15, 18))}
    compiled(tmp_path, step, "2x2", f"w={hint}" + (",x=1;0" if "whole" in hint else ""), "--cluster=local:4")
    rng = np.random.default_rng(0)
    values = {name: rng.integers(-9, 10, shape).astype(np.float32) for name, (_, shape) in arguments.items()}
    found, _ = run(tmp_path, arguments, values)
    assert found["0"] == (values["w"] * values["x"]).sum() and (found["1"] == values["w"] + values["x"]).all()


@pytest.mark.parametrize("hint, flags", [("0;1", ()), ("0;0", ()), ("0;1", ("--sequence-parallel=false",))])
def test_parities_are_summed_without_carry(tmp_path, hint, flags):
    """A sum of i1 is an exclusive or, which linalg, as loops over another axis need it, would add up as an or."""
    step = """
        func.func @step(%x: tensor<4x8xi1> {pipeline.role = "batch", pipeline.name = "x"},
                        %w: tensor<8x6xi1> {pipeline.role = "parameter", pipeline.name = "w"}) -> (tensor<4x6xi1> {pipeline.role = "output"}) {
            %false = arith.constant false
            %e = tensor.empty() : tensor<4x6xi1>
            %z = linalg.fill ins(%false : i1) outs(%e : tensor<4x6xi1>) -> tensor<4x6xi1>
            %y = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                                 iterator_types = ["parallel", "parallel", "reduction"]}
                ins(%x, %w : tensor<4x8xi1>, tensor<8x6xi1>) outs(%z : tensor<4x6xi1>) {
            ^bb0(%a: i1, %b: i1, %c: i1):
                %p = arith.andi %a, %b : i1
                %s = arith.addi %c, %p : i1
                linalg.yield %s : i1
            } -> tensor<4x6xi1>
            return %y : tensor<4x6xi1>
        }"""
    arguments = {"x": ("batch", (4, 8)), "w": ("parameter", (8, 6))}
    compiled(tmp_path, step, "2x2", f"w={hint}", "--cluster=local:4", *flags)
    rng = np.random.default_rng(0)
    values = {name: rng.integers(0, 2, shape).astype(bool) for name, (_, shape) in arguments.items()}
    found, _ = run(tmp_path, arguments, values)
    assert (found["0"] == (values["x"].astype(int) @ values["w"].astype(int) % 2)).all()


def test_a_step_without_operations(tmp_path):
    step = """
        func.func @step(%x: tensor<4xf32> {pipeline.role = "batch", pipeline.name = "x"},
                        %w: tensor<4x4xf32> {pipeline.role = "parameter", pipeline.name = "w"}) -> (tensor<4xf32> {pipeline.role = "output"}) {
            return %x : tensor<4xf32>
        }"""
    arguments = {"x": ("batch", (4,)), "w": ("parameter", (4, 4))}
    compiled(tmp_path, step, "2x2", "w=0;1", "--cluster=local:4")
    values = {name: np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for name, (_, shape) in arguments.items()}
    found, sent = run(tmp_path, arguments, values)
    assert (found["0"] == values["x"]).all() and sent == 0


GPT = "*/qkv=1:3;0,*/o=0;1,*/fc=1;0,*/proj=0;1"
LLAMA = "*/q=1;0,*/k=1;0,*/v=1;0,*/o=0;1,*/gate=1;0,*/up=1;0,*/down=0;1"
MODELS = [
    # Heads and hidden units over the first axis, what contractions add up over the second; and the other way round.
    ("gpt.py:gpt", "2x2", GPT, ()),
    ("gpt.py:gpt_dropout", "2x2", "*/qkv=0;1:3,*/o=1;0,*/fc=0;1,*/proj=1;0,params/head=1;0,params/wte=0;1", ()),
    ("gpt.py:gpt", "2x2", "*/qkv=1:3;whole,*/o=0;whole,*/fc=1;whole,*/proj=0;whole,ids=whole;0,tgt=whole;0", ()),   # samples
    ("gpt.py:gpt", "2x3", "*/fc=1;1,*/proj=0;0", ("--data-parallel=2", "--cluster=local:12")),
    ("gpt.py:gpt", "2x2", "ids=1;1,tgt=1;1", ()),   # sequences, over both axes
    *thorough([
        ("gpt.py:gpt", "2x2", "*=0;0", ("--sequence-parallel=false",)),
        ("llama.py:llama", "2x2", LLAMA, ()),
        ("gpt.py:gpt_tied", "2x2", "*/qkv=1:3;0,*/o=0;1,*/fc=1;0,*/proj=0;1,params/wte=0;1", ()),
        ("encoder_decoder.py:encoder_decoder", "2x2", "*/q=1;0,*/k=1;0,*/v=1;0,*/o=0;1,*/up=1;0,*/down=0;1", ()),
        ("moe.py:moe", "2x2", "params/h/*/up=0;2,params/h/*/down=0;1", ()),   # by experts, and every expert
        ("convnet.py:convnet", "2x2", "*/c1=3;whole,*/c2=2;3", ()),
        ("convnet.py:convnet", "2x2", "image=0;whole,label=0;whole,*/c1=whole;3,*/c2=whole;2", ()),
        ("graphs.py:graph_sage", "2x2", "features=0;whole,ids=0;whole,mask=0;whole,classes=0;whole,params/*=whole;0", ()),
    ]),
]


@pytest.mark.parametrize("model, grid, hints, flags", MODELS)
def test_a_model_agrees_with_jax(imported, tmp_path, model, grid, hints, flags):
    folder = imported(model)
    artifact = sharded.compiled(folder, tmp_path / "step.swx", grid, hints, *flags, cluster="local:4")
    sharded.agrees_with_jax(artifact, folder)


STAGES = [
    ("gpt.py:gpt_deep", GPT, ("--stages=2",)), ("gpt.py:gpt_deep", GPT, ("--stages=2", "--schedule=gpipe")),
    ("gpt.py:gpt_deep", GPT, ("--stages=2", "--schedule=zb-h1")), ("gpt.py:gpt_deep", GPT, ("--stages=4", "--schedule=interleaved")),
    ("gpt.py:gpt_deep", GPT, ("--stages=4", "--schedule=zb-v")), ("gpt.py:gpt", GPT, ("--stages=2", "--sequence-parallel=false")),
    ("gpt.py:gpt_deep", GPT, ("--stages=2", "--data-parallel=2")), ("llama.py:llama", LLAMA, ("--stages=2",)),
    *thorough([
        ("gpt.py:gpt_deep", MODELS[1][2], ("--stages=2",)), ("gpt.py:gpt_deep", MODELS[2][2], ("--stages=2",)),
        ("gpt.py:gpt_deep_tied", GPT, ("--stages=2", "--schedule=zb-h1")), ("gpt.py:gpt_dropout", GPT, ("--stages=2",)),
        ("gpt.py:gpt_forward", GPT, ("--stages=2",)), ("llama.py:llama", LLAMA, ("--stages=2", "--schedule=zb-h1")),
        ("encoder_decoder.py:encoder_decoder", "*/q=1;0,*/k=1;0,*/v=1;0,*/o=0;1,*/up=1;0,*/down=0;1", ("--stages=2",)),
        ("moe.py:moe", "params/h/*/up=0;2,params/h/*/down=0;1", ("--stages=2",)), ("convnet.py:convnet", "*/c1=3;whole,*/c2=2;3", ("--stages=2",)),
    ]),
]


@pytest.mark.parametrize("model, hints, flags", STAGES, ids=lambda it: str(it).split(":")[-1] if it else "")
def test_stages_of_grids_agree_with_jax(imported, tmp_path, model, hints, flags):
    """Each stage is on a grid of 2 x 2 devices."""
    folder = imported(model)
    artifact = sharded.compiled(folder, tmp_path / "step.swx", "2x2", hints, *flags, cluster="local:16")
    sharded.agrees_with_jax(artifact, folder)


PARAMETERS = {"gpt.py:gpt_deep": ("qkv", "o", "fc", "proj"), "llama.py:llama": ("q", "k", "v", "o", "gate", "up", "down")}


@pytest.mark.parametrize("seed", thorough(range(12)))
def test_random_stages_of_grids_agree_with_jax(imported, tmp_path, seed):
    rng = np.random.default_rng(seed)
    model = rng.choice(list(PARAMETERS))
    folder = imported(str(model))
    entries = {name: [rng.choice(["0", "1:3" if name == "qkv" else "1", "whole"]) for _ in range(2)] for name in PARAMETERS[model]}
    entries[PARAMETERS[model][0]][0] = entries[PARAMETERS[model][-1]][1] = "0"   # Both axes split something.
    flags = [f"--schedule={rng.choice(['1f1b', 'gpipe', 'zb-h1'])}", f"--sequence-parallel={rng.choice(['true', 'false'])}",
             *(flag for flag in ("--recompute-layers", "--shard-collectives", "--data-parallel=2") if rng.integers(2)),
             f"--bucket-bytes={rng.choice(['1B', '4KiB', '1MiB'])}"]
    artifact = sharded.compiled(folder, tmp_path / "step.swx", "2x2", ",".join(f"*/{name}={';'.join(own)}" for name, own in entries.items()),
                                    f"--stages={rng.integers(2, 4)}", *flags, cluster="local:24")
    sharded.agrees_with_jax(artifact, folder)


@pytest.mark.parametrize("model, hints, flags, width, rows", [
    ("gpt.py:gpt_deep", GPT, ("--stages=2",), 32, 2 * 16), ("gpt.py:gpt_deep", GPT, ("--stages=4", "--schedule=interleaved"), 32, 2 * 16),
    ("llama.py:llama", LLAMA, ("--stages=2",), 64, 2 * 32)], ids=("gpt", "gpt-interleaved", "llama"))
def test_stages_of_grids_send_each_row_once(imported, tmp_path, model, hints, flags, width, rows):
    """The activation and its gradient, each device its part to the device at the same place of the next stage."""
    artifact = sharded.compiled(imported(model), tmp_path / "step.swx", "2x2", hints, *flags, cluster="local:8")
    crossing = sharded.crossing(artifact, 4, rows)
    activation = (int(flags[0][-1]) - 1) * 4 * rows * width
    assert crossing == {(0, 1): activation, (1, 0): activation}


ON_GRID = "*/q=1;0,*/k=1;0,*/v=1;0,*/o=0;1,*/gate=1;whole,*/up=1;whole,*/down=0;whole,params/head=1;1,params/embed=0;0"


def imported_as(folder, model, *flags, devices=1):
    folder.mkdir(exist_ok=True)
    call(sys.executable, "-m", "stagewright", "import", "jax", HERE / "models" / model, "-o", folder / "step.mlir", *flags,
         env={"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"})
    return folder / "step.mlir"


def program(module, *flags):
    return tool("pp-compile", module, "--cluster=local:4", "--tensor-parallel=2x2", "--microbatches=4", "--emit=rank", "--quiet", *flags)


@pytest.mark.parametrize("devices", (1, 4))
def test_shardings_over_two_axes_are_hints(tmp_path, imported, devices):
    """The program equals that of the same hints, and JAX's loss and gradients, whatever the size of the mesh."""
    plain, own = imported("llama.py:llama"), imported_as(tmp_path / "own", "llama.py:llama_on_grid", devices=devices)
    assert program(own) == program(plain / "step.mlir", f"--shard={ON_GRID}")
    # Hints override the file, glob by glob.
    fewer = program(own, "--shard=*/q=whole,*/k=whole,*/v=whole,*/o=whole;1")
    changed = re.sub(r"\*/[qkv]=1;0,", "", ON_GRID).replace("*/o=0;1", "*/o=whole;1")
    assert fewer == program(plain / "step.mlir", f"--shard={changed}")
    artifact = tmp_path / "step.swx"
    tool("pp-compile", own, "--cluster=local:4", "--tensor-parallel=2x2", f"--microbatches={sharded.MICROBATCHES}", "-o", artifact, "--quiet")
    sharded.agrees_with_jax(artifact, plain)


@pytest.mark.parametrize("grid, devices, flags", [("2x2", 4, ()), ("3x2", 12, ("--data-parallel=2",))])
def test_shardings_of_stacks_are_hints(tmp_path, imported, grid, devices, flags):
    """Also over a grid of another size than the mesh, in parts that are not equal."""
    folder, artifact = imported("gpt.py:gpt_scan_on_grid"), tmp_path / "step.swx"
    tool("pp-compile", folder / "step.mlir", f"--cluster=local:{devices}", f"--tensor-parallel={grid}", "-o", artifact, "--quiet",
         f"--microbatches={sharded.MICROBATCHES}", *flags)
    sharded.agrees_with_jax(artifact, folder)


def test_the_order_of_axes_is_that_of_the_option(tmp_path, imported):
    own = imported_as(tmp_path / "own", "llama.py:llama_constrained", "--shard-axis=model,data")
    swapped = program(own)
    hinted = ",".join(f"{hint};whole" for hint in sharded.LLAMA.split(",")) + ",ids=whole;0,tgt=whole;0"
    assert swapped == program(imported("llama.py:llama") / "step.mlir", f"--shard={hinted}")


def test_constraints_and_batches_over_two_axes_are_hints(tmp_path, imported):
    """Samples over the first axis, as the batch and constraints of values say; parameters that are split with constrained values
    over the second."""
    plain = imported("llama.py:llama")
    own = imported_as(tmp_path / "own", "llama.py:llama_constrained", "--shard-axis=data,model")
    hinted = ",".join(hint.replace("=", "=whole;") for hint in sharded.LLAMA.split(",")) + ",ids=0;whole,tgt=0;whole"
    assert program(own) == program(plain / "step.mlir", f"--shard={hinted}")
    artifact = tmp_path / "step.swx"
    tool("pp-compile", own, "--cluster=local:4", "--tensor-parallel=2x2", f"--microbatches={sharded.MICROBATCHES}", "-o", artifact, "--quiet")
    sharded.agrees_with_jax(artifact, plain)


def test_shardings_of_exported_functions_over_two_axes_are_hints(tmp_path, imported):
    """As hints about values they also reach the parameters that must be split with those of the file, such as gains of norms."""
    plain, artifact = imported("llama.py:llama"), tmp_path / "step.swx"
    own = imported_as(tmp_path / "own", "llama.py:llama_exported_on_grid", devices=4)
    assert all(f"{{axis = {axis} : i64, dim" in own.read_text() for axis in (0, 1))
    tool("pp-compile", own, "--cluster=local:4", "--tensor-parallel=2x2", f"--microbatches={sharded.MICROBATCHES}", "-o", artifact, "--quiet")
    sharded.agrees_with_jax(artifact, plain)
    for name, dims in ("q", "1, 0"), ("o", "0, 1"), ("norm1", "0"):
        assert re.search(rf'"params/layers/0/{name}", [^}}]*pipeline.slice_dim = array<i64: {dims}>', program(own)), name


@NEEDED
@pytest.mark.parametrize("hints, flags", [
    ("*/qkv=1:3;whole,*/o=0;whole,*/fc=1;whole,*/proj=0;whole,ids=whole;0,tgt=whole;0", ("--score-bytes=1",)),   # raised attention
    *thorough([(GPT, ()), (GPT, ("--stages=2", "--recompute-layers"))]),
])
def test_a_grid_on_devices(imported, tmp_path, hints, flags):
    folder = imported("gpt.py:gpt")
    artifact = sharded.compiled(folder, tmp_path / "step.swx", "2x2", hints, "--target=cuda:sm_90a", *flags, cluster="h100")
    sharded.agrees_with_jax(artifact, folder, emulated())


@MPI
@pytest.mark.parametrize("stages", (1, 2))
def test_processes_have_the_bits_of_threads(imported, tmp_path, stages):
    folder = imported("gpt.py:gpt")
    artifact = sharded.compiled(folder, tmp_path / "step.swx", "2x2", GPT, f"--stages={stages}", cluster="local:8")
    files = [tmp_path / "threads.safetensors", tmp_path / "mpi.safetensors"]
    for file, launch in zip(files, ((), mpirun(4 * stages))):
        call(*launch, BUILD / "bin/pp-run", artifact, f"--inputs={folder / 'jax.inputs.safetensors'}", f"--outputs={file}")
    threads, processes = (load_file(file) for file in files)
    assert threads.keys() == processes.keys() and all((threads[name] == processes[name]).all() for name in threads)
