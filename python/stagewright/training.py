"""Runs of many steps in this process, on batches from Python.

    run = stagewright.Run("step.swx", inputs="model.inputs.safetensors", checkpoints="run", checkpoint_every=50)
    for figures in run.train(batches, steps=300):
        print(figures["step"], figures["loss"])

Checkpoints, metrics and seeds are those of pp-run: either can resume a run of the other.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import signal
import sys
import threading
import weakref

import numpy as np

from stagewright import checkpoints as files
from stagewright.errors import RunFailure
from stagewright.runtime import Step


class Run:
    """A step with an optimizer, its parameters and state, and the number of steps `done`."""

    def __init__(self, artifact, inputs, *, checkpoints=None, checkpoint_every=0, keep=3, resume=False, metrics=None,
                 values=None, same_seed=False, **options):
        """`inputs` is the path of the file that the import wrote, or {position: array}. `values` maps names of constants to a
        function of the step's number (from 0), as optax's schedules are, or to an array with a value for each step. All other
        options are those of stagewright.load."""
        if checkpoints is None and (checkpoint_every or resume):
            raise RunFailure(f"{'resume' if resume else 'checkpoint_every'} needs checkpoints=FOLDER")
        if keep < 1 or checkpoint_every < 0:
            raise RunFailure(f"keep is {keep} and checkpoint_every {checkpoint_every}, expected at least 1 and 0")
        if checkpoints is not None:
            files.require_place(checkpoints, resume)
        self.artifact, self.step = str(artifact), Step(artifact, **{"trace": True, **options})
        self.checkpoints, self.every, self.keep = checkpoints, checkpoint_every, keep
        self.metrics, self.done, self.data = metrics, 0, None
        manifest = self.step.manifest
        self.replaced = [r for r in manifest["results"] if r["role"] in ("parameter", "state")]
        if not self.replaced:
            raise RunFailure(f"'{artifact}' has no optimizer, so nothing changes; import the model with the option "
                             "'update'")
        self.arguments = [a for a in manifest["arguments"] if a["role"] != "microbatch" and "symbol" not in a]
        self.batches = [a for a in self.arguments if a["role"] == "batch"]
        self.values = [(self._constant(name), value) for name, value in (values or {}).items()]
        given = inputs if isinstance(inputs, dict) else _read_inputs(inputs)
        fed = {a["position"] for a in self.batches} | {a["position"] for a, _ in self.values}
        self.step.set({a["position"]: self._given(given, a) for a in self.arguments
                       if a["position"] not in fed and "averaging" not in a})
        self.keys = {} if same_seed else {a["position"]: np.asarray(given[a["position"]]) for a in self.arguments
                                          if a["role"] == "seed"}
        self.saved = -1
        self.ending = weakref.finalize(self, self.step.finish_saving)  # also at the end of the program
        if resume:
            self._resume()
        self.appends = resume

    def train(self, batches, steps):
        """Runs until `steps` steps are done, including those of earlier runs; yields for each step a dictionary of its
        metrics, such as step, loss, seconds and bubble.

        `batches` is an iterable of {name: array}, of tuples in the order of the step's batch arguments, or of arrays if it has
        only one; or a function of the step's number (from 0) that returns one of these. The first dimension of arrays is all
        samples of a step, or the first two are microbatches and samples. On resuming, a function is called with the next step's
        number; an iterable with load_state_dict gets the result of its state_dict, which must be JSON; any other iterable is
        advanced by the number of batches used.

        If the run has checkpoints, the first Ctrl-C or SIGTERM ends it after the current step and its checkpoint, with
        KeyboardInterrupt or exit status 0 respectively. A second one ends it at once.
        """
        source = _Source(batches, self.done, self.data)
        first = True
        with open(self.metrics, "a" if self.appends else "w") if self.metrics else open(os.devnull, "w") as lines, \
                _Signals(self.checkpoints is not None) as signals:
            self.appends = True
            while self.done < steps:
                if signals.number:
                    self._interrupted(signals.number)
                try:
                    batch = source.take(self.done)
                except StopIteration:
                    raise RunFailure(f"the batches ended after step {self.done}, {steps} were asked for") from None
                self._set(batch)
                self.step._step.run()
                self.done += 1
                self.data = source.state()
                figures = self._figures()
                lines.write(json.dumps({**figures, **({"run": self._about()} if first else {})}) + "\n")
                lines.flush()
                first = False
                if self.every and self.done % self.every == 0:
                    self.save()
                yield figures
            if self.checkpoints is not None:
                self.save()
                self._finish()
            if signals.number:
                self._interrupted(signals.number)

    def sampled(self, source, seed=0):
        """Batches for `train` from a source of `pp-run --source`, a function of seed, step and microbatch that returns arrays by
        name: either run can resume the other's."""
        def batch(step):
            parts = [source(seed, step, m) for m in range(self.step.microbatches)]
            return {name: np.stack([part[name] for part in parts]) for name in parts[0]}
        return batch

    def save(self):
        """Writes a checkpoint of the last step, unless it exists, piece by piece; a background thread commits it later."""
        if self.saved == self.done:
            return
        self._finish()
        self.saved = self.done
        positions = {role: {r["name"]: r["position"] for r in self.replaced if r["role"] == role} for role in files.FILES}
        saved = files.ordered(positions)
        draft = files.begin(self.checkpoints, self.done, [(role, name, *self.step.described(at)) for role, name, at in saved],
                            self.data)
        self._writing(self.step.save, draft, [at for _, _, at in saved], self.keep)

    def tensors(self):
        """{role: {name: array}} of the parameters and the state after the last step."""
        found = {"parameter": {}, "state": {}}
        for result in self.replaced:
            found[result["role"]][result["name"]] = self.step.result(result["position"])
        return found

    def _interrupted(self, number):
        self.save()
        self._finish()
        print(f"stagewright: interrupted after step {self.done}, which is saved; resume=True goes on", file=sys.stderr)
        raise KeyboardInterrupt if number == signal.SIGINT else SystemExit(0)

    def _finish(self):
        self._writing(self.step.finish_saving)

    def _writing(self, call, *arguments):
        try:
            call(*arguments)
        except RuntimeError as error:
            self.ending.detach()  # it would repeat the error at the end of the program
            raise RunFailure(str(error)) from None

    def _resume(self):
        names = {(result["role"], result["name"]) for result in self.replaced}
        arguments = [a for a in self.arguments if (a["role"], a["name"]) in names]
        shapes = {role: {a["name"]: tuple(a["shape"]) for a in arguments if a["role"] == role} for role in files.FILES}
        self.done, tensors, self.data = files.newest(self.checkpoints, shapes)
        self.saved = self.done
        # Parameters first: setting one begins a new round of averages.
        self.step.set({a["position"]: tensors[a["role"]][a["name"]] for a in arguments if a["name"] in tensors[a["role"]]})
        if self.metrics and os.path.isfile(self.metrics):
            _cut_lines(self.metrics, self.done)

    def _constant(self, name):
        found = {a["name"]: a for a in self.arguments if a["role"] == "constant"}
        if name not in found:
            raise RunFailure(f"no constant argument is called '{name}'; they are {sorted(found)}")
        return found[name]

    @staticmethod
    def _given(given, argument):
        if argument["position"] not in given:
            raise RunFailure(f"the inputs have no argument {argument['position']} ('{argument['name']}')")
        return given[argument["position"]]

    def _set(self, batch):
        number, count = self.done, self.step.microbatches
        if not isinstance(batch, dict):
            batch = batch if isinstance(batch, (tuple, list)) else (batch,)
            batch = dict(zip((a["name"] for a in self.batches), batch, strict=True))
        for argument in self.batches:
            if argument["name"] not in batch:
                raise RunFailure(f"batch {number} has no '{argument['name']}', only {sorted(batch)}")
            array, one = np.asarray(batch[argument["name"]]), tuple(argument["shape"])
            whole = (count, *one)
            if array.shape != whole and (one[:1] and array.shape != (count * one[0], *one[1:]) or not one):
                raise RunFailure(f"batch {number}: '{argument['name']}' has shape {array.shape}, expected "
                                 f"{(count * one[0], *one[1:]) if one else whole} or {whole}")
            self.step.set({argument["position"]: array.reshape(whole)})
        for argument, value in self.values:
            value = value(number) if callable(value) else value[number]
            self.step.set({argument["position"]: np.asarray(value, _numpy(argument["dtype"]))})
        for position, key in self.keys.items():
            self.step.set({position: fold_in(key, number)})

    def _figures(self):
        figures, step = {"step": self.done}, self.step
        loss = next((r for r in step.manifest["results"] if r["role"] == "loss"), None)
        loss = float(step.result(loss["position"])) if loss else math.nan
        figures["loss"] = loss if math.isfinite(loss) else None
        figures["seconds"] = step.seconds
        if self.batches:
            first = self.batches[0]
            elements = self.step.microbatches * math.prod(first["shape"])
            figures["samples_per_second"] = self.step.microbatches * (first["shape"] or [1])[0] / step.seconds
            if first["dtype"] in ("i32", "i64"):
                figures["tokens_per_second"] = elements / step.seconds
        idle = step.last_idle
        return {**figures, "bubble": sum(idle) / len(idle), "idle": idle}

    def _about(self):
        manifest = self.step.manifest
        about = {"artifact": self.artifact, "schedule": manifest["schedule"], "microbatches": self.step.microbatches,
                 "ranks": [{"device": rank.get("device", ""), "planned_bytes": self.step.predicted_bytes(number),
                            "arena_bytes": self.step.rank_bytes(number)} for number, rank in enumerate(manifest["ranks"])]}
        if isinstance(manifest.get("plan"), dict) and "idle" in manifest["plan"]:
            about["planned_idle"] = manifest["plan"]["idle"]
        return about


