"""Steps that convert a value between layouts on groups of devices: split along a dimension (S0, S1), whole on each (B), or the sum of
what they have (P); and the bytes that a conversion sends by OneFlow's table (Yuan et al., 2021, table 2)."""

import json
import subprocess

import numpy as np
from safetensors.numpy import load_file, save_file

from workshop import BUILD, call, tool

LAYOUTS = "S0", "S1", "B", "P"
EVEN, UNEVEN = (12, 24, 12), (7, 11, 13)


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
        type_ = f"tensor<{rows}x{columns}xf32>"
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


def mpirun(ways):
    return "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ways


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
