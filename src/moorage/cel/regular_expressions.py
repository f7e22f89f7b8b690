"""Regular expressions as the original has them: RE2's."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

_ANY_BYTE = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)


@lru_cache(maxsize=1024)
def compile(pattern: str) -> Any:
    """The compiled expression; raises ValueError."""
    import re2  # late: what uses no expressions does not pay for it

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
        raise ValueError(f"error parsing regexp: {text}") from None
