"""Follows a cluster with read rights only, and writes what happens to a trace."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from moorage.api.kinds import WATCHED
from moorage.api.meta import Object
from moorage.api.nodes import Node
from moorage.api.pod_groups import PodGroup
from moorage.api.pods import Pod
from moorage.api.storage import PersistentVolume
from moorage.api.workloads import Namespace
from moorage.client.errors import Forbidden, Gone, NotFound
from moorage.client.http import HttpClient
from moorage.client.informer import Informer, ListsAndWatches
from moorage.client.resources import Resource
from moorage.what_if.trace.anonymizing import Anonymizer
from moorage.what_if.trace.files import TraceWriter
from moorage.what_if.trace.kept import Document, kept
from moorage.what_if.trace.moments import has_ended, steps

RECORDED: tuple[type[Object], ...] = (*(row.type for row in WATCHED if row.type is not Object), PodGroup)
"""What is followed in every cluster that serves it."""
_NEEDED = (Node, Pod)
_POLL = 0.05
_BEAT = 1.0
FLUSH_SECONDS = 5.0
"""What happened so long ago is in the file, whatever happens to this process."""


class CannotRecord(Exception):
    """A cluster that cannot be recorded; one line that says why and what to do."""


async def version_of(client: HttpClient) -> str:
    """What the API server says it is, such as `v1.36.4`. Raises ApiError."""
    found = await client.request_json("GET", "/version", None)
    return str(found.get("gitVersion", ""))


async def identity_of(client: HttpClient) -> str:
    """By which the cluster is known again, whatever its address. Raises ApiError."""
    try:
        namespaces = (await client.list(Resource.of(Namespace))).items
    except Forbidden:
        namespaces = []
    system = next((each.uid for each in namespaces if each.name == "kube-system"), "")
    return system or hashlib.sha256(client.config.server.encode()).hexdigest()[:32]


class _Noted(NamedTuple):
    """What is to be written; they sort by time, and then as they were heard of."""

    time: float
    number: int
    document: Document
    gone: bool


class Recording:
    """What is written of a cluster from `run` on.

    What the trace knows already is compared with what there is: the differences are written as changes.
    `tell` is given lines for whoever watches.
    """

    def __init__(
        self,
        client: ListsAndWatches,
        trace: TraceWriter,
        kinds: Iterable[type[Object]],
        *,
        anonymizer: Anonymizer | None = None,
        tell: Callable[[str], object] = lambda line: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._trace = trace
        self._anonymizer = anonymizer
        self._tell = tell
        self._clock = clock
        self._goes_on = trace.changes > 0 or next(trace.documents(), None) is not None
        """Whether something is known that changes can be told from."""
        self._is_whole = False
        self._told: dict[str, Exception] = {}
        self._is_cut = False
        self._unreadable: set[str] = set()
        self._noted: dict[tuple[str, ...], list[_Noted]] = {}
        self._count = 0
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._informers = [self._informer(client, kind) for kind in kinds]
        self.pods = 0
        """How many there are."""

    async def run(self) -> None:
        """Until it is cancelled; raises TraceFull, OSError and CannotRecord.

        Whichever way it ends, the trace is whole up to there once it is closed.
        """
        self._tasks = {str(each.resource): asyncio.create_task(each.run()) for each in self._informers}
        try:
            await self._wait_for_lists()
            self._write_first()
            self._write_noted()
            self._trace.flush()
            await self._until_the_end()
        finally:
            for task in self._tasks.values():
                task.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)
            self._write_noted()

    # The first lists

    async def _wait_for_lists(self) -> None:
        while waiting := [each for each in self._informers if not _is_settled(each)]:
            for informer in waiting:
                if isinstance(informer.last_error, Forbidden):
                    self._do_without(informer)
            self._look_at_watches()
            await asyncio.sleep(_POLL)
        for informer in self._informers:
            if not informer.synced and informer.resource.type not in RECORDED:
                self._tell(f"{informer.resource} is not served; it is recorded from when it is")

    def _do_without(self, informer: Informer[Any]) -> None:
        resource = informer.resource
        if resource.type in _NEEDED:
            raise CannotRecord(f"may not list {resource}; add {_rule(resource)}")
        self._tell(f"may not list {resource}, which is recorded without; to have it, add {_rule(resource)}")
        self._tasks.pop(str(resource)).cancel()
        self._informers.remove(informer)

    def _write_first(self) -> None:
        """What there is, as from the beginning; of a trace that is gone on with, what differs."""
        self._is_whole = True
        there: set[tuple[str, ...]] = set()
        for informer in sorted(self._informers, key=lambda each: _ORDER.get(each.resource.type, 1)):
            items: Sequence[Any] = list(informer.by_key.values())
            if informer.resource.type is Pod:
                items = sorted(items, key=lambda pod: pod.metadata.creation_timestamp or "")
            for item in items:
                self._read(item, lambda document: there.add(_name(self._put(document))))
        if self._goes_on:
            followed = {(each.resource.api_version, each.resource.kind) for each in self._informers}
            for document in list(self._trace.documents()):
                name = _name(document)
                if name[:2] in followed and name not in there:
                    self._note(self._clock(), document, gone=True)
        self._goes_on = True

    # Afterwards

    def _informer(self, client: ListsAndWatches, kind: type[Object]) -> Informer[Any]:
        return Informer(
            client,
            Resource.of(kind),
            added=self._changed,
            updated=lambda old, new: self._changed(new),
            deleted=self._gone,
            recovered=self._recovered,
        )

    def _changed(self, item: Object) -> None:
        if self._is_whole:  # what is listed first is written when all of it is there
            self._read(item, self._put)

    def _gone(self, item: Object) -> None:
        if self._is_whole:
            self._read(item, self._end_of)

    def _read(self, item: Object, note: Callable[[Document], object]) -> None:
        # The whole object is needed once only, and would take much room.
        source: bytes | None = item.__dict__.pop("_source", None)
        fields = msgspec.json.decode(source if source is not None else msgspec.json.encode(item))
        try:
            note({"apiVersion": item.api_version(), "kind": item.kind, **fields})
        except ValueError as error:
            if item.kind not in self._unreadable:
                self._unreadable.add(item.kind)
                self._tell(f"{item.kind} {item.key} cannot be read and is left out: {error}")

    def _put(self, document: Document) -> Document:
        """Notes what is new about an object; returns it as it is written."""
        now, replaced = self._clock(), self._replaced(document)
        if not self._goes_on:
            # What has ended before the beginning is of no use to anybody.
            if document["kind"] != "Pod" or not has_ended(document):
                self._note(self._trace.head.began, replaced)
        elif document["kind"] != "Pod":
            self._note(now, replaced)
        else:
            known = self._known(replaced)
            if known is not None and known["metadata"].get("uid") != replaced["metadata"].get("uid"):
                self._note(now, known, gone=True)
                known = None
            for moment, state in steps(known, document, now):
                self._note(moment, self._replaced(state))
        return replaced

    def _end_of(self, document: Document) -> None:
        now, replaced = self._clock(), self._replaced(document)
        known = self._known(replaced)
        if known is not None and document["kind"] == "Pod":
            for moment, state in steps(known, document, now):
                if moment < now:
                    self._note(moment, self._replaced(state))
        self._note(now, replaced, gone=True)
        if self._anonymizer is not None:
            self._anonymizer.forget(document)

    # What is noted is written a little later, in the order of the times that objects know: after a cut of the
    # network, one hears of what is gone before one hears of what happened before.

    def _note(self, moment: float, document: Document, *, gone: bool = False) -> None:
        name = _name(document)
        before = self._noted.get(name)
        if before is not None:
            moment = max(moment, before[-1].time)
        self._count += 1
        self._noted.setdefault(name, []).append(_Noted(moment, self._count, document, gone))

    def _known(self, document: Document) -> Document | None:
        """An object as it was last noted or written."""
        noted = self._noted.get(_name(document))
        if noted is None:
            return self._trace.known(document)
        return None if noted[-1].gone else noted[-1].document

    def _write_noted(self) -> None:
        noted = sorted(each for of_object in self._noted.values() for each in of_object)
        self._noted.clear()
        for each in noted:
            (self._trace.gone if each.gone else self._trace.put)(each.time, each.document)

    def _replaced(self, document: Document) -> Document:
        trimmed = kept(document)
        return trimmed if self._anonymizer is None else self._anonymizer.anonymized(trimmed)

    async def _until_the_end(self) -> None:
        flushed_at = asyncio.get_running_loop().time()
        while True:
            self._look_at_watches()
            self._count_pods()
            self._write_noted()
            if (now := asyncio.get_running_loop().time()) - flushed_at >= FLUSH_SECONDS:
                flushed_at = now
                self._trace.flush()
            await asyncio.sleep(_BEAT)

    def _count_pods(self) -> None:
        self.pods = sum(len(each.by_key) for each in self._informers if each.resource.type is Pod)

    def _look_at_watches(self) -> None:
        for informer in self._informers:
            error, name = informer.last_error, str(informer.resource)
            if error is None or isinstance(error, Gone | NotFound) or self._told.get(name) is error:
                continue
            self._told[name] = error
            if isinstance(error, Forbidden):
                self._tell(f"may not watch {name}; add {_rule(informer.resource)}")
            elif not self._is_cut:
                self._is_cut = True
                text = " ".join(str(error).split())
                self._tell(f"the cluster does not answer ({text}); recording goes on when it does")

    def _recovered(self) -> None:
        if self._is_cut:
            self._is_cut = False
            self._tell("the cluster answers again; what has changed meanwhile is recorded")
        for informer in self._informers:
            if informer.last_error is not None:
                self._told[str(informer.resource)] = informer.last_error  # of the cut that is over
            informer.retry_now()


def _is_settled(informer: Informer[Any]) -> bool:
    return informer.synced or isinstance(informer.last_error, NotFound)


_ORDER: dict[type[Object], int] = {Node: 0, PersistentVolume: 2, Pod: 3}
"""Claims come before volumes, which may be named after them, and pods last."""


def _name(document: Document) -> tuple[str, ...]:
    metadata = document["metadata"]
    return document["apiVersion"], document["kind"], metadata.get("namespace", ""), metadata.get("name", "")


def _rule(resource: Resource[Any]) -> str:
    return (
        f'the rule {{apiGroups: ["{resource.group}"], resources: ["{resource.plural}"], '
        'verbs: ["list", "watch"]} to a ClusterRole of this user'
    )
