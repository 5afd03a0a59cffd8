"""Results of a benchmark as JSON, as Markdown, and as text lines."""

import dataclasses
import json


@dataclasses.dataclass
class Table:
    caption: str
    columns: list
    rows: list = dataclasses.field(default_factory=list)

    def markdown(self):
        """First column left-aligned, the others right-aligned."""
        lines = [self.caption, "", line(self.columns), line(["---"] + ["---:"] * (len(self.columns) - 1))]
        return "\n".join(lines + [line(row) for row in self.rows]) + "\n"


def line(cells):
    return f"| {' | '.join(str(cell) for cell in cells)} |"


@dataclasses.dataclass
class Result:
    """Tables for people; `ratios` and `figures` for programs; `wanted` records which limits were met."""

    name: str
    tables: list = dataclasses.field(default_factory=list)
    ratios: dict = dataclasses.field(default_factory=dict)
    figures: dict = dataclasses.field(default_factory=dict)
    comparisons: dict = dataclasses.field(default_factory=dict)
    wanted: list = dataclasses.field(default_factory=list)
    parts: list = dataclasses.field(default_factory=list)  # empty: the whole benchmark

    @property
    def file(self):
        """Base name of its files: those of a part are next to those of the whole."""
        return "-".join([self.name, *self.parts])

    def want(self, what, value, limit):
        """Records a limit; `value` is None if a ratio was refused. Returns the text of the column "limit"."""
        kept = None if value is None else value <= limit
        self.wanted.append(dict(what=what, value=value, limit=limit, kept=kept))
        return f"{limit:g}: " + {None: "not known", True: "kept", False: "missed"}[kept]

    def json(self):
        return {key: value for key, value in dataclasses.asdict(self).items() if key != "tables"}

    def markdown(self):
        return f"# {self.name}\n\n" + "\n".join(table.markdown() for table in self.tables)

    def write(self, folder, machine):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.file}.json").write_text(json.dumps({**self.json(), "machine": machine}, indent=1) + "\n")
        (folder / f"{self.file}.md").write_text(f"{self.markdown()}\n{machine}\n")


def time(seconds):
    """A time with three digits (below 100 ns fewer) and a unit."""
    for unit, size in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.{2 if seconds / size < 10 else 1 if seconds / size < 100 else 0}f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def size(count):
    """Bytes in MiB."""
    return f"{count / 2**20:.1f} MiB"


def number(value, digits=2):
    return "refused" if value is None else f"{value:.{digits}f}"


RATIO_COLUMNS = ["", "ours", "peer", "ratio of medians", "95 % interval", "ratio of min", "limit"]


def ratio_row(title, ratio, wanted):
    return [title, time(ratio.ours_median), time(ratio.peer_median), number(ratio.value),
            f"{ratio.low:.2f} to {ratio.high:.2f}", number(ratio.least), wanted]
