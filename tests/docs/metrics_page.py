"""What docs/metrics.md says: the metrics that there are, and those of kube-scheduler that are left out."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "metrics.md"
OWN = "Moorage's own"
OTHERWISE = "Counted otherwise"
LEFT_OUT = "Left out"


class Described(NamedTuple):
    """A metric in a table of the page."""

    section: str
    type: str
    labels: tuple[str, ...]
    tells: str


def described() -> dict[str, Described]:
    """Every metric on the page, by name."""
    found: dict[str, Described] = {}
    for section, cells in _rows():
        if len(cells) == 5:
            name, kind, labels, tells, _ = cells
            assert name not in found, name
            found[name.strip("`")] = Described(section, kind, tuple(filter(None, labels.split(", "))), tells)
    return found


def otherwise() -> set[str]:
    """The metrics that the page says are counted otherwise."""
    return {cells[0].strip("`") for section, cells in _rows() if section == OTHERWISE}


def left_out() -> list[str]:
    """The names of what is left out; a `*` stands for anything."""
    return [
        name
        for section, cells in _rows()
        if section == LEFT_OUT
        for name in re.findall(r"`([^`]+)`", cells[0])
    ]


def is_left_out(name: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in left_out())


def _rows() -> Iterator[tuple[str, list[str]]]:
    """The rows of all tables, each with the heading that it stands under."""
    section = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("| `"):
            yield section, [cell.strip() for cell in line.strip("|").split(" |")]
