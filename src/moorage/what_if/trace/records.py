"""The records of version 1 of the trace format. docs/traces.md describes them; they never change.

A record is a list that begins with what it is: a model, which new objects are told by their differences from;
a new object, which gets the next number; another state of an object; or the end of one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from moorage.what_if.trace.differences import applied, difference

Document = dict[str, Any]
Record = list[Any]

MODEL, NEW, CHANGED, GONE = range(4)
_MOST_MODELS = 1024
_MICROSECONDS = 1_000_000


class Told(NamedTuple):
    """What a record says."""

    time: float
    document: Document
    gone: bool


class Records:
    """What is known after some records: reads further ones, and makes them."""

    def __init__(self, began: float) -> None:
        self.micros = round(began * _MICROSECONDS)
        """When the latest was, since 1970."""
        self.documents: dict[int, Document] = {}
        """The objects there are, by number."""
        self.next_number = 0
        self.models: dict[int, Document] = {}
        self.model_count = 0
        """How many there have been; later ones take the places of earlier ones."""

    @property
    def time(self) -> float:
        """Of the latest."""
        return self.micros / _MICROSECONDS

    def read(self, record: Record) -> Told | None:
        """Takes over what a record says; None for one that only prepares others.

        Raises LookupError, TypeError or ValueError if it makes no sense.
        """
        kind = record[0]
        if kind == MODEL:
            self.models[record[1]] = record[2]
            self.model_count += 1
            return None
        if kind not in (NEW, CHANGED, GONE):
            raise ValueError(f"a record of unknown kind {kind}")
        self.micros += record[1]
        number, changes = record[2], record[3] if len(record) > 3 else {}
        if kind == NEW:
            document = applied(self.models[number], changes)
            self.documents[self.next_number] = document
            self.next_number += 1
        else:
            document = applied(self.documents[number], changes)
            self.documents[number] = document
            if kind == GONE:
                del self.documents[number]
        return Told(self.time, document, kind == GONE)


class Writing:
    """Makes records of documents, and knows which a reader does not need."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._numbers = {_key(document): number for number, document in records.documents.items()}
        self._slots = {_likeness(model): slot for slot, model in records.models.items()}

    def put(self, time: float, document: Document) -> list[Record]:
        """What has to be written for a document: nothing if it is known as it is."""
        known = self.known(document)
        if known is not None and _uid(known) != _uid(document):
            # One of the same name, of which the end was not told.
            return [*self.gone(time, known), *self.put(time, document)]
        if known is None:
            return self._new(time, document)
        if known == document:
            return []
        return self._told([CHANGED, self._since(time), self._number(document), difference(known, document)])

    def gone(self, time: float, document: Document) -> list[Record]:
        """What has to be written for its end: nothing if it was not known."""
        known = self.known(document)
        if known is None:
            return []
        record = [GONE, self._since(time), self._numbers.pop(_key(document))]
        if known != document and _uid(known) == _uid(document):
            record.append(difference(known, document))
        return self._told(record)

    def _new(self, time: float, document: Document) -> list[Record]:
        records = self._records
        likeness = _likeness(document)
        slot = self._slots.get(likeness)
        made: list[Record] = []
        if slot is None:
            slot = records.model_count % _MOST_MODELS
            replaced = records.models.get(slot)
            if replaced is not None:
                del self._slots[_likeness(replaced)]
            self._slots[likeness] = slot
            made += self._told([MODEL, slot, document])
        self._numbers[_key(document)] = records.next_number
        record = [NEW, self._since(time), slot]
        if document != records.models[slot]:
            record.append(difference(records.models[slot], document))
        return made + self._told(record)

    def _told(self, record: Record) -> list[Record]:
        """The record, which from now on is known here as it is to readers."""
        self._records.read(record)
        return [record]

    def known(self, document: Document) -> Document | None:
        """An object as it was last told, by another state of it."""
        number = self._numbers.get(_key(document))
        return None if number is None else self._records.documents[number]

    def _number(self, document: Document) -> int:
        return self._numbers[_key(document)]

    def _since(self, time: float) -> int:
        """Microseconds after the record before; never less than none, since time does not go back."""
        return max(0, round(time * _MICROSECONDS) - self._records.micros)


def _key(document: Document) -> tuple[str, ...]:
    metadata = document["metadata"]
    return document["apiVersion"], document["kind"], metadata.get("namespace", ""), metadata.get("name", "")


def _uid(document: Document) -> str:
    return str(document["metadata"].get("uid", ""))


def _likeness(document: Document) -> tuple[Any, ...]:
    """What objects have in common that are told by their differences from one another."""
    metadata, spec = document["metadata"], document.get("spec", {})
    containers = tuple((each.get("name"), each.get("image")) for each in spec.get("containers", ()))
    labels = tuple(sorted(metadata.get("labels", ())))
    return document["kind"], metadata.get("namespace", ""), labels, containers
