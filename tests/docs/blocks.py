"""The code blocks of the documents, and what is to be done with each."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]

COMMANDS = "sh"
OUTPUT = "text"
PYTHON = "python"
YAML = "yaml"
PICTURE = "mermaid"
LANGUAGES = (COMMANDS, OUTPUT, PYTHON, YAML, PICTURE)
"""Every other one must be marked as not run."""

_FENCE = re.compile(r"^( *)```(\w*)$")
_NOT_RUN = re.compile(r"^ *<!-- not run: (.+) -->$")
_FILE_NAME = re.compile(r"^# (\w[\w./-]*\.(?:py|yaml))$")


class Block(NamedTuple):
    document: Path
    line: int
    """Of the opening fence, counted from 1."""
    language: str
    text: str
    not_run: str
    """Why it is not run here; empty if it is."""

    @property
    def place(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"

    @property
    def first_line(self) -> str:
        return self.text.partition("\n")[0]

    @property
    def file_name(self) -> str:
        """The file that the reader is to save it as; its first line, a comment, says so."""
        named = _FILE_NAME.match(self.first_line)
        return named.group(1) if named else ""


class Unclosed(Exception):
    """A block without an end."""


def documents() -> list[Path]:
    """All documents whose blocks are run, the front page first."""
    return [
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        ROOT / "deploy" / "README.md",
        *sorted((ROOT / "examples").glob("*/README.md")),
    ]


def blocks_of(document: Path) -> list[Block]:
    return list(_blocks(document))


def _blocks(document: Path) -> Iterator[Block]:
    lines = enumerate(document.read_text().splitlines(), 1)
    reason = ""
    for number, line in lines:
        mark = _NOT_RUN.match(line)
        if mark:
            reason = mark.group(1)
        fence = _FENCE.match(line)
        if not fence:
            # A mark stands directly before its block.
            reason = reason if mark or not line.strip() else ""
            continue
        indent, language = fence.groups()
        content = []
        for _, inner in lines:
            if inner == f"{indent}```":
                break
            content.append(inner.removeprefix(indent))
        else:
            raise Unclosed(f"{document}:{number}: the block has no end")
        yield Block(document, number, language, "\n".join(content) + "\n", reason)
        reason = ""