class _Signals:
    """Records the first SIGINT or SIGTERM as `number`, unless the program handles the signal itself."""

    def __init__(self, wanted):
        here = wanted and threading.current_thread() is threading.main_thread()
        self.number, self.before = None, {
            number: handler for number in (signal.SIGINT, signal.SIGTERM) if here and
            (handler := signal.getsignal(number)) in (signal.SIG_DFL, signal.default_int_handler)}

    def __enter__(self):
        for number in self.before:
            signal.signal(number, self._note)
        return self

    def __exit__(self, *_):
        while self.before:
            signal.signal(*self.before.popitem())

    def _note(self, number, _):
        self.number = number
        self.__exit__()


class _Source:
    """Batches, starting at that of step `done`."""

    def __init__(self, batches, done, data):
        self.function = batches if callable(batches) and not hasattr(batches, "__iter__") else None
        self.batches = batches
        if self.function:
            return
        self.keeps = hasattr(batches, "state_dict") and hasattr(batches, "load_state_dict")
        if self.keeps and data is not None:
            batches.load_state_dict(data)
        self.iterator = iter(batches)
        if not (self.keeps and data is not None):
            next(itertools.islice(self.iterator, done, done), None)

    def take(self, number):
        return self.function(number) if self.function else next(self.iterator)

    def state(self):
        return None if self.function or not self.keeps else self.batches.state_dict()


