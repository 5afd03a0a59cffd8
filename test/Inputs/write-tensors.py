"""write-tensors.py FILE NAME:DTYPE:SHAPE:VALUES ...   writes a safetensors file without any package.

The numbers of SHAPE and VALUES are separated by commas; a single value fills the tensor. DTYPE is F32 or I32.
"""

import json
import math
import struct
import sys

header, data = {}, b""
for argument in sys.argv[2:]:
    name, dtype, shape, values = argument.split(":")
    shape = [int(extent) for extent in shape.split(",") if extent]
    values = [float(value) for value in values.split(",")]
    if len(values) == 1:
        values *= math.prod(shape)
    code, kind = {"F32": ("f", float), "I32": ("i", int)}[dtype]
    packed = struct.pack(f"<{len(values)}{code}", *map(kind, values))
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
    data += packed
text = json.dumps(header).encode()
with open(sys.argv[1], "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text + data)
