"""What the log keeps of an attempt, as small as it can be while thousands are kept."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from moorage.state.kept_rows import PartsHistory

ASSUMED, BOUND, UNSCHEDULABLE, NOMINATED, ERROR, REFUSED, WITHDRAWN = (
    "assumed",
    "bound",
    "unschedulable",
    "nominated",
    "error",
    "refused",
    "withdrawn",
)
OUTCOMES = (ASSUMED, BOUND, UNSCHEDULABLE, NOMINATED, ERROR, REFUSED, WITHDRAWN)

_OBJECT = 2000
"""About the bytes that an entry and what belongs to it alone take, arrays and texts aside.

The name and the labels of its pod count, which may be gone, and what the allocator cannot use for others.
"""
_LEVEL = 1
_MOST_OF_TWO_BYTES = 1 << 16


class Verdict(NamedTuple):
    """Why a node was rejected."""

    plugin: str
    code: str
    reasons: tuple[str, ...]


class Layout(NamedTuple):
    """The plugins whose answers an entry has; those of one template share it."""

    filters: tuple[str, ...] = ()
    weights: tuple[tuple[str, int], ...] = ()
    """The plugins that score, each with its weight."""
    summed: tuple[str, ...] = ()
    """Those whose scores are in `Arrays.summed`."""
    skipped: tuple[str, ...] = ()
    """The filters that had nothing to say about the pod, and as `score/NAME` the scores."""


class NodeOrder:
    """The names of the nodes by row, while no node came or went."""

    __slots__ = ("_names", "_packed", "number", "size", "used_by")

    def __init__(self, number: int, names: Sequence[str]) -> None:
        self.number = number
        self.size = len(names)
        self.used_by = 0
        """How many entries are about it."""
        self._names: Sequence[str] | None = names
        self._packed = b""

    def names(self) -> Sequence[str]:
        if self._names is not None:
            return self._names
        return msgspec.msgpack.decode(zlib.decompress(self._packed), type=list[str])

    @property
    def room(self) -> int:
        return 8 * self.size if self._names is not None else len(self._packed)

    def pack(self) -> None:
        """Takes less room from here on."""
        if self._names is not None:
            self._packed = zlib.compress(msgspec.msgpack.encode(self._names), _LEVEL)
            self._names = None


def row_type(nodes: int) -> type[np.unsignedinteger]:
    """The numbers in which rows are kept, where there are so many nodes."""
    return np.uint16 if nodes <= _MOST_OF_TWO_BYTES else np.uint32


class Part(NamedTuple):
    """What one plugin gave to the nodes that fit, where that is no part of the plan's sum."""

    plugin: str
    scores: int | bytes
    """A byte each; a number if all nodes have that."""
    raw: bytes
    """Before they were normalized, four or eight bytes each; empty if they were 0, or are not normalized."""


class Arrays(NamedTuple):
    """What is known of single nodes. Rows take two bytes each, or four where there are too many nodes."""

    fitting: bytes | None = None
    """The rows of the nodes that fit, in the order of the search.

    None if that is all that was looked at, from `Seen.begin` on and after the last row from 0 on, but for the
    rejected ones.
    """
    rejected: bytes = b""
    mask: bytes = b""
    """Instead of `rejected` where they are many: a bit for each row of the table, the first one highest."""
    codes: bytes = b""
    """Which of the verdicts each of them got: a byte each, four where there are too many, none for one."""
    summed: bytes = b""
    """A byte for each node that fits, plugin after plugin, unless `Seen.moment` tells of it."""
    parts: tuple[Part, ...] = ()
    extenders: tuple[tuple[str, bytes], ...] = ()
    """What each extender added, eight bytes each."""

    @property
    def room(self) -> int:
        size = (
            len(self.rejected)
            + len(self.mask)
            + len(self.codes)
            + len(self.fitting or b"")
            + len(self.summed)
        )
        for _, scores, raw in self.parts:
            size += len(raw) + (0 if isinstance(scores, int) else len(scores))
        for _, added in self.extenders:
            size += len(added)
        return size


_NO_ARRAYS = Arrays()


class Candidate(NamedTuple):
    """A node on which preemption could help."""

    node: str
    victims: tuple[str, ...]
    pdb_violations: int


class Seen(msgspec.Struct, gc=False):
    """What was found out in an attempt; pods that fail alike share it.

    Neither this nor an entry is looked through for garbage: thousands are kept, and they hold no cycles.
    """

    order: NodeOrder
    layout: Layout
    begin: int = 0
    """The row at which the search began."""
    feasible: int = 0
    looked_at: int = 0
    total: int | None = None
    """The highest."""
    ties: int = 0
    """How many nodes have the highest total; 0 if nodes were not scored."""
    took: Mapping[tuple[str, str], float] = {}
    """Seconds by point and plugin, of plugins that were timed."""
    history: PartsHistory | None = None
    """Where the scores are that the plan sums up, of all nodes: as they were at `moment`."""
    moment: int = 0
    verdicts: tuple[Verdict, ...] = ()
    absent: Verdict | None = None
    """The verdict on nodes that were not looked at; None if they might fit."""
    pre_filter: Verdict | None = None
    """The verdict of PreFilter on the pod."""
    narrowed_to: int | None = None
    """To how many nodes PreFilter narrowed the search; None if it did not."""
    candidates: tuple[Candidate, ...] = ()
    unpacked: Arrays | None = _NO_ARRAYS
    packed: bytes = b""
    room: int = 0
    """About the bytes that it takes, its entry and the order of nodes aside."""
    shared_by: int = 0
    """How many entries have it."""

    @property
    def arrays(self) -> Arrays:
        if self.unpacked is not None:
            return self.unpacked
        return msgspec.msgpack.decode(zlib.decompress(self.packed), type=Arrays)

    def pack(self) -> None:
        """Takes less room from here on, and time to be looked at."""
        if self.unpacked is not None:
            self.packed = zlib.compress(msgspec.msgpack.encode(self.unpacked), _LEVEL)
            self.room += len(self.packed) - self.unpacked.room
            self.unpacked = None


class Entry(msgspec.Struct, gc=False):
    """An attempt: which pod, when and why, and what came of it."""

    number: int
    time: float
    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    profile: str
    tries: int
    woken_by: str
    seconds: float
    seen: Seen
    outcome: str
    node: str = ""
    """Chosen, or nominated by preemption."""
    message: str = ""
    plugins: tuple[str, ...] = ()
    """Those that rejected the pod or its nodes."""
    is_alike: bool = False
    """Whether `seen` was found out for another pod, in an earlier attempt."""
    ended: float = 0.0
    """When it was bound, refused or withdrawn; 0 before that."""
    after_by: str = ""
    after_message: str = ""
    gang: str = ""
    """The gang of the pod, as `namespace/name`."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def room(self) -> int:
        """About what it takes, what it shares with others aside."""
        return _OBJECT + len(self.message) + len(self.after_message)


def text_size(verdict: Verdict) -> int:
    return sys.getsizeof(verdict) + sum(map(sys.getsizeof, verdict.reasons))
