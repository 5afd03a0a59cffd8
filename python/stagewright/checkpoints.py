"""Checkpoints in the format of pp-run (lib/Runtime/Training): a folder for each step, with the tensors under the model's names
in safetensors, and checksums. A checkpoint is written to a temporary folder and renamed, so it is never incomplete."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import zlib

from stagewright.errors import RunFailure

VERSION = 1
FILES = {"parameter": "params.safetensors", "state": "state.safetensors"}


def folders(directory):
    """The checkpoints in a folder, oldest first."""
    return sorted(path for path in pathlib.Path(directory).glob("step-*") if path.is_dir())


def write(directory, step, tensors, keep=3, data=None):
    """Writes {role: {name: array}} and keeps the last `keep` checkpoints; `data` is the state of the batch iterator, and must
    be JSON."""
    from safetensors.numpy import save_file

    directory = pathlib.Path(directory)
    place, draft = directory / f"step-{step:012d}", directory / f".writing-step-{step:012d}"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    manifest = {"version": VERSION, "step": step, "files": {}}
    if data is not None:
        manifest["data"] = data
    for role, name in FILES.items():
        save_file(tensors[role], draft / name)
        _synchronise(draft / name)
        contents = (draft / name).read_bytes()
        manifest["files"][name] = {"bytes": len(contents), "crc32": zlib.crc32(contents)}
    (draft / "checkpoint.json").write_text(json.dumps(manifest, indent=1) + "\n")
    _synchronise(draft / "checkpoint.json")
    _synchronise(draft)
    shutil.rmtree(place, ignore_errors=True)  # left by an earlier run for the same step
    os.rename(draft, place)
    _synchronise(directory)
    for old in folders(directory)[:-keep]:
        shutil.rmtree(old)


def read(folder):
    """(step, {role: {name: array}}, data) of one checkpoint; RunFailure describes what is wrong with it."""
    from safetensors.numpy import load_file

    folder, tensors = pathlib.Path(folder), {}
    try:
        manifest = json.loads((folder / "checkpoint.json").read_text())
        version, step, files = manifest["version"], int(manifest["step"]), manifest["files"]
    except OSError as error:
        raise RunFailure(f"cannot read '{error.filename}': {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise RunFailure(f"'{folder / 'checkpoint.json'}' is not that of a checkpoint") from error
    if version != VERSION:
        raise RunFailure(f"'{folder}' has version {version}, this program reads {VERSION}")
    for role, name in FILES.items():
        path, about = folder / name, files.get(name, {})
        contents = path.read_bytes() if path.exists() else b""
        for what, found in (("bytes", len(contents)), ("crc32", zlib.crc32(contents))):
            if found != about.get(what):
                raise RunFailure(f"'{path}': {what} is {found}, checkpoint.json says {about.get(what)}")
        tensors[role] = load_file(path)
    return step, tensors, manifest.get("data")


def require_place(directory, resume):
    """Checks that a new run has a folder without checkpoints, and that a resumed run has some there."""
    found = folders(directory)
    if found and not resume:
        raise RunFailure(f"'{directory}' has a checkpoint already, '{found[-1].name}'; go on from it with resume=True, or give "
                         "another folder")
    if not found and resume:
        raise RunFailure(f"'{directory}' has no checkpoint; without resume the run begins at step 1")


def newest(directory, shapes):
    """The newest checkpoint of a folder, as `read` returns it. `shapes` is {role: {name: shape}} of the required tensors; if
    the checkpoint is damaged or of another model, the error names the previous one."""
    found = folders(directory)
    try:
        step, tensors, data = read(found[-1])
        for role, wanted in shapes.items():
            _require(found[-1], role, {name: value.shape for name, value in tensors[role].items()}, wanted)
        return step, tensors, data
    except RunFailure as error:
        other = f"; the one before is '{found[-2]}': remove the newer to resume from it" if found[1:] else \
            "; it is the only one"
        raise RunFailure(f"{error}{other}") from error


def _require(folder, role, shapes, wanted):
    foreign = "it is of another model or optimizer"
    for name, shape in wanted.items():
        if name not in shapes:
            raise RunFailure(f"'{folder}' has no {role} '{name}'; {foreign}")
        if shapes[name] != shape:
            raise RunFailure(f"'{folder}' has {role} '{name}' of shape {shapes[name]}, the step takes {shape}")
    for name in shapes:
        if name not in wanted:
            raise RunFailure(f"'{folder}' has {role} '{name}', which the step has not; {foreign}")


def _synchronise(path):
    """Flushes a file, or a folder's entries, to disk (fsync)."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
