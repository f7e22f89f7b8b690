"""Regular expressions as the original has them: RE2's."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_SURROGATES = re.compile("[\ud800-\udfff]")
_ANY_BYTE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)


def matches(pattern: Any, text: str) -> bool:
    """Anywhere in the text; bytes that are no text count as an unknown character."""
    try:
        return pattern.search(text) is not None
    except UnicodeEncodeError:
        return pattern.search(_SURROGATES.sub("\ufffd", text)) is not None


@lru_cache(maxsize=1024)
def compile(pattern: str) -> Any:  # noqa: A001
    """The compiled expression; raises ValueError."""
    # late: what uses no expressions does not pay for it
    import re2  # type: ignore[import-untyped]

    if any(match[1] == "C" for match in _ANY_BYTE.finditer(pattern)):
        raise ValueError(r"error parsing regexp: invalid escape sequence: `\C`")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        message = error.args[0]
        text = message.decode(errors="replace") if isinstance(message, bytes) else str(message)
        raise ValueError(f"error parsing regexp: {_in_other_words(text)}") from None


_WORDS = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "trailing \\": "trailing backslash at end of expression",
}


def _in_other_words(text: str) -> str:
    """As the original says it, which is of another family of the same engine."""
    reason, colon, where = text.partition(": ")
    return f"{_WORDS.get(reason, reason)}: `{where}`" if colon else _WORDS.get(reason, reason)
