"""Draws both houses, the scheduler and the embedded cluster, into docs/inside.md, from what imports what.

    python -m tools.draw_houses

An arrow means that one package imports another; those that follow from other arrows are left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "inside.md"

_DRAWING = re.compile(r"(<!-- houses[^\n]*-->\n).*?(<!-- end of houses -->)", re.DOTALL)
_CLUSTER = "moorage.cluster"

Imports = Mapping[str, set[str]]


def drawn(text: str) -> str:
    """The document with the drawings as they should be now."""
    graph = grimp.build_graph("moorage")
    packages = [name for name in graph.find_children("moorage") if graph.find_children(name)]
    everything = _imports(graph, sorted(packages))
    floors = sorted(graph.find_children(_CLUSTER))
    inside = _imports(graph, [*floors, *sorted(everything[_CLUSTER])])
    cluster = {
        name: below for name, below in inside.items() if name in floors or name in everything[_CLUSTER]
    }
    drawings = f"{_drawing(everything)}\n\n{_drawing(cluster)}"
    return _DRAWING.sub(lambda found: f"{found[1]}{drawings}\n{found[2]}", text)


def _drawing(house: Imports) -> str:
    rooms = [f'    {_id(name)}["<b>{_short(name)}</b><br/>{_about(name)}"]' for name in house]
    arrows = [
        f"    {_id(name)} --> {' & '.join(map(_id, below))}"
        for name in house
        if (below := _drawn_below(name, house))
    ]
    return "\n".join(["```mermaid", "flowchart TD", *rooms, *arrows, "```"])


def _imports(graph: grimp.ImportGraph, packages: list[str]) -> dict[str, set[str]]:
    """Which of these packages import which others."""
    return {
        importer: {
            imported
            for imported in packages
            if imported != importer
            and graph.direct_import_exists(importer=importer, imported=imported, as_packages=True)
        }
        for importer in packages
    }


def _drawn_below(name: str, house: Imports) -> list[str]:
    """What a package stands on directly: not what those below it stand on anyway."""
    below = house[name]
    reached = {
        further
        for other in below
        for further in _all_below(other, house)
        if not {name, further} & _mates(other, house)
    }
    return sorted(below - reached)


def _mates(name: str, house: Imports) -> set[str]:
    """The rooms of the same floor that it knows and that know it."""
    return {other for other in _all_below(name, house) if name in _all_below(other, house)}


def _all_below(name: str, house: Imports) -> set[str]:
    found: set[str] = set()
    waiting = set(house[name])
    while waiting:
        other = waiting.pop()
        if other not in found:
            found.add(other)
            waiting |= house[other]
    return found


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _id(name: str) -> str:
    return name.replace(".", "_")


def _about(name: str) -> str:
    """The first sentence of the package's docstring."""
    place = ROOT / "src" / Path(*name.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    sentence = (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n")[0].rstrip(".")
    return sentence.replace('"', "'").replace("`", "")


if __name__ == "__main__":
    DOCUMENT.write_text(drawn(DOCUMENT.read_text()))
