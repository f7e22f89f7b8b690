"""Writes docs/reference/, the reference of all public names, from signatures and docstrings.

    python -m tools.make_reference

A new public name is taken up by itself: the module that defines it decides on its page.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from moorage.api.kinds import WATCHED
from moorage.api.points import POINTS
from moorage.framework.events import (
    ASSIGNED_POD,
    NODE,
    POD,
    POD_GROUP,
    UNSCHEDULABLE_POD,
    WILDCARD,
    Action,
    is_watchable,
)
from tools.public_api import Entry, Member, classes_of, entry_of, public_entries
from tools.reference_pages import PAGES, Page

FOLDER = Path(__file__).parent.parent / "docs" / "reference"

_MADE = "Made from the docstrings by `python -m tools.make_reference`; a test keeps it so."
_WITHOUT_MEMBERS = ("Generic", "Protocol")


def pages() -> dict[str, str]:
    """File name to text, the index included."""
    on_page = _entries()
    links = {
        entry.name: f"{file}#{_anchor(entry)}"
        for file, entries in on_page.items()
        for entry in entries
        if entry.is_class
    }
    texts = {page.file: _page(page, on_page[page.file], links) for page in PAGES}
    texts["README.md"] = _index(on_page)
    return texts


def undocumented() -> list[str]:
    """Public names and members without a docstring."""
    return [name for entries in _entries().values() for entry in entries for name in entry.undocumented()]


def _entries() -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {page.file: [] for page in PAGES}
    for module in ("moorage", "moorage.testing"):
        for entry in public_entries(module):
            found[_page_of(entry).file].append(entry)
    for page in PAGES:
        known = {entry.name for entry in found[page.file]}
        given = [entry_of(*place.split(":")) for place in page.given]
        found[page.file] += [entry for entry in given if entry.name not in known]
        found[page.file].sort(key=lambda entry: _place(entry, page))
    return found


def _place(entry: Entry, page: Page) -> tuple[int, int]:
    """Extension points stand in their order, others by their modules; what is only given comes last."""
    points = [point.interface for point in POINTS.values()]
    if entry.name in points:
        return 0, points.index(entry.name)
    places = [place for place, home in enumerate(page.homes) if f"{entry.home}.".startswith(f"{home}.")]
    return (0, places[0]) if entry.module and places else (1, 0)


def _page_of(entry: Entry) -> Page:
    """The page that names the module most exactly."""
    fits = [
        (len(home), page) for page in PAGES for home in page.homes if f"{entry.home}.".startswith(f"{home}.")
    ]
    return max(fits, key=lambda fit: fit[0])[1]


def _index(on_page: dict[str, list[Entry]]) -> str:
    lines = [
        "# Reference",
        "",
        "Every public name with its signature and what it does. What a plugin needs comes from `moorage`,",
        "what its tests need from `moorage.testing`; names in italics are given to plugins, never imported.",
        "What is not here is private and may change.",
        "",
        _MADE,
    ]
    for page in PAGES:
        lines += ["", f"## [{page.title}]({page.file})", "", "| name | |", "|---|---|"]
        for entry in on_page[page.file]:
            link = f"[`{entry.name}`]({page.file}#{_anchor(entry)})"
            lines.append(f"| {link if entry.module else f'*{link}*'} | {_cell(_first_sentence(entry.doc))} |")
    return "\n".join(lines) + "\n"


def _page(page: Page, entries: list[Entry], links: dict[str, str]) -> str:
    parts = [f"# {page.title}\n\n{page.about}\n\n{_MADE}\n"]
    parts += [_entry(entry, links) for entry in entries]
    if page.file == "events.md":
        parts.append(_resources())
    if page.file == "objects.md":
        parts.append(_parts({entry.name for entry in entries}))
    return "\n".join(parts)


def _entry(entry: Entry, links: dict[str, str]) -> str:
    head = f"## {'class ' if entry.is_class else ''}`{entry.name}`"
    facts = []
    if entry.module:
        facts.append(f"`from {entry.module} import {entry.name}`")
    bases = [base for base in entry.bases if base not in _WITHOUT_MEMBERS]
    if bases:
        facts.append("bases: " + ", ".join(_link(base, links) for base in bases))
    facts += [
        f"[more](../extension-points/{point.attribute.replace('_', '-')}.md)"
        for point in POINTS.values()
        if point.interface == entry.name
    ]
    lines = [head, ""]
    if facts:
        lines += ["; ".join(facts), ""]
    if entry.signature:
        lines += [*_code(entry.signature), ""]
    lines += [_prose(entry.doc), ""]
    attributes = [member for member in entry.members if not member.is_method]
    if attributes:
        lines += ["| attribute | | |", "|---|---|---|", *map(_attribute, attributes), ""]
    for member in entry.members:
        if member.is_method:
            lines += [*_method(member), "", *_indented(_prose(member.doc)), ""]
    return "\n".join(lines)


def _link(name: str, links: dict[str, str]) -> str:
    return f"[`{name}`]({links[name]})" if name in links else f"`{name}`"


def _method(member: Member) -> list[str]:
    if "\n" not in member.text:
        return [f"- **`{member.text}`**"]
    return [f"- **`{member.name}`**", "", *_indented("\n".join(_code(member.text)))]


def _code(text: str) -> list[str]:
    return [f"    {line}" for line in text.splitlines()]


def _attribute(member: Member) -> str:
    return f"| `{member.name}` | {_code_cell(member.text)} | {_cell(member.doc)} |"


def _resources() -> str:
    """The resources that events may name, and which actions happen to each."""
    of_nodes = [name for name in Action.__members__ if name.startswith("UPDATE_NODE")]
    of_pods = [name for name in Action.__members__ if name.startswith("UPDATE_POD")]
    plain = ["ADD", "DELETE", "UPDATE"]
    rows = [
        (POD, "every pod: both of the two below", True, [*plain, *of_pods]),
        (ASSIGNED_POD, "pods that have a node", True, [*plain, *of_pods]),
        (UNSCHEDULABLE_POD, "pods that wait for one", True, [*plain, *of_pods]),
        (
            NODE,
            "nodes; what no action below stands for, a heartbeat for example, is no event",
            True,
            ["ADD", "DELETE", *of_nodes],
        ),
    ]
    rows += [
        (row.event, f"`{row.resource}` of `{row.group or 'v1'}`", row.wakes_all, plain)
        for row in WATCHED
        if row.event not in (POD, NODE) and is_watchable(row.event)
    ]
    rows.append(
        (POD_GROUP, "`podgroups` of `scheduling.k8s.io`; nothing happens to them in this version", False, [])
    )
    rows.append(
        (
            "plural.version.group",
            "any other resource, for example `licenses.v1.shop.example.com`",
            False,
            plain,
        )
    )
    rows.append((WILDCARD, 'any of them; `ClusterEvent("*", Action.ALL)` is everything', False, []))
    lines = [
        "## Resources of events",
        "",
        "What `ClusterEvent.resource` may be, and what happens to it. A plugin without `events` hears of all",
        "changes of those with *yes*. `Action.UPDATE` stands for every update.",
        "",
        "| resource | stands for | without `events` | actions |",
        "|---|---|---|---|",
    ]
    for resource, about, wakes_all, actions in rows:
        told = ", ".join(f"`{action}`" for action in dict.fromkeys(actions))
        lines.append(f"| `{resource}` | {about} | {'yes' if wakes_all else ''} | {told} |")
    return "\n".join(lines) + "\n"


def _parts(told: set[str]) -> str:
    """What else pods and nodes are made of."""
    lines = [
        "## Parts of pods and nodes",
        "",
        "Their fields are those of the Kubernetes API.",
        "",
        "| class | fields |",
        "|---|---|",
    ]
    for module in ("moorage.api.pods", "moorage.api.nodes"):
        for name in classes_of(module):
            entry = entry_of(module, name)
            fields = [f"`{each.name}: {each.text}`" for each in entry.members if not each.is_method]
            if name not in told and fields:
                lines.append(f"| `{name}` | {_cell(', '.join(fields))} |")
    return "\n".join(lines) + "\n"


# Texts


def _anchor(entry: Entry) -> str:
    return f"class-{entry.name.lower()}" if entry.is_class else entry.name.lower()


def _prose(doc: str) -> str:
    """A docstring as Markdown: a paragraph that is Python is shown as such."""
    return "\n\n".join(_paragraph(text) for text in _plain(doc).split("\n\n"))


def _paragraph(text: str) -> str:
    if text.startswith("    ") or not _is_code(text):
        return text
    return "\n".join(_code(text))


def _is_code(text: str) -> bool:
    try:
        body = ast.parse(text.removeprefix(">>> ")).body
    except SyntaxError:
        return False
    return any(
        not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call | ast.Compare) for node in body
    )


def _plain(doc: str) -> str:
    """Without the notation for links that only some readers of docstrings know."""
    return re.sub(r":\w+:`[~.]?([^`]+)`", r"`\1`", doc)


def _first_sentence(doc: str) -> str:
    paragraph = _plain(doc).partition("\n\n")[0]
    return re.split(r"(?<=\.)\s", " ".join(paragraph.split()))[0].rstrip(":")


def _cell(doc: str) -> str:
    return " ".join(_plain(doc).split()).replace("|", "\\|")


def _code_cell(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`" if text else ""


def _indented(text: str) -> Iterable[str]:
    return (f"  {line}" if line else "" for line in text.splitlines())


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    texts = pages()
    for file in FOLDER.glob("*.md"):
        if file.name not in texts:
            file.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
