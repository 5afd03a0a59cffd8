"""read-tensors.py FILE   prints the tensors of a safetensors file, one per line, sorted by name."""

import json
import struct
import sys

data = open(sys.argv[1], "rb").read()
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
for name, entry in sorted(header.items()):
    begin, end = (8 + length + offset for offset in entry["data_offsets"])
    code = {"F32": "f", "I32": "i"}[entry["dtype"]]
    values = struct.unpack(f"<{(end - begin) // 4}{code}", data[begin:end])
    print(name, entry["dtype"], entry["shape"], *(f"{value:g}" for value in values))
