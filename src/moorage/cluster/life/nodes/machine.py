"""What all pods share: the machine that they run on, or look as if they did, and where each of them is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from moorage.cluster.base.store import Change, Store, Stored
from moorage.cluster.base.times import Clock
from moorage.cluster.life.controllers.events import Recorder
from moorage.cluster.life.controllers.objects import Groups, Key, pods_of
from moorage.cluster.life.nodes.addresses import PodAddresses
from moorage.cluster.life.nodes.claimed_folders import ClaimedFolders
from moorage.cluster.life.nodes.logs import Logs
from moorage.cluster.life.nodes.processes import Guard
from moorage.cluster.life.nodes.programs import RUN_NAMESPACES, Programs
from moorage.cluster.life.nodes.volumes import TokenFor
from moorage.cluster.objects.writes import InternalWriter


class BoundPods:
    """The pods of each node. Whoever listens does so until `stop`."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_node: Groups[str, Key] = Groups()
        self._heard = ExitStack()

    def start(self) -> None:
        for pod in self._store.iterate("pods"):
            self._note(pod)
        self.listen("pods", self._changed)

    def stop(self) -> None:
        self._heard.close()

    def on(self, node: str) -> list[Stored]:
        return pods_of(self._store, sorted(self._by_node.get(node, ())))

    def listen(self, resource: str, hear: Callable[[Change], None]) -> None:
        self._heard.callback(self._store.listen(resource, hear))

    def tell(self, look: Callable[[Stored], None], gone: Callable[[Stored], None]) -> None:
        """Has somebody look at all pods, at those that change or whose node comes, and know who is gone."""

        def pod_changed(change: Change) -> None:
            if change.type == "DELETED":
                gone(change.new)
            else:
                look(change.new)

        def node_changed(change: Change) -> None:
            if change.type == "ADDED":
                for pod in self.on(change.new.name):
                    look(pod)

        self.listen("pods", pod_changed)
        self.listen("nodes", node_changed)
        for pod in self._store.objects("pods"):
            look(pod)

    def _note(self, pod: Stored) -> None:
        if node := pod.spec.get("nodeName"):
            self._by_node.add(node, pod.key)

    def _changed(self, change: Change) -> None:
        if change.type == "DELETED":
            self._by_node.discard(change.new.spec.get("nodeName", ""), change.new.key)
        elif change.old is None or change.old.spec.get("nodeName") != change.new.spec.get("nodeName"):
            self._note(change.new)


class Machine:
    """A container of Moorage's own image, or of one in `run_images`, is run as a process below `folder`, with
    the address of the API server, if its pod is in one of `run_namespaces`; every other one only looks as if
    it ran. `volumes` is the folder for those of claims, if they are to stay.
    """

    def __init__(
        self,
        writer: InternalWriter,
        *,
        folder: Path,
        server: tuple[str, int],
        token_for: TokenFor,
        run_images: Sequence[str] = (),
        run_namespaces: Sequence[str] = RUN_NAMESPACES,
        volumes: Path | None = None,
        clock: Clock = time.time,
    ) -> None:
        self.writer = writer
        self.folder = folder
        self.server = server
        self.token_for = token_for
        self.clock = clock
        self.bound = BoundPods(writer.store)
        self.claimed = ClaimedFolders(volumes or folder / "volumes", writer.store)
        self.programs = Programs(run_images, run_namespaces)
        self.addresses = PodAddresses()
        self.logs = Logs(clock)
        self.guard = Guard()
        self._recorder = Recorder(writer, "kubelet", clock)

    def tell(self, pod: Stored, reason: str, message: str, path: str = "", *, warning: bool = False) -> None:
        """Makes an event about a pod, or the part of it that the path names."""
        node = pod.spec.get("nodeName", "")
        self._recorder.tell(pod, reason, message, warning=warning, field_path=path, host=node)
