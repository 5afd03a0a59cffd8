"""Random chains of conversions between layouts."""

import numpy as np
import pytest

from conversions import LAYOUTS, compiled, matmul, mpirun, run, table, to_the_last
from sharded import MPI
from tiers import thorough

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
