"""What the log keeps of an attempt, as small as it can be while thousands are kept."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import msgspec

ASSUMED, BOUND, UNSCHEDULABLE, NOMINATED, ERROR, REFUSED = (
    "assumed",
    "bound",
    "unschedulable",
    "nominated",
    "error",
    "refused",
)
OUTCOMES = (ASSUMED, BOUND, UNSCHEDULABLE, NOMINATED, ERROR, REFUSED)

_OBJECT = 900
"""About the bytes that an entry and what belongs to it alone take, arrays and texts aside."""
_LEVEL = 1


class Verdict(NamedTuple):
    """Why a node was rejected."""

    plugin: str
    code: str
    reasons: tuple[str, ...]


class Layout(NamedTuple):
    """The plugins of a profile whose answers an entry has."""

    filters: tuple[str, ...]
    weights: tuple[tuple[str, int], ...]
    """The plugins that score, each with its weight."""


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
    def bytes(self) -> int:
        return 8 * self.size if self._names is not None else len(self._packed)

    def pack(self) -> None:
        """Takes less room from here on."""
        if self._names is not None:
            self._packed = zlib.compress(msgspec.msgpack.encode(self._names), _LEVEL)
            self._names = None


Rows: TypeAlias = tuple[int, int] | bytes
"""Rows of nodes: from one to before another, or each as two bytes, or four where there are too many nodes."""


class Part(NamedTuple):
    """What one plugin gave to the nodes that fit, where that is no part of the plan's sum."""

    plugin: str
    scores: int | bytes
    """A byte each; a number if all nodes have that."""
    raw: bytes
    """Before they were normalized, four or eight bytes each; empty if they were 0, or are not normalized."""


class Arrays(NamedTuple):
    """What is known of single nodes."""

    fitting: Rows = (0, 0)
    """In the order of the search."""
    rejected: bytes = b""
    codes: bytes = b""
    """For each rejected row, which of the verdicts it got: a byte each, or four where there are too many."""
    summed: bytes = b""
    """A byte for each node that fits, plugin after plugin."""
    parts: tuple[Part, ...] = ()
    extenders: tuple[tuple[str, bytes], ...] = ()
    """What each extender added, eight bytes each."""

    @property
    def bytes(self) -> int:
        size = len(self.rejected) + len(self.codes) + len(self.summed)
        size += len(self.fitting) if isinstance(self.fitting, bytes) else 0
        for part in self.parts:
            size += len(part.raw) + (0 if isinstance(part.scores, int) else len(part.scores))
        return size + sum(len(added) for _, added in self.extenders)


class Candidate(NamedTuple):
    """A node on which preemption could help."""

    node: str
    victims: tuple[str, ...]
    pdb_violations: int


class Seen:
    """What was found out in an attempt; pods that fail alike share it."""

    __slots__ = (
        "_arrays",
        "_packed",
        "absent",
        "bytes",
        "candidates",
        "feasible",
        "layout",
        "looked_at",
        "narrowed_to",
        "order",
        "pre_filter",
        "shared_by",
        "skipped_filters",
        "skipped_scores",
        "summed",
        "took",
        "verdicts",
    )

    def __init__(
        self,
        order: NodeOrder,
        layout: Layout,
        arrays: Arrays,
        *,
        feasible: int = 0,
        looked_at: int = 0,
        verdicts: tuple[Verdict, ...] = (),
        absent: Verdict | None = None,
        pre_filter: Verdict | None = None,
        narrowed_to: int | None = None,
        skipped_filters: frozenset[str] = frozenset(),
        skipped_scores: frozenset[str] = frozenset(),
        summed: tuple[str, ...] = (),
        candidates: tuple[Candidate, ...] = (),
        took: tuple[tuple[str, str, float], ...] = (),
        text_bytes: int = 0,
    ) -> None:
        self.order = order
        self.layout = layout
        self._arrays: Arrays | None = arrays
        self._packed = b""
        self.feasible = feasible
        self.looked_at = looked_at
        self.verdicts = verdicts
        self.absent = absent
        """The verdict on nodes that were not looked at; None if they might fit."""
        self.pre_filter = pre_filter
        """The verdict of PreFilter on the pod."""
        self.narrowed_to = narrowed_to
        """To how many nodes PreFilter narrowed the search; None if it did not."""
        self.skipped_filters = skipped_filters
        self.skipped_scores = skipped_scores
        self.summed = summed
        """The plugins whose scores are in `Arrays.summed`."""
        self.candidates = candidates
        self.took = took
        self.shared_by = 0
        self.bytes = arrays.bytes + text_bytes

    @property
    def arrays(self) -> Arrays:
        if self._arrays is not None:
            return self._arrays
        return msgspec.msgpack.decode(zlib.decompress(self._packed), type=Arrays)

    @property
    def is_packed(self) -> bool:
        return self._arrays is None

    def pack(self) -> None:
        """Takes less room from here on, and time to be looked at."""
        if self._arrays is not None:
            self._packed = zlib.compress(msgspec.msgpack.encode(self._arrays), _LEVEL)
            self.bytes += len(self._packed) - self._arrays.bytes
            self._arrays = None


class Entry:
    """An attempt: which pod, when and why, and what came of it."""

    __slots__ = (
        "after_by",
        "after_message",
        "ended",
        "labels",
        "message",
        "name",
        "namespace",
        "node",
        "number",
        "outcome",
        "plugins",
        "profile",
        "seconds",
        "seen",
        "time",
        "tries",
        "uid",
        "woken_by",
    )

    number: int
    time: float
    namespace: str
    name: str
    uid: str
    labels: dict[str, str]
    profile: str
    tries: int
    woken_by: str
    outcome: str
    node: str
    """Chosen, or nominated by preemption."""
    message: str
    plugins: tuple[str, ...]
    """Those that rejected the pod or its nodes."""
    seconds: float
    ended: float
    """When it was bound or refused; 0 before that."""
    after_by: str
    after_message: str
    seen: Seen

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def bytes(self) -> int:
        """About what it takes, what it shares with others aside."""
        return _OBJECT + len(self.message) + len(self.after_message)


def text_size(verdict: Verdict) -> int:
    return sys.getsizeof(verdict) + sum(map(sys.getsizeof, verdict.reasons))
