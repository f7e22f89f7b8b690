"""Text to plain values, the way Kubernetes turns YAML into JSON.

JSON is read by the same rules, being YAML. What differs from PyYAML's own loader: repeated keys are
reported with their path, mapping keys are strings, dates stay text, `1e3` is a number, and neither deep
nesting nor nested aliases can exhaust the machine.
"""

from __future__ import annotations

import copy
import re
from typing import Any, NamedTuple

import yaml

MAX_DEPTH = 100
MAX_NODES_WITH_ALIASES = 100_000

_INTEGER = re.compile(r"[-+]?(0[bB][01_]+|0[xX][0-9a-fA-F_]+|0[oO][0-7_]+|[0-9][0-9_]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_SPECIAL_FLOAT = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_NULLS = {"", "~", "null", "Null", "NULL"}
_TRUE = {"y", "yes", "true", "on"}
_FALSE = {"n", "no", "false", "off"}
_TAGS: dict[str, tuple[type, ...]] = {
    "tag:yaml.org,2002:null": (type(None),),
    "tag:yaml.org,2002:bool": (bool,),
    "tag:yaml.org,2002:int": (int,),
    "tag:yaml.org,2002:float": (int, float),
}
_STRING_TAGS = {"tag:yaml.org,2002:str", "!"}
_COLLECTION_TAGS = {None, "!", "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}


class DocumentError(ValueError):
    """Text that is not YAML; the message is one line with line and column."""


class RepeatedKey(NamedTuple):
    path: str
    key: str
    line: int


class Document(NamedTuple):
    value: Any
    repeated: list[RepeatedKey]
    more_follow: bool
    """Whether further YAML documents stand behind the first one."""


class _Open:
    """A mapping or list whose end has not been read yet."""

    def __init__(self, path: str, anchor: str | None, is_mapping: bool) -> None:
        self.path = path
        self.anchor = anchor
        self.is_mapping = is_mapping
        self.size = 1
        self.items: list[Any] = []
        self.fields: dict[str, Any] = {}
        self.merged: dict[str, Any] = {}
        self.key: str | None = None
        self.is_merge = False

    def child_path(self) -> str:
        if not self.is_mapping:
            return f"{self.path}[{len(self.items)}]"
        key = self.key or ""
        return f"{self.path}.{key}" if self.path else key

    def value(self) -> Any:
        return {**self.merged, **self.fields} if self.is_mapping else self.items


def read(text: str | bytes) -> Document:
    """Reads the first document of a YAML or JSON text; raises DocumentError."""
    try:
        return _Reader().read(text)
    except yaml.reader.ReaderError as error:
        raise DocumentError(f"not text: {error.reason} at position {error.position}") from None
    except yaml.MarkedYAMLError as error:
        raise DocumentError(_one_line(error)) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise DocumentError(" ".join(str(error).split())) from None


class _Reader:
    def __init__(self) -> None:
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.unfinished: set[str] = set()
        self.repeated: list[RepeatedKey] = []
        self.result: Any = None
        self.nodes = 0

    def read(self, text: str | bytes) -> Document:
        ended = False
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if ended:
                more_follow = isinstance(event, yaml.DocumentStartEvent)
                return Document(self.result, self.repeated, more_follow)
            self._take(event)
            ended = isinstance(event, yaml.DocumentEndEvent)
        return Document(None, [], more_follow=False)

    def _take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._add(_scalar(event), event, event.anchor, 1)
        elif isinstance(event, yaml.AliasEvent):
            self._add(*self._aliased(event))
        elif isinstance(event, yaml.CollectionStartEvent):
            self._start(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            done = self.open.pop()
            if done.anchor:
                self.unfinished.discard(done.anchor)
            self._add(done.value(), event, done.anchor, done.size)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise _error(event, f"nested deeper than {MAX_DEPTH} levels")
        if event.tag not in _COLLECTION_TAGS:
            raise _error(event, f"unknown tag {event.tag}")
        parent = self.open[-1] if self.open else None
        if parent and parent.is_mapping and parent.key is None and not parent.is_merge:
            raise _error(event, "a key must be a single value, not a list or a mapping")
        path = parent.child_path() if parent else ""
        if event.anchor:
            self.unfinished.add(event.anchor)
        self.open.append(_Open(path, event.anchor, isinstance(event, yaml.MappingStartEvent)))

    def _aliased(self, event: yaml.AliasEvent) -> tuple[Any, yaml.Event, None, int]:
        name = event.anchor
        if name in self.unfinished:
            raise _error(event, f"anchor '{name}' value contains itself")
        if name not in self.anchors:
            raise _error(event, f"unknown anchor '{name}' referenced")
        value, size = self.anchors[name]
        self.nodes += size
        if self.nodes > MAX_NODES_WITH_ALIASES:
            raise _error(event, "document contains excessive aliasing")
        return copy.deepcopy(value), event, None, size

    def _add(self, value: Any, event: yaml.Event, anchor: str | None, size: int) -> None:
        self.nodes += 1
        if anchor:
            self.anchors[anchor] = (value, size)
        if not self.open:
            self.result = value
            return
        parent = self.open[-1]
        parent.size += size
        if not parent.is_mapping:
            parent.items.append(value)
        elif parent.is_merge:
            parent.merged = {**_merged(value, event), **parent.merged}
            parent.is_merge = False
        elif parent.key is None:
            self._take_key(parent, value, event)
        else:
            parent.fields[parent.key] = value
            parent.key = None

    def _take_key(self, parent: _Open, value: Any, event: yaml.Event) -> None:
        if value == "<<" and isinstance(event, yaml.ScalarEvent) and event.implicit[0]:
            parent.is_merge = True
            return
        if value is None or isinstance(value, dict | list):
            raise _error(event, "a key must be a single value that is not null")
        key = str(value).lower() if isinstance(value, bool) else str(value)
        parent.key = key
        if key in parent.fields:
            self.repeated.append(RepeatedKey(parent.child_path(), key, _mark(event).line + 1))


def _merged(value: Any, event: yaml.Event) -> dict[str, Any]:
    parts = value if isinstance(value, list) else [value]
    merged: dict[str, Any] = {}
    for part in parts:
        if not isinstance(part, dict):
            raise _error(event, "map merge requires map or sequence of maps as the value")
        merged = {**part, **merged}
    return merged


def _scalar(event: yaml.ScalarEvent) -> Any:
    tag, text = event.tag, str(event.value)
    if tag in _STRING_TAGS or (tag is None and not event.implicit[0]):
        return text
    value = _resolved(text)
    if tag is None:
        return value
    if tag not in _TAGS:
        raise _error(event, f"unknown tag {tag}")
    if not isinstance(value, _TAGS[tag]):
        raise _error(event, f"cannot decode {text!r} as a {tag}")
    return value


def _resolved(text: str) -> Any:
    if text in _NULLS:
        return None
    lower = text.lower()
    if lower in _TRUE | _FALSE and text in (lower, lower.capitalize(), lower.upper()):
        return lower in _TRUE
    if _INTEGER.fullmatch(text):
        number = _integer(text.replace("_", "").lower())
        if number is not None:
            return number
    if _FLOAT.fullmatch(text.replace("_", "")) and text[0] != "_":
        real = float(text.replace("_", ""))
        return int(real) if real.is_integer() and abs(real) < 1e21 else real
    if _SPECIAL_FLOAT.fullmatch(text):
        return float(lower.replace(".", ""))
    return text


def _integer(text: str) -> int | None:
    digits = text.lstrip("+-")
    old_octal = len(digits) > 1 and digits.isdigit() and digits[0] == "0"
    if len(digits) > 100 or (old_octal and set(digits) & {"8", "9"}):
        return None
    return int(text, 8 if old_octal else 0)


def _error(event: yaml.Event, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=_mark(event))


def _mark(event: yaml.Event) -> Any:
    return event.start_mark


def _one_line(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    said = ", ".join(part for part in (error.context, error.problem) if part)
    return place + " ".join(said.split())
