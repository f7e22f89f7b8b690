"""Watches: what happens to objects, told as it happens."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence

from moorage.cluster.access.requests import Push, Query
from moorage.cluster.base.errors import Cause, Refusal, expired, forbidden_value, invalid, unsupported_value
from moorage.cluster.base.outside import Unanswered
from moorage.cluster.base.store import Change, Document, Forgotten, Store, Stored
from moorage.cluster.serving.herald import Herald
from moorage.cluster.serving.lists import Selection, check_known, read_version
from moorage.cluster.serving.rendering import Renderer
from moorage.cluster.serving.tables.rendering import INITIAL_EVENTS_END

SHORTEST, LONGEST = 1800.0, 3600.0  # seconds a watch lasts whose client does not say
BOOKMARK_SECONDS = 60.0
_LAST_BOOKMARK = 2.0  # seconds before the end: where the client can go on
BEHIND = 50_000  # changes a client may be behind before its watch is ended

_MATCH = "NotOlderThan"


class Watch:
    """A watch of one client; `chunks()` is its answer. It hears of changes from the moment it is made.

    One with a connection hands over what happens when the herald says so, unless its client is behind: what
    waits for that comes out of `chunks()`.
    """

    def __init__(
        self,
        store: Store,
        selection: Selection,
        query: Query,
        renderer: Renderer,
        herald: Herald,
        on_end: Callable[[Watch], None],
    ) -> None:
        self.resource = selection.resource
        self.namespace, self.name = selection.namespace, selection.name
        self._store = store
        self._selection = selection
        self._renderer = renderer
        self._herald = herald
        self._push: Push | None = None
        self._teller = self._tell  # one and the same for the herald
        self._on_end = on_end
        self._bookmarks = query.flag("allowWatchBookmarks")
        asked = query.number("timeoutSeconds")
        self._seconds = float(asked) if asked and asked > 0 else random.uniform(SHORTEST, LONGEST)
        initial = _wants_initial(query)
        version = read_version(query.text("resourceVersion"))
        check_known(store, version)
        self._waiting: list[bytes] = []
        self._news = asyncio.Event()
        self._idle = False  # whether the client has all that was said
        self._closed = False
        self._held: deque[Change] = deque()
        """Changes of objects that somebody has to be asked how to show."""
        self._asking: asyncio.Task[None] | None = None
        self._unlisten: Callable[[], None] = lambda: None
        herald.tell_all()
        try:
            self._begin(version, initial)
        except Forgotten as forgotten:
            refusal = expired(f"too old resource version: {version} ({forgotten.oldest})")
            self._waiting.append(renderer.error(refusal))
            self.close()

    def _begin(self, version: int, initial: bool) -> None:
        """What the client does not know yet: everything, or the changes since a version."""
        event = self._renderer.event
        if initial:
            found = self._selection.of(self._store)
            self._renderer.prepare(found)
            self._waiting += [event("ADDED", each) for each in found]
            if self._bookmarks:
                self._waiting.append(self._bookmark({INITIAL_EVENTS_END: "true"}))
        elif version:
            for change in self._store.since(self.resource, version):
                if (line := self._line(change)) is not None:
                    self._waiting.append(line)
        self._unlisten = self._store.listen(self.resource, self._hear)

    def connect(self, push: Push) -> None:
        """Has this called from now on with what happens, whenever the client has all that was before."""
        self._push = push

    def _hear(self, change: Change) -> None:
        if self._held:
            self._held.append(change)
            return
        try:
            self._announce(change)
        except Unanswered as unanswered:
            self._held.append(change)
            self._asking = asyncio.get_running_loop().create_task(self._ask(unanswered))

    async def _ask(self, unanswered: Unanswered) -> None:
        """Tells of what is held back until it is known how objects are shown, in its order."""
        while self._held and not self._closed:
            await unanswered.ask()
            try:
                while self._held and not self._closed:
                    self._announce(self._held[0])
                    self._held.popleft()
            except Unanswered as more:
                unanswered = more
            except Refusal as refusal:
                self._held.clear()
                self._tell((self._renderer.error(refusal),))
                self._end()

    def _announce(self, change: Change) -> None:
        line = self._line(change)
        if line is None:
            return
        if self._push is None:
            self._tell((line,))
        else:
            self._herald.announce(change.new.revision, self._teller, line)

    def _line(self, change: Change) -> bytes | None:
        """What the client is told of a change, if it concerns it."""
        matches, event = self._selection.matches, self._renderer.event
        old = change.old if change.old is not None and matches(change.old) else None
        if change.type == "DELETED":
            return None if old is None else event("DELETED", change.new)
        if matches(change.new):
            return event("ADDED" if old is None else "MODIFIED", change.new)
        if old is None:
            return None
        # The client knows the object as it was; the version tells where to go on.
        metadata = {**old.document["metadata"], "resourceVersion": str(change.new.revision)}
        document = {**old.document, "metadata": metadata}
        return event("DELETED", Stored(old.namespace, old.name, document, change.new.revision))

    def _tell(self, lines: Sequence[bytes]) -> None:
        if self._closed:
            return
        if self._idle and not self._waiting and self._push is not None and self._push(b"".join(lines)):
            return
        self._waiting += lines
        self._news.set()
        if len(self._waiting) > BEHIND:
            self._end()

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        metadata: Document = {"resourceVersion": str(self._store.revision)}
        if annotations:
            metadata["annotations"] = annotations
        return self._renderer.bookmark(metadata)

    def close(self) -> None:
        """Ends the watch after what is already said."""
        if not self._closed:
            self._herald.tell_all()
        self._end()

    def _end(self) -> None:
        if not self._closed:
            self._closed = True
            self._unlisten()
            self._news.set()
            if self._asking is not None and self._asking is not asyncio.current_task():
                self._asking.cancel()
        self._on_end(self)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """The lines, as many at a time as there are."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self._seconds
        next_bookmark = _next_bookmark(loop.time(), end)
        try:
            while (now := loop.time()) < end:
                if self._bookmarks and now >= next_bookmark:
                    next_bookmark = _next_bookmark(now, end)
                    self._herald.tell_all()
                    self._waiting.append(self._bookmark())
                if self._waiting:
                    lines, self._waiting = self._waiting, []
                    self._news.clear()
                    yield b"".join(lines)
                    continue
                if self._closed:
                    return
                self._news.clear()
                until = min(end, next_bookmark) if self._bookmarks else end
                alarm = loop.call_at(until, self._news.set)
                self._idle = True
                try:
                    await self._news.wait()
                finally:
                    self._idle = False
                    alarm.cancel()
        finally:
            self.close()


