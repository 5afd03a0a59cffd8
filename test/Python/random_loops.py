"""Random linalg operations on buffers, as functions of a module, for tests of the loops of kernels.

Every function takes the buffers of its operands in order and writes the last one (or the last two). Shapes leave
remainders for every vector width; accesses are permuted, broadcast, strided by views or computed."""

import dataclasses

import ml_dtypes
import numpy as np

TYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_,
         "i8": np.int8, "i32": np.int32, "i64": np.int64}
EXTENTS = [1, 2, 3, 4, 5, 7, 8, 13, 15, 16, 17, 31, 32, 33]
# Operations that reduce; the last of each kind must not be reordered.
SUMS = {"f": ["arith.addf %o, %x : T", "arith.addf %x, %o : T", "arith.maximumf %o, %x : T",
              "arith.minnumf %o, %x : T", "arith.subf %o, %x : T"],
        "i": ["arith.addi %o, %x : T", "arith.maxsi %o, %x : T", "arith.minui %o, %x : T", "arith.andi %x, %o : T",
              "arith.xori %o, %x : T", "arith.subi %o, %x : T"]}


@dataclasses.dataclass
class Buffer:
    type: str
    shape: tuple
    array: np.ndarray
    memref: str


@dataclasses.dataclass
class Case:
    name: str
    text: str
    buffers: list
    outputs: list   # positions of the buffers that it writes
    exact: bool     # no floating-point sum, so results are equal bit for bit


def values(rng, kind, shape):
    if kind == "i1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind.startswith("i"):
        return rng.integers(-100, 100, shape).astype(TYPES[kind])
    return rng.uniform(-2, 2, shape).astype(np.float32).astype(TYPES[kind])


class Maker:
    def __init__(self, rng, name):
        self.rng, self.name, self.buffers, self.lines, self.loads = rng, name, [], [], 0

    def pick(self, some):
        return some[self.rng.integers(len(some))]

    def buffer(self, kind, shape):
        """An argument; sometimes a part of a larger array, with strides."""
        strided = shape and self.rng.random() < 0.25
        whole = tuple(n + int(self.rng.integers(0, 3)) for n in shape) if strided else tuple(shape)
        array = values(self.rng, kind, whole)
        dims = "".join(f"{n}x" for n in shape)
        memref = f"memref<{dims}{kind}>"
        if strided:
            strides = [int(np.prod(whole[i + 1:])) for i in range(len(whole))]
            memref = f"memref<{dims}{kind}, strided<{strides}>>"
        self.buffers.append(Buffer(kind, tuple(shape), array, memref))
        return len(self.buffers) - 1

    def line(self, operation):
        self.lines.append(f"      %v{len(self.lines)} = {operation}")
        return f"%v{len(self.lines) - 1}"

    def number(self, value, kind):
        return self.line(f"arith.constant {float(value) if 'f' in kind else int(value)} : {kind}")

    def cast(self, value, kind, to):
        if kind == to:
            return value
        if "bf16" in (kind, to) and "f32" not in (kind, to):  # other types need a library call
            return self.cast(self.cast(value, kind, "f32"), "f32", to)
        bits = {k: int(k.strip("bif")) for k in (kind, to)}
        if kind[0] == "i" and to[0] == "i":
            step = ("arith.extsi" if kind != "i1" else "arith.extui") if bits[kind] < bits[to] else "arith.trunci"
        elif kind[0] == "i":
            step = "arith.uitofp" if kind == "i1" else "arith.sitofp"
        elif to[0] == "i":
            if to == "i1":
                return self.line(f"arith.cmpf ogt, {value}, {self.number(0.25, kind)} : {kind}")
            step = "arith.fptosi"
        else:
            step = "arith.extf" if bits[kind] < bits[to] else "arith.truncf"
        return self.line(f"{step} {value} : {kind} to {to}")

    def mix(self, values_, kind, loops):
        """One value of type `kind` computed from several."""
        value = values_[0]
        for other in values_[1:]:
            operation = self.pick(["addf", "mulf", "maximumf", "subf"] if "f" in kind else
                                  ["andi", "ori", "xori"] if kind == "i1" else ["addi", "muli", "minsi", "subi"])
            value = self.line(f"arith.{operation} {value}, {other} : {kind}")
        if self.rng.random() < 0.3 and loops > 1:
            a, b = (self.line(f"linalg.index {d} : index") for d in self.rng.permutation(loops)[:2])
            a, b = (self.line(f"arith.index_cast {v} : index to i32") for v in (a, b))
            inside = self.line(f"arith.cmpi {self.pick(['sge', 'slt', 'eq'])}, {a}, {b} : i32")
            value = self.line(f"arith.select {inside}, {value}, {self.number(1, kind)} : {kind}")
        elif self.rng.random() < 0.3 and "f" in kind:
            value = self.line(f"math.absf {value} : {kind}")
        return value

    def gather(self, kind, loops, extents, chosen):
        """Reads a table at a computed row; the column is a loop index."""
        dim = int(self.rng.integers(loops))
        table = self.buffer(kind, (9, extents[dim]))
        row = self.line(f"arith.index_cast {chosen} : i32 to index")
        row = self.line(f"arith.maxsi {row}, {self.number(0, 'index')} : index")
        row = self.line(f"arith.minsi {row}, {self.number(8, 'index')} : index")
        column = self.line(f"linalg.index {dim} : index")
        return self.line(f"memref.load %arg{table}[{row}, {column}] : {self.buffers[table].memref}")


