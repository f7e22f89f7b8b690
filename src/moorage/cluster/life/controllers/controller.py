"""What controllers have in common: they hear of changes, and work on one object after the other."""

from __future__ import annotations

from collections.abc import Callable

from moorage.cluster.base.store import Change, Store, Stored
from moorage.cluster.life.controllers.queue import Key, Queue
from moorage.cluster.life.controllers.writer import Writer


class Controller:
    """Works from `start` to `stop`, on what is there already too."""

    def __init__(self, name: str, writer: Writer) -> None:
        self._writer = writer
        self._store = writer.store
        self._queue = Queue(name, self._reconcile)
        self._silencers: list[Callable[[], None]] = []

    def start(self) -> None:
        """Needs a running event loop."""
        self._begin()
        self._queue.start()

    async def stop(self) -> None:
        for silence in self._silencers:
            silence()
        await self._queue.stop()

    def _begin(self) -> None:
        """Starts to listen, and finds the first work."""
        raise NotImplementedError

    async def _reconcile(self, key: Key) -> float | None:
        """Brings about what should be for a key; may say after how many seconds to look again."""
        raise NotImplementedError

    def _listen(self, resource: str, hear: Callable[[Change], object]) -> None:
        self._silencers.append(self._store.listen(resource, hear))

    def _add_all(self, resource: str) -> None:
        for stored in self._store.iterate(resource):
            self._queue.add(stored.key)


def is_ending(store: Store, namespace: str) -> bool:
    """Whether a namespace is on its way out, so that nothing can be created in it."""
    found = store.get("namespaces", "", namespace)
    return found is not None and found.is_deleted


def same_object(store: Store, resource: str, key: Key, uid: str) -> Stored | None:
    """An object as it is now; None if it is gone, also when there is another one of its name."""
    found = store.get(resource, *key)
    return found if found is not None and found.uid == uid else None
