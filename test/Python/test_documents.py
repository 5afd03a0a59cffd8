"""Links of the documents lead to files and headings that exist, and paths in them to files."""

import glob
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(page for page in ROOT.rglob("*.md") if not {"build", ".pytest_cache"} & set(page.relative_to(ROOT).parts))


def anchors(text):
    """The anchors of all headings, as GitHub makes them."""
    for heading in re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE):
        heading = re.sub(r"\]\([^)]*\)", "", heading)
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken(page, text):
    """Links and paths of the page that lead nowhere."""
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if link.startswith("http"):
            continue
        if not target.exists() or anchor and anchor not in anchors(target.read_text()):
            yield link
    for path in re.findall(r"`((?:lib|test|scripts|bench|docs|include|dialects|python|tools)/[\w./*-]+)`", text):
        if not glob.glob(f"{ROOT / path}*"):
            yield path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_paths_exist(page):
    assert not list(broken(page, page.read_text()))


def test_broken_links_are_found():
    text = "[a](docs/planner.md#1-model) `lib/Runtime/Mpi` [b](docs/none.md) [c](docs/planner.md#none) `lib/None`"
    assert list(broken(ROOT / "README.md", text)) == ["docs/none.md", "docs/planner.md#none", "lib/None"]
