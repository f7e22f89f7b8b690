"""The names of properties as expressions spell them: what an identifier cannot have is written out."""

from __future__ import annotations

import re

RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"),
        *("import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
_POSSIBLE = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*", re.ASCII)
_WRITTEN_OUT = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_TO_WRITE_OUT = re.compile(r"__|[-./]")
_WRITTEN = re.compile("__([^_]+)__")
_MEANINGS = {"underscores": "__", "dot": ".", "dash": "-", "slash": "/"}


def escaped(name: str) -> str | None:
    """None: no expression can name such a property."""
    if name in RESERVED:
        return f"__{name}__"
    if not _POSSIBLE.fullmatch(name):
        return None
    return _TO_WRITE_OUT.sub(lambda match: _WRITTEN_OUT[match[0]], name)


def unescaped(name: str) -> str | None:
    """The property that an expression names; None: there cannot be one."""
    if "__" not in name:
        return name
    possible = True

    def meaning(match: re.Match[str]) -> str:
        nonlocal possible
        word = match[1]
        if word in _MEANINGS:
            return _MEANINGS[word]
        possible = possible and word in RESERVED and len(match[0]) == len(name)
        return word

    found = _WRITTEN.sub(meaning, name)
    return found if possible else None
