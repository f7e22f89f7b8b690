"""From text to tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from moorage.cel.syntax.source import Issue, Source

_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})"""
_DIGITS_OF_ESCAPE = "[xX][0-9a-fA-F]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7}|[0-3][0-7]?"
_QUOTED = "|".join(
    (
        rf'"""(?:{_ESCAPE}|[^\\])*?"""',
        rf"'''(?:{_ESCAPE}|[^\\])*?'''",
        rf'"(?:{_ESCAPE}|[^\\"\n\r])*"',
        rf"'(?:{_ESCAPE}|[^\\'\n\r])*'",
        r'[rR]"""[\s\S]*?"""',
        r"[rR]'''[\s\S]*?'''",
        r'[rR]"[^"\n\r]*"',
        r"[rR]'[^'\n\r]*'",
    )
)
_EXPONENT = "[eE][+-]?[0-9]+"
_TOKEN = re.compile(
    rf"""
      (?P<skipped>[\t\ \r\n\f]+|//[^\n]*)
    | (?P<BYTES>[bB](?:{_QUOTED}))
    | (?P<STRING>{_QUOTED})
    | (?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:{_EXPONENT})?|[0-9]+{_EXPONENT}|\.[0-9]+(?:{_EXPONENT})?)
    | (?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    | (?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)
    | (?P<IDENTIFIER>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<ESC_IDENTIFIER>`[A-Za-z0-9_.\-/\ ]+`)
    | (?P<symbol>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,\-!?:+*/%])
    """,
    re.VERBOSE,
)
_WORDS = frozenset({"in", "true", "false", "null"})


class Token(NamedTuple):
    kind: str
    """The name of a group of the grammar; of symbols and words their text."""
    text: str
    offset: int


def tokens(source: Source, issues: list[Issue]) -> Iterator[Token]:
    """One by one as they are asked for, the last one `<EOF>`. What is none goes to the issues."""
    text, position, end = source.text, 0, len(source.text)
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            start, position = position, _end_of_failure(text, position)
            message = f"Syntax error: token recognition error at: '{text[start:position]}'"
            issues.append(source.issue(start, message))
            continue
        position = match.end()
        kind = match.lastgroup
        if kind == "skipped":
            continue
        if kind == "symbol" or (kind == "IDENTIFIER" and match[0] in _WORDS):
            kind = match[0]
        yield Token(kind or "", match[0], match.start())
    yield Token("<EOF>", "<EOF>", end)


_BEGUN = re.compile(
    rf"""
      [=&|]                                                       # half of an operator
    | "(?:{_ESCAPE}|[^\\"\n\r])*(?:\\(?:{_DIGITS_OF_ESCAPE})?)?
    | '(?:{_ESCAPE}|[^\\'\n\r])*(?:\\(?:{_DIGITS_OF_ESCAPE})?)?
    | `[A-Za-z0-9_.\-/\ ]*
    """,
    re.VERBOSE,
)
"""As much of a token as there is."""


def _end_of_failure(text: str, start: int) -> int:
    """Behind the letter that makes it no token."""
    begun = _BEGUN.match(text, start)
    return min(len(text), (start if begun is None else begun.end()) + 1)


_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
_ESCAPED = re.compile(_ESCAPE)


def string_of(literal: str) -> str:
    """The string that a literal stands for; raises ValueError."""
    content, raw = _unquoted(literal)
    return content if raw else _ESCAPED.sub(lambda match: _character(match[0]), content)


def bytes_of(literal: str) -> bytes:
    """Of a literal without its `b`; raises ValueError."""
    content, raw = _unquoted(literal)
    if raw:
        return content.encode()
    parts, position = [], 0
    for match in _ESCAPED.finditer(content):
        parts += [content[position : match.start()].encode(), _byte(match[0])]
        position = match.end()
    return b"".join([*parts, content[position:].encode()])


def _unquoted(literal: str) -> tuple[str, bool]:
    literal = literal.replace("\r\n", "\n").replace("\r", "\n")
    raw = literal[0] in "rR"
    literal = literal[raw:]
    quotes = 3 if len(literal) >= 6 and literal[:3] in ('"""', "'''") else 1
    return literal[quotes:-quotes], raw


def _character(escape: str) -> str:
    if escape[1] in _SIMPLE:
        return _SIMPLE[escape[1]]
    code = int(escape[2:], 16) if escape[1] in "xXuU" else int(escape[1:], 8)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(code)


def _byte(escape: str) -> bytes:
    if escape[1] in "uU":
        raise ValueError("unable to unescape string")
    if escape[1] in _SIMPLE:
        return _SIMPLE[escape[1]].encode()
    return bytes([int(escape[2:], 16) if escape[1] in "xX" else int(escape[1:], 8)])
