"""What CONTRIBUTING.md and docs/inside.md name is there: files, folders, packages and Python names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import PICTURE, ROOT, blocks_of

SOURCE = ROOT / "src"
DOCUMENTS = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "inside.md"]
STARTS = [ROOT, SOURCE / "moorage", SOURCE / "moorage" / "cluster"]
"""Where the paths in the documents begin."""

_QUOTED = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"[\w.-]+(?:/[\w.-]+)*(?:\.py|/)")
_PACKAGE = re.compile(r"moorage(?:\.\w+)+")
_PICTURED = re.compile(r"[\w/]+(?:\.py\b|/(?=[\],]))")


def quoted(text: str) -> list[str]:
    return _QUOTED.findall(re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def paths_in(document: Path) -> Iterator[str]:
    """All paths of modules and folders that a document names, those in its drawings included."""
    yield from filter(_PATH.fullmatch, quoted(document.read_text()))
    for block in blocks_of(document):
        if block.language == PICTURE:
            yield from (path for path in _PICTURED.findall(block.text) if path != "br/")


def is_there(path: str) -> bool:
    return any((start / path).exists() for start in STARTS)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_path_exists(document: Path) -> None:
    paths = list(paths_in(document))
    assert len(paths) > 10
    assert [path for path in paths if not is_there(path)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_every_package_exists(document: Path) -> None:
    for name in filter(_PACKAGE.fullmatch, quoted(document.read_text())):
        place = SOURCE.joinpath(*name.split("."))
        assert place.is_dir() or place.with_suffix(".py").is_file(), name


def test_the_layers_hold_every_package() -> None:
    named = set(quoted(DOCUMENTS[0].read_text()))
    packages = {
        ".".join(package.parent.relative_to(SOURCE).parts)
        for house in STARTS[1:]
        for package in house.glob("*/__init__.py")
    }
    assert packages - named == {"moorage.cluster"}  # of which every floor is named


def test_the_glossary_names_what_there_is() -> None:
    glossary = DOCUMENTS[1].read_text().partition("## Glossary")[2]
    ours = [row.split("|")[2] for row in glossary.splitlines() if row.startswith("| `")]
    assert len(ours) >= 30
    for cell in ours:
        names = _QUOTED.findall(cell)
        places = [path for path in names if _PATH.fullmatch(path)]
        text = source_of(places)
        for word in re.findall(r"\w+", " ".join(name for name in names if name not in places)):
            assert re.search(rf"\b{word}\b", text), f"{word} is not in {places or 'the source'}"


def source_of(places: list[str]) -> str:
    """The text of these modules and of those in these folders; of all modules, if there are none."""
    found = [SOURCE / "moorage" / place for place in places or [""]]
    modules = [module for place in found for module in ([place] if place.is_file() else place.rglob("*.py"))]
    return "\n".join(module.read_text() for module in modules)
