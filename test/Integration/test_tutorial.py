"""The commands of docs/tutorial.md run, and print what it shows."""

import os
import pathlib
import re
import sys

import documents
from workshop import BUILD, HERE

TEXT = (HERE.parents[1] / "docs/tutorial.md").read_text()


def test_the_tutorial_shows_what_its_commands_print(tmp_path):
    (tmp_path / "model.py").write_text(re.search(r"```python\n(.*?)```", TEXT, re.DOTALL)[1])
    # The `python3` of the commands is the one of this test, which has JAX.
    here = pathlib.Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{BUILD / 'bin'}:{here}:{os.environ['PATH']}"}
    wrong = [text for command, expected in documents.examples(TEXT)
             if (text := documents.difference(command, expected, cwd=tmp_path, env=environment))]
    assert not wrong, "\n\n".join(wrong)


def test_a_difference_is_found(tmp_path):
    assert documents.difference("echo a; echo b", ["a", "c"]) == "'echo a; echo b' prints\na\nb\ninstead of\na\nc"
    assert not documents.difference("echo a; echo b; echo c", ["a", "..."])
    assert not documents.difference("echo a long line", ["a ...line"])
    assert documents.difference("echo a; echo b", ["...", "a"])
    assert not documents.difference("true", [])