def dims(numbers):
    return ", ".join(f"d{n}" for n in numbers)


def make(rng, name):
    m = Maker(rng, name)
    loops = int(rng.integers(1, 5))
    extents = [int(m.pick(EXTENTS)) for _ in range(loops)]
    if loops == 4:
        extents = [min(n, 9) for n in extents]
    reduced = [bool(rng.random() < 0.35) for _ in range(loops)]
    kind = m.pick(["f32"] * 6 + ["f64", "i32", "i64", "i8", "i1"])
    maps, operands, inputs = [], [], []
    for i in range(int(rng.integers(1, 4))):
        of = kind if i == 0 or rng.random() < 0.6 else m.pick(list(TYPES))
        chosen = [int(d) for d in rng.permutation(loops)] if rng.random() < 0.3 else list(range(loops))
        if rng.random() < 0.3:
            chosen = chosen[:int(rng.integers(0, loops + 1))]
        if i == 0:  # the first operand gives every loop its extent
            chosen += [d for d in range(loops) if d not in chosen]
        operands.append(m.buffer(of, [extents[d] for d in chosen]))
        maps.append(chosen)
        inputs.append(m.cast(f"%x{i}", of, kind))
    if rng.random() < 0.25:
        operands.append(m.buffer("i32", [extents[0]]))
        maps.append([0])
        inputs.append(m.gather(kind, loops, extents, f"%x{len(operands) - 1}"))
    value = m.mix(inputs, kind, loops)
    kept = [d for d in range(loops) if not reduced[d]]
    if rng.random() < 0.2:
        kept = [int(d) for d in rng.permutation(kept)]
    outputs, yields = [m.buffer(kind, [extents[d] for d in kept])], []
    exact = "f" not in kind or not any(reduced)
    if any(reduced) or rng.random() < 0.3:
        combine = m.pick(SUMS["f" if "f" in kind else "i"])
        exact |= "max" in combine or "min" in combine
        yields.append(m.line(combine.replace("%o", "%o0").replace("%x", value).replace("T", kind)))
    else:
        yields.append(value)
    output_maps, output_kinds = [kept], [kind]
    if rng.random() < 0.2:  # a second result, indexed by every loop, maybe of another type
        other = m.pick([k for k in TYPES if k[0] == kind[0] or k == "i1" or kind[0] == "f" and "f" in k])
        outputs.append(m.buffer(other, extents))
        output_maps.append(list(range(loops)))
        output_kinds.append(other)
        yields.append(m.cast(value, kind, other))
    all_maps = [f"affine_map<({dims(range(loops))}) -> ({dims(c)})>" for c in maps + output_maps]
    types = [m.buffers[i].memref for i in operands]
    block = [f"%x{i}: {m.buffers[b].type}" for i, b in enumerate(operands)]
    block += [f"%o{i}: {k}" for i, k in enumerate(output_kinds)]
    iterators = ", ".join('"reduction"' if r else '"parallel"' for r in reduced)
    arguments = ", ".join(f"%arg{i}: {b.memref} {{llvm.noalias}}" for i, b in enumerate(m.buffers))
    body = "\n".join(m.lines)
    text = f"""  func.func @{name}({arguments}) attributes {{llvm.emit_c_interface}} {{
    linalg.generic {{indexing_maps = [{", ".join(all_maps)}], iterator_types = [{iterators}]}}
        ins({", ".join(f"%arg{b}" for b in operands)} : {", ".join(types)})
        outs({", ".join(f"%arg{b}" for b in outputs)} : {", ".join(m.buffers[b].memref for b in outputs)}) {{
    ^bb0({", ".join(block)}):
{body}
      linalg.yield {", ".join(yields)} : {", ".join(output_kinds)}
    }}
    return
  }}"""
    return Case(name, text.replace(", llvm.emit_c_interface", ""), m.buffers, outputs, exact)
