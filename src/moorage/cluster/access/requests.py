"""What is asked of the API server, and what it answers, apart from any transport."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias
from urllib.parse import parse_qsl, unquote

from moorage.cluster.access.users import User
from moorage.cluster.base.errors import bad_request
from moorage.cluster.base.outside import Answers

JSON = "application/json"
_INTEGER = re.compile(r"[+-]?[0-9]+")
_LONGEST_INTEGER = 100  # characters; longer ones are not worth the work


@dataclass(slots=True)
class Request:
    """A request. `target` is the path with its query; header names are in lower case.

    A `user` that is given needs no authentication: the cluster's own parts come with theirs.
    """

    method: str
    target: str
    headers: Mapping[str, list[str]] = field(default_factory=dict)
    body: bytes = b""
    user: User | None = None
    answers: Answers = field(default_factory=Answers)
    """What was asked about it before, when it is carried out again."""

    def header(self, name: str) -> str:
        values = self.headers.get(name)
        return values[0] if values else ""


@dataclass(slots=True)
class Answer:
    status: int
    body: bytes
    content_type: str = JSON
    headers: list[tuple[str, str]] = field(default_factory=list)


Push: TypeAlias = Callable[[bytes], bool]


@dataclass(slots=True)
class Stream:
    """An answer that comes in pieces until one side ends it; who stops early calls `close`."""

    chunks: AsyncGenerator[bytes, None]
    content_type: str = JSON
    status: int = 200
    headers: list[tuple[str, str]] = field(default_factory=list)
    ended: Callable[[], None] = lambda: None
    """Called at the end, also when nobody has asked for the first piece."""
    connect: Callable[[Push], None] | None = None
    """Takes what is called with pieces that come later, one by one, instead of being asked for them. It says
    whether it could take the piece; those that it could not are among the chunks."""

    async def close(self) -> None:
        await self.chunks.aclose()
        self.ended()


class Query:
    """The parameters behind the question mark; of one that is given twice the first counts."""

    def __init__(self, text: str) -> None:
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=100) if text else []
        except ValueError as error:
            raise bad_request(f"the query cannot be read: {error}") from None
        self.given: dict[str, str] = {}
        for name, value in pairs:
            self.given.setdefault(name, value)

    def text(self, name: str) -> str:
        return self.given.get(name, "")

    def flag(self, name: str) -> bool:
        """Everything but `false` and `0` counts as true, also nothing, as in `?watch`."""
        value = self.given.get(name)
        return value is not None and value != "0" and value.lower() != "false"

    def number(self, name: str) -> int | None:
        value = self.given.get(name)
        if value is None:
            return None
        if not _INTEGER.fullmatch(value):
            raise bad_request(f'strconv.ParseInt: parsing "{value[:100]}": invalid syntax')
        if len(value) > _LONGEST_INTEGER or not -(2**63) <= int(value) < 2**63:
            raise bad_request(f'strconv.ParseInt: parsing "{value[:100]}": value out of range')
        return int(value)


@dataclass(frozen=True, slots=True)
class Place:
    """What a path below /api or /apis points at; empty parts are not in the path."""

    group: str
    version: str
    namespace: str = ""
    plural: str = ""
    name: str = ""
    subresource: str = ""
    beyond: bool = False
    """Whether the path goes on behind that."""


@lru_cache(maxsize=4096)
def place_of(path: str) -> Place | None:
    """Where a path below /api/V or /apis/G/V leads; None for all other paths."""
    parts = [unquote(part) for part in path.strip("/").split("/")]
    if parts[0] == "api" and len(parts) >= 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if "" in parts or "\x00" in path:
        return None
    namespace = ""
    # /namespaces/x is a namespace, /namespaces/x/status a part of it, /namespaces/x/pods pods in it.
    part_of_it = len(rest) == 3 and rest[2] in ("status", "finalize")
    if len(rest) >= 3 and rest[0] == "namespaces" and not part_of_it:
        namespace, rest = rest[1], rest[2:]
    plural, name, subresource = (*rest, "", "", "")[:3]
    return Place(group, version, namespace, plural, name, subresource, len(rest) > 3)
