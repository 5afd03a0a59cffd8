"""Safetensors files, read by memory map and written in pieces: the safetensors library would hold all it writes in memory.

Format: https://huggingface.co/docs/safetensors (8 bytes with the size of a header of JSON, the header, the data)."""

from __future__ import annotations

import json
import math
import os
import pathlib
import tempfile

import ml_dtypes
import numpy as np

from stagewright.errors import WeightsFailure

DTYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16,
          "F8_E4M3": ml_dtypes.float8_e4m3fn, "F8_E5M2": ml_dtypes.float8_e5m2,
          "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
          "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_}
DTYPES = {name: np.dtype(kind) for name, kind in DTYPES.items()}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
LARGEST_HEADER = 100_000_000  # bytes, the library's limit


class File:
    """One file: `tensors` is {name: (dtype, shape)}."""

    def __init__(self, path):
        self.path, self._places, self.tensors = path, {}, {}
        try:
            with open(path, "rb") as file:
                size = int.from_bytes(file.read(8), "little")
                rest = os.fstat(file.fileno()).st_size - 8 - size
                if size > LARGEST_HEADER or rest < 0:
                    raise WeightsFailure(f"'{path}' is not a safetensors file, or is cut off; expected such a file, a folder of "
                                         "them, or the index of such a folder (model.safetensors.index.json)")
                header = json.loads(file.read(size))
            for name, about in header.items():
                if name != "__metadata__":
                    self._add(name, about, 8 + size, rest)
        except OSError as error:
            raise WeightsFailure(f"cannot read '{path}': {error.strerror}") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise WeightsFailure(f"'{path}' is not a safetensors file: {error}") from error

    def _add(self, name, about, start, rest):
        if about["dtype"] not in DTYPES:
            raise WeightsFailure(f"'{self.path}': tensor '{name}' has the type {about['dtype']}, expected one of "
                                 + ", ".join(DTYPES))
        dtype, shape = DTYPES[about["dtype"]], tuple(map(int, about["shape"]))
        first, last = map(int, about["data_offsets"])
        if last - first != dtype.itemsize * math.prod(shape) or not 0 <= first <= last <= rest:
            raise WeightsFailure(f"'{self.path}': tensor '{name}' has bytes {first} to {last}, which do not fit its type and "
                                 "shape, or the file is cut off")
        self.tensors[name], self._places[name] = (dtype, shape), start + first

    def array(self, name):
        """The tensor, memory-mapped."""
        dtype, shape = self.tensors[name]
        if not math.prod(shape):
            return np.zeros(shape, dtype)
        return np.memmap(self.path, dtype, "r", self._places[name], shape)



def files_of(path):
    """The files that a path given to a command stands for: one file, those of a folder, or those of a HuggingFace index."""
    path = pathlib.Path(path)
    if path.is_dir():
        indices = sorted(path.glob("*.safetensors.index.json"))
        if len(indices) > 1:
            raise WeightsFailure(f"'{path}' has {len(indices)} indices ({', '.join(i.name for i in indices)}); name one")
        found = _files_of_index(indices[0]) if indices else sorted(path.glob("*.safetensors"))
        if not found:
            raise WeightsFailure(f"'{path}' has no *.safetensors; load files of torch.save with torch.load and save the tensors "
                                 "with safetensors.torch.save_file")
        return found
    return _files_of_index(path) if path.suffix == ".json" else [path]


def _files_of_index(path):
    try:
        names = set(json.loads(path.read_text())["weight_map"].values())
        return [path.parent / name for name in sorted(names)]
    except OSError as error:
        raise WeightsFailure(f"cannot read '{path}': {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise WeightsFailure(f"'{path}' is not an index of safetensors: it has no \"weight_map\" of names") from error


def write(path, tensors, tell):
    """Writes {name: (dtype, shape, pieces)}; pieces() yields arrays that follow one another in memory order. The file is
    renamed to `path` when complete. `tell(name, done, total)` is called with the bytes written."""
    header, offset = {}, 0
    for name, (dtype, shape, _) in tensors.items():
        end = offset + dtype.itemsize * math.prod(shape)
        header[name] = {"dtype": NAMES[dtype], "shape": list(shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    done = 0
    try:
        with tempfile.NamedTemporaryFile(dir=pathlib.Path(path).resolve().parent, prefix=".stagewright-", delete=False) as file:
            try:
                file.write(len(text).to_bytes(8, "little") + text)
                for name, (_, _, pieces) in tensors.items():
                    for piece in pieces():
                        file.write(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)
                        done += piece.nbytes
                        tell(name, done, offset)
                file.flush()
                os.chmod(file.name, 0o666 & ~_mask())
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
    except OSError as error:
        raise WeightsFailure(f"cannot write '{path}': {error.strerror}") from error


def _mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
