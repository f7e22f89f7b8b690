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

Imports = Mapping[str, set[str]]


def drawn(text: str) -> str:
    """The document with the drawing as it should be now."""
    graph = grimp.build_graph("moorage")
    scheduler = _imports(graph, "moorage")
    cluster = _imports(graph, "moorage.cluster")
    lines = ["```mermaid", "flowchart TD"]
    for title, house in (("the scheduler", scheduler), ("the embedded cluster", cluster)):
        rooms = [name for name in house if name != "moorage.cluster"]
        lines.append(f'    subgraph {title.split()[-1]}_house["{title}"]')
        lines += [f'        {_id(name)}["{name.rpartition(".")[2]}<br/>{_about(name)}"]' for name in rooms]
        lines += [
            f"        {_id(name)} --> {_id(below)}" for name in rooms for below in _drawn_below(name, house)
        ]
        lines.append("    end")
    for name in sorted(scheduler["moorage.cluster"]):
        lines.append(f"    cluster_house --> {_id(name)}")
    lines += [
        f"    {_id(name)} --> cluster_house"
        for name, below in scheduler.items()
        if "moorage.cluster" in below
    ]
    return _DRAWING.sub(lambda found: "\n".join([found[1].rstrip(), *lines, "```", found[2]]), text)


def _imports(graph: grimp.ImportGraph, root: str) -> dict[str, set[str]]:
    """Which child packages of a package import which others."""
    children = sorted(graph.find_children(root))
    return {
        child: {
            other
            for other in children
            if other != child and graph.direct_import_exists(importer=child, imported=other, as_packages=True)
        }
        for child in children
    }


def _drawn_below(name: str, house: Imports) -> list[str]:
    """What a package stands on directly: not what those below it stand on anyway."""
    below = house[name] - {"moorage.cluster"}
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


def _id(name: str) -> str:
    return name.replace(".", "_")


def _about(name: str) -> str:
    """The first sentence of the package's docstring, up to a colon or the like."""
    place = ROOT / "src" / Path(*name.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    sentence = (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n")[0].rstrip(".")
    return sentence.replace('"', "'")


if __name__ == "__main__":
    DOCUMENT.write_text(drawn(DOCUMENT.read_text()))
