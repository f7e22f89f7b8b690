"""Regular expressions as Go has them, for patterns and texts that come from anybody.

RE2 is of the family of Go's own engine: it reads the same notation, and the time it takes grows only with the
length of the text.
"""

from __future__ import annotations

from functools import lru_cache

import re2  # type: ignore[import-untyped]

_MOST_MEMORY = 8 * 2**20  # bytes for each pattern

# What RE2 says, and what Go says instead; the rest is the same.
_GO_WORDS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
    "pattern too large - compile failed": "expression too large",
}


class Expression:
    def __init__(self, pattern: str) -> None:
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.max_mem = _MOST_MEMORY
        self._engine = re2.compile(_encoded(pattern), options)

    def search(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text."""
        return self._engine.search(_encoded(text)) is not None


def compiled(pattern: str) -> Expression | None:
    """The pattern, to be searched with; None if it is no regular expression."""
    return _read(pattern)[0]


def problem(pattern: str) -> str:
    """Why something is no regular expression; "" if it is one."""
    return _read(pattern)[1]


@lru_cache(maxsize=256)
def _read(pattern: str) -> tuple[Expression | None, str]:
    try:
        return Expression(pattern), ""
    except re2.error as error:
        words, _, part = error.args[0].decode(errors="replace").partition(": ")
    return None, f"error parsing regexp: {_GO_WORDS.get(words, words)}: `{part}`"


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")  # half of a letter has no encoding
