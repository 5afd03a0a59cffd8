"""Runs compiled steps in this process, on numpy arrays.

    step = stagewright.load("step.swx")
    loss, *gradients = step.run([parameters..., batch...])

One thread per rank, or `threads_per_rank`; neither MLIR nor JAX is loaded. The module `_stagewright_runtime` is the nanobind
binding of the C ABI in stagewright-rt/runtime.h.
"""

import json
import math

import numpy as np

__all__ = ["Step", "load"]

# In the order of sw_dtype; numpy has bfloat16 only through ml_dtypes.
_NAMES = ("float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint32", "uint64",
          "bool", "uint16")


def _dtype(number):
    if _NAMES[number] == "bfloat16":
        import ml_dtypes
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(_NAMES[number])


def type_number(array, what="a tensor"):
    """The sw_dtype of an array; `what` names it in the error if it has none."""
    if array.dtype.name not in _NAMES:
        raise TypeError(f"{what} has type {array.dtype.name}, which no step takes")
    return _NAMES.index(array.dtype.name)


def binding():
    """The module _stagewright_runtime."""
    try:  # Next to the package in a source tree, inside it in a wheel.
        import _stagewright_runtime
    except ModuleNotFoundError:
        from stagewright.native import _stagewright_runtime
    return _stagewright_runtime


def contiguous(value):
    """A contiguous array in the byte order of the machine, which the names of types do not include."""
    array = np.require(value, requirements="C")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def as_bytes(array):
    """The memory of a contiguous array."""
    return array.reshape(-1).view(np.uint8)


class Step:
    """A loaded step: its arenas and waiting threads. Created by `load`."""

    def __init__(self, path, microbatches=None, check_memory=False, trace=False, profile=False,
                 threads_per_rank=1, dilate=None):
        if microbatches is not None and microbatches < 1:
            raise ValueError(f"the number of microbatches is {microbatches}, expected at least 1")
        if not 1 <= threads_per_rank <= 1024:
            raise ValueError(f"the number of threads per rank is {threads_per_rank}, expected 1 to 1024")
        self._step = binding().Step(str(path), microbatches or 0, trace, check_memory, profile,
                                     threads_per_rank, ",".join(f"{rank}:{by}" for rank, by in (dilate or {}).items()))
        self.manifest = json.loads(self._step.manifest())
        self.microbatches = microbatches or self.manifest["microbatches"]
        # The runtime sets microbatch indices itself, constants of the imported graph are in the artifact, and the state of
        # averages over replicas is 0 at first.
        filled = {a["position"] for a in self.manifest["arguments"]
                  if a["role"] == "microbatch" or "symbol" in a or "averaging" in a}
        self._arguments = [a for a in self._step.arguments(self.microbatches) if a[0] not in filled]
        self._results = self._step.results(self.microbatches)

    def set(self, arguments):
        """Copies arguments into the step, where they stay for all later runs: a list by position, without those that the
        runtime fills in, or a dictionary {position: array} of some of them. The first dimension of batch arguments is the
        microbatches."""
        if not isinstance(arguments, dict):
            positions = [position for position, *_ in self._arguments]
            if len(arguments) != len(positions):
                raise ValueError(f"the step takes {len(positions)} arguments, but got {len(arguments)}")
            arguments = dict(zip(positions, arguments))
        for position, value in arguments.items():
            array = contiguous(value)
            self._step.set(int(position), type_number(array, f"argument {position}"), list(array.shape), as_bytes(array))

    def run(self, arguments=None):
        """Sets `arguments`, if given, runs one step and returns its results by position."""
        if arguments is not None:
            self.set(arguments)
        self._step.run()
        return self.results()

    def results(self):
        """The results of the last step, a list by position; each call makes new arrays. Without the state of averages over
        replicas, which `result` returns."""
        own = {r["position"] for r in self.manifest["results"] if "averaging" in r}
        return [self.result(position) for position, *_ in self._results if position not in own]

    def result(self, position):
        """The result of the last step at a position."""
        dtype, shape = self.described(position)
        array = np.empty(shape, _dtype(dtype))
        self._step.get(position, dtype, shape, as_bytes(array))
        return array

    def described(self, position):
        """(number of the type, shape) of the result at a position."""
        return next((dtype, shape) for at, dtype, shape in self._results if at == position)

    def save(self, draft, positions, keep):
        """Writes results of the last step to a checkpoint that checkpoints.begin returned, piece by piece: a background thread
        writes one piece while the next is read, and later commits the checkpoint."""
        sizes = (_dtype(dtype).itemsize * math.prod(shape) for dtype, shape in map(self.described, positions))
        self._step.save(draft, list(zip(positions, sizes)), keep)

    def finish_saving(self):
        """Waits until the last checkpoint is on the disk."""
        self._step.finish_saving()

    @property
    def last_idle(self):
        """The share of the last step in which no action of a rank ran, by rank; needs `trace` or `profile`."""
        return self._step.last_idle()

    @property
    def seconds(self):
        """Wall time of the last step, in seconds."""
        return self._step.seconds()

    @property
    def arena_bytes(self):
        """Bytes allocated for all ranks."""
        return self._step.arena_bytes(-1)

    def rank_bytes(self, rank):
        """Bytes allocated for one rank."""
        return self._step.arena_bytes(rank)

    def predicted_bytes(self, rank):
        """Max live bytes of one rank, as predicted by the compiler."""
        return self._step.predicted_bytes(rank)

    def peak_bytes(self, rank):
        """Max live bytes on one rank in the last step; -1 unless loaded with check_memory."""
        return self._step.peak_bytes(rank)

    def write_trace(self, path):
        """Writes the last step as Chrome trace JSON; the step must have been loaded with `trace`."""
        self._step.write_trace(str(path))

    def write_profile(self, path):
        """Writes the median seconds of every node; the step must have been loaded with `profile`."""
        self._step.write_profile(str(path))


def load(path, **options):
    """Loads an artifact of pp-compile. Options: microbatches, check_memory, trace, profile, threads_per_rank, and dilate
    ({rank: factor}: how many times slower a rank computes, to try plans for unequal devices)."""
    return Step(path, **options)