def _cut_lines(path, last):
    """Removes the lines of steps after `last`, which will run again, and an incomplete last line."""
    def stays(line):
        try:
            found = json.loads(line)
        except ValueError:
            return line.endswith("\n")
        return not isinstance(found, dict) or not isinstance(found.get("step"), int) or found["step"] <= last

    with open(path) as file:
        lines = file.readlines()
    with open(f"{path}.tmp", "w") as file:
        file.writelines(filter(stays, lines))
    os.replace(f"{path}.tmp", path)


def fold_in(key, number):
    """jax.random.fold_in of threefry keys, as words of 32 bits: Threefry-2x32 of the counter (0, number)."""
    words = np.asarray(key).view(np.uint32).reshape(-1, 2)
    keys = [words[:, 0], words[:, 1], words[:, 0] ^ words[:, 1] ^ np.uint32(0x1BD11BDA)]
    with np.errstate(over="ignore"):
        x, y = keys[0].copy(), keys[1] + np.uint32(number)
        for group in range(5):
            for rotation in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
                x = x + y
                y = (y << np.uint32(rotation) | y >> np.uint32(32 - rotation)) ^ x
            x, y = x + keys[(group + 1) % 3], y + keys[(group + 2) % 3] + np.uint32(group + 1)
    return np.stack([x, y], -1).reshape(np.shape(key)).view(np.asarray(key).dtype)


def _numpy(name):
    return {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32, "i64": np.int64}.get(name)


def _read_inputs(path):
    from safetensors.numpy import load_file
    return {int(name): value for name, value in load_file(path).items()}
