"""What a trace holds: what there was when it began, and what changed when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from msgspec import Struct

from moorage.api.meta import Object


@dataclass(frozen=True, slots=True)
class Change:
    """An object as it is from this time on; one that is `gone`, as it last was."""

    time: float
    """Seconds since 1970."""
    item: Object
    gone: bool = False


class Head(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is known of a trace before its first change."""

    began: float
    """Seconds since 1970; what there was then has changes of this time."""
    source: str = ""
    """Where it comes from, in words: an API server and its version, or the name of a file."""
    anonymized: bool = False
    cluster: str = ""
    """By which the recorder knows the cluster again; empty if there is none."""


@dataclass(frozen=True)
class Trace:
    """A head and the changes after it, in the order of their times; may be read again and again."""

    head: Head
    changes: Iterable[Change] = field(repr=False)

    def __iter__(self) -> Iterator[Change]:
        return iter(self.changes)
