"""Go's booleans: the texts that flags, gates and query parameters of Kubernetes take for true and false."""

from __future__ import annotations

_TEXTS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def parse(text: str) -> bool:
    """Raises ValueError, in Go's words, for any other text."""
    if text not in _TEXTS:
        raise ValueError(f'strconv.ParseBool: parsing "{text}": invalid syntax')
    return _TEXTS[text]
