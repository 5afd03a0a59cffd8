"""Checkpoints in the format of pp-run: a folder for each step, with the tensors under the model's names in safetensors, and
checksums. They are written as pp-run does it (lib/Runtime/Training): to a temporary folder that is renamed, so a checkpoint is
never incomplete."""

from __future__ import annotations

import json
import pathlib
import zlib

from stagewright.errors import RunFailure
from stagewright.runtime import as_bytes, binding, contiguous, type_number

VERSION = 1
FILES = {"parameter": "params.safetensors", "state": "state.safetensors"}
AVERAGING = "averaging/"  # prefix of the names of tensors of averages over replicas


def folders(directory):
    """The checkpoints in a folder, oldest first."""
    return sorted(path for path in pathlib.Path(directory).glob("step-*") if path.is_dir())


def write(directory, step, tensors, keep=3, data=None):
    """Writes {role: {name: array}} and keeps the last `keep` checkpoints; `data` is the state of the batch iterator, and must
    be JSON."""
    arrays = [(role, name, contiguous(array)) for role, name, array in ordered(tensors)]
    draft = begin(directory, step, [(role, name, type_number(array), array.shape) for role, name, array in arrays], data)
    try:
        for _, _, array in arrays:
            draft.append(as_bytes(array))
        draft.commit(keep)
    except RuntimeError as error:
        raise RunFailure(str(error)) from None


def ordered(tensors):
    """(role, name, value) of {role: {name: value}}, in the order of a checkpoint's files."""
    return [(role, name, tensors[role][name]) for role in FILES for name in sorted(tensors[role])]


def begin(directory, step, described, data=None):
    """A new checkpoint without its data. `described` lists (role, name, number of the type, shape) of its tensors; append their
    bytes in the order of `ordered`, then commit."""
    return binding().CheckpointDraft(str(directory), step, [(*it[:3], list(it[3])) for it in described],
                                     "" if data is None else json.dumps(data))


def read(folder):
    """(step, {role: {name: array}}, data) of one checkpoint; RunFailure describes what is wrong with it."""
    from safetensors.numpy import load_file

    folder, tensors = pathlib.Path(folder), {}
    try:
        manifest = json.loads((folder / "checkpoint.json").read_text())
        version, step, files = manifest["version"], int(manifest["step"]), dict(manifest["files"])
        if step < 0:
            raise ValueError
    except OSError as error:
        raise RunFailure(f"cannot read '{error.filename}': {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise RunFailure(f"'{folder / 'checkpoint.json'}' is not the manifest of a checkpoint") from error
    if version != VERSION:
        raise RunFailure(f"'{folder}' has version {version}, but this program reads version {VERSION}")
    for role, name in FILES.items():
        path, about = folder / name, files.get(name, {})
        contents = path.read_bytes() if path.exists() else b""
        for what, found in (("bytes", len(contents)), ("crc32", zlib.crc32(contents))):
            if found != about.get(what):
                raise RunFailure(f"'{path}': {what} is {found}, but {about.get(what)} in checkpoint.json")
        tensors[role] = load_file(path)
    return step, tensors, manifest.get("data")


def require_place(directory, resume):
    """Checks that a new run has a folder without checkpoints, and that a resumed run has some there, and removes what a killed
    run left. A new run removes nothing from a folder with checkpoints, where another run may be writing."""
    def refuse_others():
        found = folders(directory)
        if found and not resume:
            raise RunFailure(f"'{directory}' has a checkpoint already, '{found[-1].name}'; continue from it with resume=True, or give "
                             "another folder")

    refuse_others()
    binding().recover_checkpoints(str(directory))
    refuse_others()
    if resume and not folders(directory):
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
        other = f"; to resume from the previous checkpoint '{found[-2]}', remove this one" if found[1:] else \
            "; there is no other checkpoint"
        raise RunFailure(f"{error}{other}") from error


def _require(folder, role, shapes, wanted):
    foreign = "it is of another model or optimizer"
    if any(name.startswith(AVERAGING) for name in {*shapes, *wanted}):
        foreign += ", or of replicas that average their parameters differently; resume with the plan of the run that wrote it"
    if not any(name.startswith(AVERAGING) for name in shapes):  # of a synchronous run: the first round begins
        wanted = {name: shape for name, shape in wanted.items() if not name.startswith(AVERAGING)}
    for name, shape in wanted.items():
        if name not in shapes:
            raise RunFailure(f"'{folder}' has no {role} '{name}'; {foreign}")
        if shapes[name] != shape:
            raise RunFailure(f"'{folder}' has {role} '{name}' of shape {shapes[name]}, but the step takes {shape}")
    for name in shapes:
        if name not in wanted:
            raise RunFailure(f"'{folder}' has {role} '{name}', which the step does not have; {foreign}")
