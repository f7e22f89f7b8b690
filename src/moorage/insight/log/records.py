"""The records of a log file. docs/decision-log.md describes them; a change of meaning needs a new version."""

from __future__ import annotations

import msgspec

from moorage.insight.log.entries import Arrays, Candidate, Verdict

FORMAT = "moorage-decision-log"
VERSION = 1


class Head(msgspec.Struct, rename="camel"):
    """The first line of a file."""

    format: str
    version: int
    written_by: str
    redacted: bool
    holds: str


class Start(msgspec.Struct, tag="start", array_like=True):
    """A process begins to write: numbers of earlier records mean nothing any more."""

    time: float
    scheduler: str
    redacted: bool


class OrderRecord(msgspec.Struct, tag="nodes", array_like=True):
    """The names of all nodes, by row."""

    number: int
    names: list[str]


class LayoutRecord(msgspec.Struct, tag="plugins", array_like=True):
    """The plugins that had a say."""

    number: int
    filters: tuple[str, ...]
    weights: tuple[tuple[str, int], ...]
    summed: tuple[str, ...]
    skipped: tuple[str, ...]


class SeenRecord(msgspec.Struct, tag="seen", array_like=True):
    """What was found out in an attempt."""

    number: int
    order: int
    layout: int
    feasible: int
    looked_at: int
    ties: int
    total: int | None
    verdicts: tuple[Verdict, ...]
    absent: Verdict | None
    pre_filter: Verdict | None
    narrowed_to: int | None
    candidates: tuple[Candidate, ...]
    took: list[tuple[str, str, float]]
    begin: int
    arrays: Arrays


class AttemptRecord(msgspec.Struct, tag="attempt", array_like=True):
    """An attempt, and what came of it as far as that was known."""

    number: int
    seen: int
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
    message: str
    plugins: tuple[str, ...]
    seconds: float
    ended: float
    after_by: str
    after_message: str
    gang: str = ""


class EndRecord(msgspec.Struct, tag="end", array_like=True):
    """What came of an attempt that was written before."""

    number: int
    outcome: str
    ended: float
    after_by: str
    after_message: str


Record = Start | OrderRecord | LayoutRecord | SeenRecord | AttemptRecord | EndRecord
