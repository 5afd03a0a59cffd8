"""Conversions between layouts of a value on a group of devices: split along a dimension (S0, S1), whole on each (B), or the sum of
what they have (P). Values equal the global value; bytes equal those of OneFlow's table (Yuan et al., 2021, table 2)."""

import itertools
import json
import subprocess

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from test_shards import MPI
from tiers import thorough
from workshop import BUILD, HERE, call, tool

LAYOUTS = "S0", "S1", "B", "P"
VECTORS = HERE.parents[2] / "shared/data/oneflow/boxing_golden.json"


def matmul(result, left, right, rows, inner, columns):
    """A product of two arguments."""
    types = [f"tensor<{n}x{m}xf32>" for n, m in ((rows, inner), (inner, columns), (rows, columns))]
    return f"%{result} = linalg.matmul ins({left}, {right} : {types[0]}, {types[1]}) outs(%zeros : {types[2]}) -> {types[2]}"


class Step:
    """A step whose value %v, the product of `left` and `right`, has layout `source`, and is then needed in layout `target`: added to
    `to`, which is split so. For B, elements of other rows are added; for P, `to` is a sum of parts, and so is another value that is
    added later, so that all become one sum. `sums`: how many of these two are there."""

    def __init__(self, source, target, rows=12, columns=24, inner=12, sums=2):
        self.source, self.target, self.rows, self.columns = source, target, rows, columns
        self.sums = ["to", "then"][:sums] if target == "P" else []
        self.arguments = {"left": ("parameter" if source == "S0" else "batch", (rows, inner)),
                          "right": ("parameter" if source in ("S1", "P") else "batch", (inner, columns))}
        hints = {"S0": ["left=0"], "S1": ["right=1"], "P": ["right=0"], "B": []}[source]
        type_ = f"tensor<{rows}x{columns}xf32>"
        body = [matmul("v", "%left", "%right", rows, inner, columns)]
        for name in self.sums:
            self.arguments |= {f"{name}left": ("batch", (rows, inner)), f"{name}right": ("parameter", (inner, columns))}
            hints.append(f"{name}right=0")
            body.append(matmul(name, f"%{name}left", f"%{name}right", rows, inner, columns))
        if target != "P":
            self.arguments["to"] = "parameter", (rows, columns)
            hints.append(f"to={target[1:] or 0}")
        if target == "B":
            body.append(f"""%y = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
                ins(%to : {type_}) outs(%empty : {type_}) {{
            ^bb0(%a: f32, %o: f32):
              %i = linalg.index 0 : index
              %j = linalg.index 1 : index
              %last = arith.constant {rows - 1} : index
              %row = arith.subi %last, %i : index
              %b = tensor.extract %v[%row, %j] : {type_}
              %c = arith.addf %a, %b : f32
              linalg.yield %c : f32
            }} -> {type_}""")
        else:
            body.append(f"%y = linalg.add ins(%to, %v : {type_}, {type_}) outs(%empty : {type_}) -> {type_}")
        if len(self.sums) > 1:
            body.append(f"%z = linalg.add ins(%y, %then : {type_}, {type_}) outs(%empty : {type_}) -> {type_}")
        arguments = ", ".join(f'%{name}: tensor<{n}x{m}xf32> {{pipeline.role = "{role}", pipeline.name = "{name}"}}'
                              for name, (role, (n, m)) in self.arguments.items())
        # Scopes name layers, so that each can be a stage with its own number of shards.
        body = [f'{it} loc("jit(step)/h{min(i, 1)}/op")' for i, it in enumerate(body)]
        lines = "\n            ".join(body)
        self.hints, self.text = ",".join(hints), f"""
        #id = affine_map<(i, j) -> (i, j)>
        func.func @step({arguments}) -> ({type_} {{pipeline.role = "output"}}) {{
            %zero = arith.constant 0.0 : f32
            %empty = tensor.empty() : {type_}
            %zeros = linalg.fill ins(%zero : f32) outs(%empty : {type_}) -> {type_}
            {lines}
            return %{"z" if len(self.sums) > 1 else "y"} : {type_}
        }}"""

    def integers(self):
        rng = np.random.default_rng(0)
        return {name: rng.integers(-5, 6, shape).astype(np.float32) for name, (_, shape) in self.arguments.items()}

    def expected(self, ways, groups=1):
        """Bytes of the conversion, of its result to the last device, and from one group to the other: all of the value for each
        device of the other group if it is whole, else once. A sum is sent as parts and becomes whole in the other group, except
        a sum of two parts, which becomes whole before."""
        size = 4 * self.rows * self.columns
        isWhole = "B" in (self.source, self.target) and (self.source != "P" or ways == 2)
        return sum((table(self.source, self.target, ways, self.rows, self.columns), (groups - 1) * (ways if isWhole else 1) * size,
                    to_the_last("S0" if self.target == "B" else self.target, ways, self.rows, self.columns)))

    def expected_between(self, first, then):
        """Bytes of the conversion if %v is made on the devices `first`, and needed on `then`: parts go to where the same parts, or
        those of as many devices, are needed, sums once they are scattered, and a whole value to devices that do not have it. If it
        becomes a sum, devices of `then` keep what they have, and the others send all that they have, or a whole value once."""
        rows, columns = self.rows, self.columns
        size, own, source = 4 * rows * columns, len(then), self.source
        sent = 0
        if self.target == "P":
            count = {"S0": rows, "S1": columns}.get(source)
            if count:
                sent = sum(size // count * part for part, device in zip(parts(count, len(first)), first) if device not in then)
            elif source == "B":
                sent = 0 if set(first) & set(then) else size
            else:
                sent = size * len(set(first) - set(then))
            return sent + to_the_last("P", own, rows, columns)
        if source == "P":
            sent, source = (len(first) - 1) * size, "S0"
        if source == "B":
            sent += size * len(set(then) - set(first))
        else:
            count = rows if source == "S0" else columns
            starts = [np.cumsum([0, *parts(count, ways)]) for ways in (len(first), own)]
            for i, device in enumerate(first):
                for j, other in enumerate(then):
                    common = min(starts[0][i + 1], starts[1][j + 1]) - max(starts[0][i], starts[1][j])
                    sent += max(common, 0) * size // count * (device != other)
        return sent + table(source, self.target, own, rows, columns) + to_the_last("S0" if self.target == "B" else self.target, own, rows, columns)

    def run_between(self, folder, first, then, values, processes=False):
        """Like run(), if %v is made on the devices `first`, and needed on `then`. There may be fewer ranks than devices: devices that
        have a whole value which others send are not needed."""
        devices = ";".join(",".join(map(str, own)) for own in (first, then))
        compiled(folder, self.text, f"{len(first)},{len(then)}", self.hints, f"--stage-devices={devices}", f"--cluster=local:{1 + max(*first, *then)}")
        ranks = len(json.loads(tool("pp-run", folder / "step.swx", "--info=json"))["ranks"])
        return self.checked(folder, values, *(mpirun(ranks) if processes else ()))

    def run(self, folder, ways, values, *launch, groups=1):
        """Compiles and runs the step, checks its result, and returns the bytes that all ranks sent."""
        compiled(folder, self.text, ways, self.hints, f"--stages={groups}", f"--cluster=local:{ways * groups}")
        return self.checked(folder, values, *launch)

    def checked(self, folder, values, *launch):
        found, sent = run(folder, self.arguments, values, *launch)
        assert (found["0"] == self.result(values)).all()
        return sent

    def result(self, values):
        value = values["left"] @ values["right"]
        to = sum(values[f"{name}left"] @ values[f"{name}right"] for name in self.sums) if self.sums else values["to"]
        return to + (value[::-1] if self.target == "B" else value)


class Behind(Step):
    """A step whose value %v is split by columns, and becomes a sum in another group, where it is added to two products: of its reverse,
    which is whole and goes there too, and two matrices."""

    def __init__(self, rows=12, columns=24):
        super().__init__("S1", "B", rows, columns, columns)
        self.sums = ["to", "then"]
        del self.arguments["to"]
        type_, square = f"tensor<{rows}x{columns}xf32>", f"tensor<{columns}x{columns}xf32>"
        for name in self.sums:
            self.arguments[f"{name}right"] = "parameter", (columns, columns)
        self.hints = "right=1,toright=0,thenright=0"
        arguments = ", ".join(f'%{name}: tensor<{n}x{m}xf32> {{pipeline.role = "{role}", pipeline.name = "{name}"}}'
                              for name, (role, (n, m)) in self.arguments.items())
        self.text = f"""
        #id = affine_map<(i, j) -> (i, j)>
        func.func @step({arguments}) -> ({type_} {{pipeline.role = "output"}}) {{
            %zero = arith.constant 0.0 : f32
            %empty = tensor.empty() : {type_}
            %zeros = linalg.fill ins(%zero : f32) outs(%empty : {type_}) -> {type_}
            {matmul("v", "%left", "%right", rows, columns, columns)}
            %w = linalg.generic {{indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}} outs(%empty : {type_}) {{
            ^bb0(%o: f32):
              %i = linalg.index 0 : index
              %j = linalg.index 1 : index
              %last = arith.constant {rows - 1} : index
              %end = arith.constant {columns - 1} : index
              %row = arith.subi %last, %i : index
              %column = arith.subi %end, %j : index
              %a = tensor.extract %v[%row, %column] : {type_}
              linalg.yield %a : f32
            }} -> {type_}
            {matmul("to", "%w", "%toright", rows, columns, columns)}
            {matmul("then", "%w", "%thenright", rows, columns, columns)}
            %y = linalg.add ins(%to, %v : {type_}, {type_}) outs(%empty : {type_}) -> {type_}
            %z = linalg.add ins(%y, %then : {type_}, {type_}) outs(%empty : {type_}) -> {type_}
            return %z : {type_}
        }}"""

    def expected(self, ways, groups=1):
        """The reverse is joined in the first group. Each device then sends its columns of both values."""
        size = 4 * self.rows * self.columns
        return (ways - 1 + (groups - 1) * 2) * size + to_the_last("P", ways, self.rows, self.columns)

    def result(self, values):
        value = values["left"] @ values["right"]
        return value + sum(value[::-1, ::-1] @ values[f"{name}right"] for name in self.sums)


def run(folder, arguments, values, *launch):
    """Runs a compiled step. Returns its results by position, and the bytes that all ranks sent."""
    save_file({str(i): values[name][None] if role == "batch" else values[name]
               for i, (name, (role, _)) in enumerate(arguments.items())}, folder / "in.safetensors")
    told = json.loads(call(*launch, BUILD / "bin/pp-run", folder / "step.swx", f"--inputs={folder / 'in.safetensors'}",
                           f"--outputs={folder / 'out.safetensors'}", "--json"))
    return load_file(folder / "out.safetensors"), sum(sum(rank.values()) for rank in told["sent_bytes"])


def compiled(folder, text, ways, hints, *flags, groups=1, fails=False):
    """Compiles a step. Returns what the compiler wrote to stderr."""
    (folder / "step.mlir").write_text(text)
    cluster = [] if any("--cluster" in flag for flag in flags) else [f"--cluster=local:{ways * groups}"]
    done = subprocess.run([BUILD / "bin/pp-compile", folder / "step.mlir", *cluster, f"--tensor-parallel={ways}", f"--shard={hints}", "--microbatches=1", "-o", folder / "step.swx", "--quiet", *flags],
                          capture_output=True, text=True)
    assert bool(done.returncode) == fails, done.stderr
    return done.stderr


def parts(count, ways):
    """Numbers of rows or columns of each part."""
    return [count // ways + (shard < count % ways) for shard in range(ways)]


def table(source, target, ways, rows, columns):
    """Bytes of a conversion of a value of float32 on the same `ways` devices."""
    size = 4 * rows * columns
    if source == target or source == "B" or target == "P":
        return 0
    if source == "P":
        return (2 if target == "B" else 1) * (ways - 1) * size
    stays = sum(own * other for own, other in zip(parts(rows, ways), parts(columns, ways)))
    return (ways - 1) * size if target == "B" else size - 4 * stays


def to_the_last(layout, ways, rows, columns):
    """Bytes that are sent to give the last device, which returns it, the whole value."""
    size = 4 * rows * columns
    if layout == "P":
        return size if ways == 2 else (ways - 1) * size + to_the_last("S0", ways, rows, columns)
    if layout == "B":
        return 0
    count = columns if layout == "S1" else rows
    return size - size // count * parts(count, ways)[-1]


EVEN, UNEVEN = (12, 24, 12), (7, 11, 13)
MADE = [(shape, ways, *pair) for shape in (EVEN, UNEVEN) for ways in (2, 3, 4) for pair in itertools.product(LAYOUTS, LAYOUTS)]


def mpirun(ways):
    return "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ways


@pytest.mark.parametrize("shape, ways, source, target", MADE)
def test_a_conversion_sends_what_the_table_says(tmp_path, shape, ways, source, target):
    step = Step(source, target, *shape)
    assert step.run(tmp_path, ways, step.integers()) == step.expected(ways)


TO_SUMS = [(UNEVEN, 3, source, "P") for source in LAYOUTS]


@MPI
@pytest.mark.parametrize("shape, ways, source, target", [*TO_SUMS, *thorough(case for case in MADE if case not in TO_SUMS)])
def test_processes_send_what_the_table_says(tmp_path, shape, ways, source, target):
    step = Step(source, target, *shape)
    assert step.run(tmp_path, ways, step.integers(), *mpirun(ways)) == step.expected(ways)


# Stages end where values are whole or become so: never where the products are split alike, or all are added to sums.
MOVED = [case for case in MADE if case[3] == "B" or case[3] != "P" and case[2] != case[3]]


@pytest.mark.parametrize("shape, ways, source, target", [case for case in MOVED if case[1] < 4])
def test_a_conversion_goes_to_another_group(tmp_path, shape, ways, source, target):
    step = Step(source, target, *shape)
    assert step.run(tmp_path, ways, step.integers(), groups=2) == step.expected(ways, groups=2)


@pytest.mark.parametrize("ways", (2, 3, 4))
@pytest.mark.parametrize("shape", ((12, 24), (7, 11)))
def test_parts_become_a_sum_in_another_group(tmp_path, ways, shape):
    step = Behind(*shape)
    assert step.run(tmp_path, ways, step.integers(), groups=2) == step.expected(ways, groups=2)


@MPI
@pytest.mark.parametrize("shape, ways, source, target", thorough(MOVED))
def test_a_conversion_goes_to_other_processes(tmp_path, shape, ways, source, target):
    step = Step(source, target, *shape)
    assert step.run(tmp_path, ways, step.integers(), *mpirun(2 * ways), groups=2) == step.expected(ways, groups=2)


@pytest.mark.parametrize("ways", (2, 4))
@pytest.mark.parametrize("shape, dims", [((4, 4, 5, 7), (2, 3)), ((4, 4, 5, 7), (3, 2)), ((4, 8, 4, 8, 4), (2, 4)), ((4, 8, 4, 8, 4), (4, 2))])
def test_later_dimensions_are_exchanged(tmp_path, ways, shape, dims):
    """Values of four and five dimensions go from one split to another, between operations with parameters that are split so."""
    type_ = f"tensor<{'x'.join(map(str, shape))}xf32>"
    arguments = {"from": ("parameter", shape), "x": ("batch", shape), "to": ("parameter", shape)}
    text = ", ".join(f'%{name}: {type_} {{pipeline.role = "{role}", pipeline.name = "{name}"}}' for name, (role, _) in arguments.items())
    compiled(tmp_path, f"""
        func.func @step({text}) -> ({type_} {{pipeline.role = "output"}}) {{
            %empty = tensor.empty() : {type_}
            %v = linalg.add ins(%from, %x : {type_}, {type_}) outs(%empty : {type_}) -> {type_}
            %y = linalg.mul ins(%to, %v : {type_}, {type_}) outs(%empty : {type_}) -> {type_}
            return %y : {type_}
        }}""", ways, f"from={dims[0]},to={dims[1]}")
    rng = np.random.default_rng(0)
    values = {name: rng.integers(-5, 6, shape).astype(np.float32) for name in arguments}
    found, sent = run(tmp_path, arguments, values)
    assert (found["0"] == values["to"] * (values["from"] + values["x"])).all()
    size, (old, new) = 4 * int(np.prod(shape)), (parts(shape[dim], ways) for dim in dims)
    stays = size * sum(a * b for a, b in zip(old, new)) // (shape[dims[0]] * shape[dims[1]])
    assert sent == size - stays + size - size * new[-1] // shape[dims[1]]


LEAST = 16   # Elements of a sum: the compiler does not scatter smaller ones.


class Chain:
    """A value that goes through random layouts, on shapes that mostly cannot be split evenly, beginning with the product of `left` and
    `right`. Each operation needs its operand in the next layout: for S0 and S1 the sum with a parameter that is split so, for B the
    sum of its reverse with one that is whole, for P a product with a parameter that is split by rows, which needs the columns (S1)."""

    def __init__(self, rng, ways):
        self.ways = ways
        rows, columns, inner = (int(rng.integers(ways, 3 * ways + 2)) for _ in range(3))
        columns = max(columns, -(-LEAST // rows))
        first = str(rng.choice(LAYOUTS))
        self.arguments = {"left": ("parameter" if first == "S0" else "batch", (rows, inner)),
                          "right": ("parameter" if first in ("S1", "P") else "batch", (inner, columns))}
        self.hints = {"S0": ["left=0"], "S1": ["right=1"], "P": ["right=0"], "B": []}[first]
        self.layouts, self.bytes = [first], 0
        self.body, self.value = [self.product("v0", "%left", "%right", rows, inner, columns)], "%v0"
        self.operations = []
        last = int(rng.integers(1, 6))   # Makes no B: only the last device, which returns it, would need it.
        for number in range(1, last + 1):
            columns = self.step(number, str(rng.choice(LAYOUTS if number < last else ("S0", "S1", "P"))), rows, columns, rng)
        self.shape = rows, columns
        self.bytes += to_the_last(self.layouts[-1], ways, rows, columns)
        if not self.hints:   # The compiler wants at least one.
            self.arguments["unused"] = "parameter", (ways, ways)
            self.hints.append("unused=0")

    def product(self, name, left, right, rows, inner, columns):
        type_ = f"tensor<{rows}x{columns}xf32>"
        return f"""%{name}_empty = tensor.empty() : {type_}
            %{name}_zeros = linalg.fill ins(%zero : f32) outs(%{name}_empty : {type_}) -> {type_}
            """ + matmul(name, left, right, rows, inner, columns).replace("%zeros", f"%{name}_zeros")

    def step(self, number, layout, rows, columns, rng):
        """Adds an operation that makes `layout`. Returns the number of columns of its result."""
        needed = "S1" if layout == "P" else layout
        self.bytes += table(self.layouts[-1], needed, self.ways, rows, columns)
        self.layouts.append(layout)
        name, value, self.value = f"p{number}", self.value, f"%v{number}"
        type_ = f"tensor<{rows}x{columns}xf32>"
        self.operations.append((layout, name))
        if layout == "P":
            # Of two splits the compiler takes that of the larger operand.
            wide = int(rng.integers(max(rows + 1, self.ways, -(-LEAST // rows)), 4 * self.ways + 18))
            self.arguments[name] = "parameter", (columns, wide)
            self.body.append(self.product(self.value[1:], value, f"%{name}", rows, columns, wide))
            self.hints.append(f"{name}=0")
            return wide
        self.body.append(f"%e{number} = tensor.empty() : {type_}")
        self.arguments[name] = "parameter", (rows, columns)
        if layout == "B":
            self.body.append(f"""{self.value} = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
                ins(%{name} : {type_}) outs(%e{number} : {type_}) {{
            ^bb0(%a: f32, %o: f32):
              %i = linalg.index 0 : index
              %j = linalg.index 1 : index
              %last = arith.constant {rows - 1} : index
              %end = arith.constant {columns - 1} : index
              %row = arith.subi %last, %i : index
              %column = arith.subi %end, %j : index
              %b = tensor.extract {value}[%row, %column] : {type_}
              %c = arith.addf %a, %b : f32
              linalg.yield %c : f32
            }} -> {type_}""")
            return columns
        self.hints.append(f"{name}={layout[1]}")
        self.body.append(f"{self.value} = linalg.add ins(%{name}, {value} : {type_}, {type_}) outs(%e{number} : {type_}) -> {type_}")
        return columns

    def text(self):
        arguments = ", ".join(f'%{name}: tensor<{n}x{m}xf32> {{pipeline.role = "{role}", pipeline.name = "{name}"}}'
                              for name, (role, (n, m)) in self.arguments.items())
        type_, lines = f"tensor<{self.shape[0]}x{self.shape[1]}xf32>", "\n            ".join(self.body)
        return f"""
        #id = affine_map<(i, j) -> (i, j)>
        func.func @step({arguments}) -> ({type_} {{pipeline.role = "output"}}) {{
            %zero = arith.constant 0.0 : f32
            {lines}
            return {self.value} : {type_}
        }}"""

    def check(self, folder, rng, *launch):
        compiled(folder, self.text(), self.ways, ",".join(self.hints))
        values = {name: rng.integers(-1, 2, shape).astype(np.float32) for name, (_, shape) in self.arguments.items()}
        found, sent = run(folder, self.arguments, values, *launch)
        value = values["left"] @ values["right"]
        for layout, name in self.operations:
            value = value @ values[name] if layout == "P" else values[name] + (value[::-1, ::-1] if layout == "B" else value)
        assert (found["0"] == value).all() and sent == self.bytes, (self.layouts, self.shape, self.ways, sent, self.bytes)


CHAINS = 20   # Of one test.


@pytest.mark.parametrize("seed", [0, *thorough(range(1, 25))])
def test_random_chains_send_what_the_table_says(tmp_path, seed):
    rng = np.random.default_rng(seed)
    for _ in range(CHAINS):
        Chain(rng, int(rng.integers(2, 5))).check(tmp_path, rng)


@MPI
@pytest.mark.parametrize("seed", thorough(range(25)))
def test_random_chains_send_the_same_between_processes(tmp_path, seed):
    rng = np.random.default_rng(seed)
    for _ in range(CHAINS):
        ways = int(rng.integers(2, 5))
        Chain(rng, ways).check(tmp_path, rng, *mpirun(ways))


@pytest.mark.parametrize("source", ("S0", "S1", "B"))
def test_a_single_sum_is_closed_before_parts_are_added(tmp_path, source):
    """A sum from %v would save nothing. The other product is scattered to rows or to what %v is split by: as many bytes as one
    conversion from P to S, and no others."""
    step = Step(source, "P", sums=1)
    shape = step.rows, step.columns
    assert step.run(tmp_path, 3, step.integers()) == table("P", "S0", 3, *shape) + to_the_last("S0", 3, *shape)


@pytest.mark.parametrize("hints", ("left=0", "right=1", "right=0"))
def test_every_device_needs_a_part(tmp_path, hints):
    step = Step({"left=0": "S0", "right=1": "S1", "right=0": "P"}[hints], "B", rows=3, columns=3, inner=3)
    said = compiled(tmp_path, step.text, 4, step.hints, fails=True)
    assert f"cannot be split over 4 shards by '{hints}': dimension {hints[-1]} must be at least 4, got 3" in said


def chain(rows=12, columns=24, hidden=48):
    """Two perceptrons: the first's result is a sum of parts, which the second needs whole. Also returns its bytes."""
    wide, type_ = f"tensor<{rows}x{hidden}xf32>", f"tensor<{rows}x{columns}xf32>"
    arguments, body, x = [f'%x: {type_} {{pipeline.role = "batch", pipeline.name = "x"}}'], [], "%x"
    for i in (0, 1):
        for name, shape in (("up", (columns, hidden)), ("down", (hidden, columns))):
            arguments.append(f'%{name}{i}: tensor<{shape[0]}x{shape[1]}xf32> {{pipeline.role = "parameter", pipeline.name = "h/{i}/{name}"}}')
        where = f' loc("jit(step)/h{i}/dot")'
        body += [matmul(f"h{i}", x, f"%up{i}", rows, columns, hidden).replace("%zeros", "%wide") + where,
                 matmul(f"y{i}", f"%h{i}", f"%down{i}", rows, hidden, columns) + where]
        x = f"%y{i}"
    lines = "\n            ".join(body)
    return f"""
        func.func @step({", ".join(arguments)}) -> ({type_} {{pipeline.role = "output"}}) {{
            %zero = arith.constant 0.0 : f32
            %ew = tensor.empty() : {wide}
            %wide = linalg.fill ins(%zero : f32) outs(%ew : {wide}) -> {wide}
            %ez = tensor.empty() : {type_}
            %zeros = linalg.fill ins(%zero : f32) outs(%ez : {type_}) -> {type_}
            {lines}
            return %y1 : {type_}
        }}""", 4 * rows * columns


@pytest.mark.parametrize("ways", (2, 3, 4))
def test_a_sum_goes_to_another_group(tmp_path, ways):
    """From a sum on the devices of one stage to the whole value on those of the next: (2 p - 1) T, by a scatter, a send and a join.
    Two shards sum in one step instead, 2 T, and each sends all, 2 T."""
    text, size = chain()
    compiled(tmp_path, text, ways, "*/up=1,*/down=0", "--stages=2", groups=2)
    sent = {(own, other): 0 for own in (0, 1) for other in (0, 1)}
    for channel in json.loads(tool("pp-run", tmp_path / "step.swx", "--info=json"))["channels"]:
        sent[channel["from"] // ways, channel["to"] // ways] += channel["bytes"]
    assert sent[0, 1] == (size if ways > 2 else 2 * size) and sent[1, 0] == 0
    assert sum(sent.values()) - to_the_last("P", ways, 12, 24) == ((2 * ways - 1) * size if ways > 2 else 4 * size)


# By name: devices that make a value, and those that need it.
GROUPS = {"equal": ((0, 1, 2), (0, 1, 2)), "apart": ((0, 1), (2, 3)), "fewer": ((0, 1, 2), (3, 4)), "more": ((0, 1), (2, 3, 4, 5)), "overlapping": ((0, 1, 3), (2, 3)), "shifted": ((0, 1), (1, 2)),
          "inside": ((0, 2, 1, 3), (1, 3)), "around": ((0, 1, 3), (0, 1, 2, 3)), "turned": ((0, 1, 2), (2, 0, 1))}


@pytest.mark.parametrize("source, target", [*itertools.product(LAYOUTS, LAYOUTS)])
@pytest.mark.parametrize("groups", GROUPS)
def test_a_conversion_goes_to_any_devices(tmp_path, groups, source, target):
    step = Step(source, target, *UNEVEN)
    assert step.run_between(tmp_path, *GROUPS[groups], step.integers()) == step.expected_between(*GROUPS[groups])


def test_a_scalar_of_an_addend_is_read_in_another_group(tmp_path):
    """Each group computes the scalars that it reads, so that the other group needs the value, too, not only its addends."""
    step = Step("B", "P")
    type_ = f"tensor<{step.rows}x{step.columns}xf32>"
    step.text = step.text.replace("return %z", f"""%at = arith.constant 0 : index
            %first = tensor.extract %v[%at, %at] : {type_} loc("jit(step)/h0/op")
            %more = linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}}
                ins(%z : {type_}) outs(%empty : {type_}) {{
            ^bb0(%a: f32, %o: f32):
              %c = arith.addf %a, %first : f32
              linalg.yield %c : f32
            }} -> {type_} loc("jit(step)/h1/op")
            return %more""")
    step.result = lambda values: Step.result(step, values) + (values["left"] @ values["right"])[0, 0]
    step.run_between(tmp_path, (0, 1), (2, 3), step.integers())


@MPI
@pytest.mark.parametrize("source, target", [("S0", "S1"), ("S1", "P"), *thorough([("P", "S0"), ("S1", "B"), ("B", "S1"), ("S0", "P"), ("B", "P"), ("P", "P")])])
@pytest.mark.parametrize("groups", GROUPS)
def test_a_conversion_goes_to_processes_on_any_devices(tmp_path, groups, source, target):
    step, (first, then) = Step(source, target, *UNEVEN), GROUPS[groups]
    assert step.run_between(tmp_path, first, then, step.integers(), processes=True) == step.expected_between(first, then)


def test_groups_that_overlap_are_refused_without_their_devices(tmp_path):
    said = compiled(tmp_path, chain()[0], 2, "*/up=1,*/down=0", "--stages=2", "--cluster=local:3", fails=True)
    assert "2 shards of 2 stages at a time need 4 devices, and there are 3" in said


def whole(chain, locals_, name):
    """The global value that ranks hold as `locals_`, with the layout that entry `name` of a vector's chain states."""
    entry = next(it for it in chain if it["value"] == name)
    parts = [np.array(locals_[str(rank)], np.float32) for rank in entry["ranks"]]
    return {"B": lambda: parts[0], "P": lambda: sum(parts)}.get(entry["sbp"], lambda: np.concatenate(parts, int(entry["sbp"][2:-1])))()


@pytest.mark.skipif(not VECTORS.exists(), reason="OneFlow's vectors are not here")
@pytest.mark.parametrize("launched", ("threads", pytest.param("processes", marks=MPI)))
def test_vectors_of_oneflow(tmp_path, launched):
    """The results of its own tests, where the last conversion stays on its devices, goes to as many others, or to others some of which
    may be the same. Where the last layout is P, OneFlow gives each device some columns and zeros, as it has them here: what is compared
    is the sum, in which they are added to other parts."""
    covered = {"same": 0, "as many": 0, "any": 0}
    for vector in json.loads(VECTORS.read_text()):
        (*earlier, before, last), value = vector["chain"], whole(vector["chain"], vector["local_inputs_by_rank"], "x")
        for name, parts in vector["expected_local_by_rank"].items():
            assert (whole(vector["chain"], parts, name) == value).all()
        first, then = before["ranks"], last["ranks"]
        kind = "same" if first == then else "any" if set(first) & set(then) or len(first) != len(then) else "as many"
        covered[kind] += 1
        launch = mpirun(len({*first, *then})) if launched == "processes" else ()
        columns, zeros = value.shape[1], np.zeros_like(value)
        identity = np.eye(columns, dtype=np.float32)
        values = {"left": value, "right": identity, "to": zeros}
        if kind == "any":
            step = Step(*(it["sbp"].replace("(", "").replace(")", "") for it in (before, last)), *value.shape, inner=columns)
            values |= {name: identity if name.endswith("right") else zeros for name in step.arguments if name not in values}
            assert step.run_between(tmp_path, first, then, values, launched == "processes") == step.expected_between(first, then)
            continue
        groups = 1 if kind == "same" else 2
        # A value that only moves to other devices gets its layout before.
        given = earlier[0] if groups == 2 and before["sbp"] == last["sbp"] else before
        source, target = (it["sbp"].replace("(", "").replace(")", "") for it in (given, last))
        step = Behind(*value.shape) if (groups, target) == (2, "P") else Step(source, target, *value.shape, inner=columns)
        values |= {name: identity if name.endswith("right") else zeros for name in step.arguments if name not in values}
        assert step.run(tmp_path, len(then), values, *launch, groups=groups) == step.expected(len(then), groups)
    assert covered == {"same": 6, "as many": 6, "any": 18}
