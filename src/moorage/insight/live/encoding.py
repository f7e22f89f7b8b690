"""Documents as JSON that everybody can read, whatever plugins and labels put into them."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

LONGEST_TEXT = 4096
"""Characters of a message, a reason or a label that are told."""
_CUT = "…"


def encode(document: Any) -> bytes:
    """JSON in valid UTF-8: halves of characters, which a plugin may put into its reasons, are replaced."""
    try:
        return _encoder.encode(document)
    except UnicodeEncodeError:
        return _encoder.encode(_mended(document))


def shortened(text: str, most: int = LONGEST_TEXT) -> str:
    """A text that is not too long to be told."""
    return text if len(text) <= most else text[: most - len(_CUT)] + _CUT


def bounded(value: Any) -> Any:
    """A document in which no text is too long to be told."""
    if isinstance(value, str):
        return shortened(value)
    if isinstance(value, dict):
        return {shortened(key): bounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [bounded(item) for item in value]
    return value


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mended(item) for item in value]
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise NotImplementedError(f"{type(value).__name__} is no part of a document")


_encoder = msgspec.json.Encoder(enc_hook=_plain)