def _next_bookmark(now: float, end: float) -> float:
    last = end - _LAST_BOOKMARK
    return min(now + BOOKMARK_SECONDS, last) if now < last else now + BOOKMARK_SECONDS


def _wants_initial(query: Query) -> bool:
    """Whether the watch begins with all objects, which depends on the version if the client does not say."""
    query.number("limit")
    match = query.text("resourceVersionMatch")
    wanted = query.flag("sendInitialEvents") if "sendInitialEvents" in query.given else None
    if wanted is None and not match and query.text("resourceVersion") in ("", "0"):
        wanted, match = True, _MATCH
    field = "resourceVersionMatch"
    causes: list[Cause] = []
    if wanted is not None and match != _MATCH:
        causes.append(forbidden_value(field, f"sendInitialEvents requires setting {field} to {_MATCH}"))
    if match:
        if wanted is None:
            why = f"{field} is forbidden for watch unless sendInitialEvents is provided"
            causes.append(forbidden_value(field, why))
        if match != _MATCH:
            causes.append(unsupported_value(field, match, (_MATCH,)))
        if query.text("continue"):
            causes.append(forbidden_value(field, f"{field} is forbidden when continue is provided"))
    if causes:
        raise invalid("ListOptions", "meta.k8s.io", "", causes)
    return bool(wanted)
