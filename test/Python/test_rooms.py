"""The rooms of lib and tools: which headers a file may include, that rooms do not include each other in a circle, and that no file
name is used more than twice.

A room is a folder with a CMakeLists.txt, such as that of a library or a tool. The headers in it are its own; what other
rooms may include is in include/.
"""

import collections
import graphlib
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tree():
    """The text of every source and every CMakeLists.txt, by path from the root."""
    return {str(path.relative_to(ROOT)): path.read_text() for folder in ("include", "lib", "tools")
            for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".cpp", ".h") or path.name == "CMakeLists.txt"}


def room_of(path, files):
    """The nearest folder around `path` with a CMakeLists.txt."""
    return next((str(folder) for folder in pathlib.PurePath(path).parents if f"{folder}/CMakeLists.txt" in files),
                path.split("/")[0])


def private_headers(path, files):
    """The headers of lib and tools that `path` includes: beside it, else of its room, else of another one."""
    for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', files[path], re.MULTILINE):
        if f"include/{name}" in files:
            continue
        folder = pathlib.PurePath(path).parent
        parts = []
        for part in (folder / name).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        if "/".join(parts) in files:
            yield "/".join(parts)
            continue
        named = [file for file in files if file.endswith("/" + name) and not file.startswith("include/")]
        own = [file for file in named if room_of(file, files) == room_of(path, files)]
        yield from (own or named)[:1]


def crossings(files):
    """Includes of another room's private headers, as (file, header)."""
    return [(path, header) for path in files if path.endswith((".cpp", ".h")) for header in private_headers(path, files)
            if path.startswith("include/") or room_of(path, files) != room_of(header, files)]


def order(files):
    """The rooms, each after those whose headers it includes; CycleError if there is no such order."""
    rooms = collections.defaultdict(set)
    for path, text in files.items():
        public = [f"include/{name}" for name in re.findall(r'#include "([^"]+)"', text) if f"include/{name}" in files]
        for header in [*public, *private_headers(path, files)]:
            user, used = (room_of(each.replace("include/stagewright/", "lib/", 1), files) for each in (path, header))
            rooms[user] |= {used} - {user}
    return list(graphlib.TopologicalSorter(rooms).static_order())


def shared_names(files):
    """Names that more than two sources of lib and tools have."""
    counts = collections.Counter(path.rsplit("/", 1)[-1] for path in files if not path.startswith("include/"))
    return [name for name, count in counts.items() if count > 2 and name != "CMakeLists.txt"]


def test_no_private_header_crosses_a_room():
    assert not crossings(tree())


def test_rooms_form_no_circle():
    assert "lib/Pipelines" in order(tree())


def test_no_name_is_used_more_than_twice():
    assert not shared_names(tree())


def test_crossings_circles_and_names_are_found():
    files = {"lib/A/CMakeLists.txt": "", "lib/B/CMakeLists.txt": "", "include/stagewright/A/Open.h": "", "lib/A/Own.h": "",
             "lib/A/In/Own.cpp": '#include "Own.h"\n#include "stagewright/A/Open.h"\n#include "mlir/IR/Value.h"\n',
             "lib/B/Up.cpp": '#include "../A/Own.h"\n', "lib/B/Path.cpp": '#include "Own.h"\n',
             "include/stagewright/B/Leak.h": '#include "Own.h"\n', "lib/B/In/Own.cpp": "", "lib/B/Own.cpp": ""}
    assert crossings(files) == [("lib/B/Up.cpp", "lib/A/Own.h"), ("lib/B/Path.cpp", "lib/A/Own.h"),
                                ("include/stagewright/B/Leak.h", "lib/A/Own.h")]
    assert shared_names(files) == ["Own.cpp"]
    assert order(files)[:2] == ["lib/A", "lib/B"]
    with pytest.raises(graphlib.CycleError):
        order({**files, "lib/A/Down.cpp": '#include "stagewright/B/Leak.h"\n'})
