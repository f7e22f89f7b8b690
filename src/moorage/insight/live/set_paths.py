"""Changes to a pod that is only tried: a field of it, a taint that it is to tolerate."""

from __future__ import annotations

import re
from typing import Any

import yaml

from moorage.api.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE
from moorage.insight.live.problems import Problem, bad_question

Document = dict[str, Any]

_PART = re.compile(r"""\.?([^.\[\]"']+)|\[(\d{1,4})\]|\.?\[?"([^"]+)"\]?|\.?\[?'([^']+)'\]?""")
_EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_SHOWN = 100
_MISSING = object()


def set_path(document: Document, text: str) -> None:
    """Sets one field of a document; what is missing on the way is made. Raises Problem for a wrong path.

    A name that holds dots is quoted: `metadata.labels."app.kubernetes.io/name"=web`. The value is YAML; an
    empty one removes the field.
    """
    path, equals, value = _split(text)
    if not equals:
        raise _wrong(text, "it has no `=`; write it like spec.priority=10")
    parts = _parts(path)
    if not parts:
        raise _wrong(
            text, "the path cannot be read; write it like spec.containers[0].resources.requests.cpu=1"
        )
    try:
        parsed = yaml.safe_load(value) if value else _MISSING
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _wrong(text, "the value is no YAML") from None
    here: Any = document
    for place, part in enumerate(parts[:-1]):
        here = _step(text, here, part, parts[place + 1])
    last = parts[-1]
    if isinstance(last, str) and isinstance(here, dict):
        if parsed is _MISSING:
            here.pop(last, None)
        else:
            here[last] = parsed
    elif isinstance(last, int) and isinstance(here, list) and last <= len(here):
        if parsed is _MISSING:
            del here[last : last + 1]
        else:
            here[last : last + 1] = [parsed]
    else:
        raise _wrong(text, f"{_shown(last)} is not there")


def _step(text: str, here: Any, part: str | int, following: str | int) -> Any:
    if isinstance(part, str) and isinstance(here, dict):
        if here.get(part) is None:
            here[part] = {} if isinstance(following, str) else []
        return here[part]
    if isinstance(part, int) and isinstance(here, list):
        if part < len(here):
            return here[part]
        if part == len(here):
            here.append({} if isinstance(following, str) else [])
            return here[part]
    raise _wrong(text, f"{_shown(part)} is not there")


def _split(text: str) -> tuple[str, str, str]:
    """At the first `=` that is not quoted."""
    quote = ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "=":
            return text[:place], "=", text[place + 1 :]
    return text, "", ""


def _parts(path: str) -> list[str | int]:
    parts: list[str | int] = []
    place = 0
    while place < len(path):
        found = _PART.match(path, place)
        if found is None:
            return []
        name, number, *quoted = found.groups()
        parts.append(int(number) if number is not None else next(each for each in (name, *quoted) if each))
        place = found.end()
    return parts


def toleration(text: str) -> Document:
    """The toleration for `KEY[=VALUE][:EFFECT]`; raises Problem."""
    rest, colon, effect = text.rpartition(":") if ":" in text else (text, "", "")
    key, equals, value = rest.partition("=")
    if not key or (colon and effect not in _EFFECTS):
        raise bad_question(
            f"tolerate: {text[:_SHOWN]!r} is no taint; write KEY, KEY=VALUE or KEY=VALUE:EFFECT,"
            f" where EFFECT is {', '.join(_EFFECTS[:-1])} or {_EFFECTS[-1]}"
        )
    made: Document = {"key": key, "operator": "Equal" if equals else "Exists"}
    if equals:
        made["value"] = value
    if effect:
        made["effect"] = effect
    return made


def _wrong(text: str, why: str) -> Problem:
    return bad_question(f"set: {text[:_SHOWN]!r}: {why}")


def _shown(part: str | int) -> str:
    return f"[{part}]" if isinstance(part, int) else part[:_SHOWN]
