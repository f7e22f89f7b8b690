"""Field validation: fields that are unknown or given twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

_MOST = 100  # mistakes that are reported


def strict_warnings(unknown: Iterable[str], duplicates: Iterable[str]) -> list[str]:
    """What is wrong with a document's fields, one text for each."""
    unknown = list(unknown)
    texts = [f"unknown field {_quoted(path)}" for path in unknown]
    texts += [f"duplicate field {_quoted(path)}" for path in duplicates if not _is_below(path, unknown)]
    return list(dict.fromkeys(texts))[:_MOST]


def patch_warnings(unknown: Iterable[str], duplicates: Iterable[str]) -> list[str]:
    """The same for a patched document: of the patch's own fields it is told first."""
    texts = [f"duplicate field {_quoted(path)}" for path in duplicates]
    texts += [f"unknown field {_quoted(path)}" for path in unknown]
    return list(dict.fromkeys(texts))[:_MOST]


def strict_error(warnings: Iterable[str]) -> str:
    """Why a document is refused under strict field validation."""
    return f"strict decoding error: {', '.join(warnings)}"


def _is_below(path: str, others: list[str]) -> bool:
    return any(path == other or path.startswith((f"{other}.", f"{other}[")) for other in others)


def _quoted(path: str) -> str:
    return json.dumps(path, ensure_ascii=False)


class _Doubled(dict[str, Any]):
    """An object in which keys stood more than once."""

    names: set[str]


def duplicate_fields(body: bytes) -> list[str]:
    """The paths of fields that stand more than once in their object; none if the body is not JSON."""
    try:
        if _keys(body) == _keys(msgspec.json.encode(msgspec.json.decode(body))):
            return []
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return []
    return _doubled_paths(body)


def _keys(body: bytes) -> int:
    """How many keys there are, as long as none stands before its colon with a space."""
    return body.count(b'":') - body.count(b'\\":')


def _doubled_paths(body: bytes) -> list[str]:
    doubled: list[_Doubled] = []

    def watch(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        marked = _Doubled(found)
        marked.names = {name for name, times in Counter(name for name, _ in pairs).items() if times > 1}
        doubled.append(marked)
        return marked

    try:
        document = json.loads(body, object_pairs_hook=watch)
        return list(dict.fromkeys(_paths(document, ""))) if doubled else []
    except (ValueError, RecursionError):
        return []


def _paths(value: Any, path: str) -> Iterable[str]:
    if isinstance(value, dict):
        names = value.names if isinstance(value, _Doubled) else set()
        for name, item in value.items():
            below = f"{path}.{name}" if path else name
            yield from _paths(item, below)
            if name in names:
                yield below
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(item, f"{path}[{index}]")
