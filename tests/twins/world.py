"""A cluster in memory to which things happen: documents, a watch that may lag, and a scheduler."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any, NamedTuple

from moorage.api.decoding import from_document
from moorage.api.kinds import KINDS
from moorage.api.meta import Object
from moorage.api.pods import Condition, Pod
from moorage.client.errors import Conflict, NotFound
from moorage.config import KubeSchedulerConfiguration
from moorage.framework.loading.registry import Registry
from moorage.framework.runtime.profile import Profile
from moorage.scheduler.cycle import Decision
from moorage.scheduler.journal import Journal
from moorage.scheduler.scheduler import Scheduler
from moorage.testing.fakes import RecordedEvent
from tests.twins import objects
from tests.twins.configurations import Mood
from tests.twins.objects import Document

DELETED_AT = "2026-01-01T00:00:00Z"
START = 1_700_000_000.0

_WORLDS = count()

Key = tuple[str, str]
"""The kind of an object, and its namespace and name."""


def decoded(document: Document) -> Object:
    return from_document(KINDS[document["kind"]], document)


def key_of(document: Document) -> Key:
    meta = document["metadata"]
    return document["kind"], f"{meta.get('namespace', '')}/{meta['name']}"


def changed(document: Document, part: str, **fields: Any) -> Document:
    return {**document, part: {**document.get(part, {}), **fields}}


class Api:
    """An API server by the book, as the scheduler's client: documents by kind and name, and their watch."""

    http = None

    def __init__(self, tell: Callable[[Document, bool], None]) -> None:
        self.documents: dict[Key, Document] = {}
        self.lags = False
        self.refuses_binds = False
        self.is_graceful = False
        self._tell = tell
        self._late: deque[tuple[Document, bool]] = deque()
        self._version = 0

    def put(self, document: Document) -> None:
        self._version += 1
        document = changed(document, "metadata", resourceVersion=str(self._version))
        self.documents[key_of(document)] = document
        self._send(document, True)

    def remove(self, key: Key) -> None:
        document = self.documents.pop(key, None)
        if document is not None:
            self._send(document, False)

    def _send(self, document: Document, exists: bool) -> None:
        self._late.append((document, exists))
        if not self.lags:
            self.deliver()

    def deliver(self) -> None:
        """The watch catches up."""
        while self._late:
            self._tell(*self._late.popleft())

    def of(self, kind: str) -> list[Document]:
        return [document for key, document in self.documents.items() if key[0] == kind]

    # What the scheduler writes

    def bind(self, pod: Pod, node_name: str) -> None:
        if self.refuses_binds:
            self.refuses_binds = False
            raise Conflict(409, "Conflict", f"pod {pod.key} cannot be bound now")
        known = self._known(pod)
        if known["spec"].get("nodeName"):
            raise Conflict(409, "Conflict", f"pod {pod.key} is already assigned to a node")
        self.put(changed(known, "spec", nodeName=node_name))

    def write_pod_status(
        self, pod: Pod, *, condition: Condition | None = None, nominated_node: str | None = None
    ) -> None:
        known = self._known(pod)
        status: Document = {}
        if condition is not None:
            others = [
                each for each in known["status"].get("conditions", ()) if each["type"] != condition.type
            ]
            said = {
                "type": condition.type,
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
            }
            status["conditions"] = [*others, said]
        if nominated_node is not None:
            status["nominatedNodeName"] = nominated_node
        self.put(changed(known, "status", **status))

    def delete_pod(self, pod: Pod) -> None:
        known = self._known(pod)
        if self.is_graceful:
            self.put(changed(known, "metadata", deletionTimestamp=DELETED_AT))
        else:
            self.remove(key_of(known))

    def _known(self, pod: Pod) -> Document:
        found = self.documents.get(("Pod", pod.key))
        if found is None or found["metadata"]["uid"] != pod.uid:
            raise NotFound(404, "NotFound", f'pods "{pod.name}" not found')
        return found


class Recorder:
    def __init__(self) -> None:
        self.events: list[RecordedEvent] = []

    def event(self, *fields: Any) -> None:
        self.events.append(RecordedEvent(*fields))


class Fate(NamedTuple):
    """What became of a pod so far."""

    node: str
    conditions: tuple[tuple[str, str, str], ...]
    nominated: str
    place: str = ""
    attempts: int = 0
    failures: int = 0
    rejected_by: frozenset[str] = frozenset()


class World:
    """What happens is given as (what, a number) and is the same in every world."""

    def __init__(
        self,
        config: KubeSchedulerConfiguration,
        registry: Registry,
        *,
        nodes: int,
        templates: list[int],
        shortcuts: bool = True,
        journal: Journal | None = None,
    ) -> None:
        self.config, self.registry = config, registry
        self.now = START
        Mood.now = 0
        self.recorder = Recorder()
        self.told: dict[Key, Document] = {}
        """What the scheduler knows of."""
        self.api = Api(self._tell)
        self.scheduler = Scheduler(
            config,
            registry,
            client=self.api,
            recorder_of=lambda profile: self.recorder,
            clock=lambda: self.now,
            shortcuts=shortcuts,
            journal=journal,
        )
        self.scheduler.door.listers.set_synced()
        self._seed_decisions()
        self.schedulers = tuple(self.scheduler.profiles)
        self.number = 0
        self.number_label = f"number-{next(_WORLDS)}"  # no selector has asked for it yet
        self.templates = [self._template(Random(seed)) for seed in templates]
        self.is_plain = not templates
        """Whether nothing counts of pods but the room that they take."""
        self.is_crowded = self.is_plain or nodes % 3 == 0
        """Whether pods have to push others off, as there is little room."""
        if self.is_crowded:
            self.templates += objects.crowd(self.schedulers[0])
        chance = Random(nodes)
        for name in objects.NAMESPACES:
            self.api.put(objects.namespace(chance, name))
        for name in ("local", "made", "now"):
            self.api.put(objects.storage_class(chance, name))
        for number in range(4):
            self.api.put(objects.claim(chance, f"c{number}", "default"))
            self.api.put(objects.persistent_volume(chance, f"pv{number}"))
        for number in range(nodes):
            self.api.put(objects.node(chance, f"n{number}", is_small=self.is_crowded))

    def _seed_decisions(self) -> None:
        """Which of equal victims go is left to chance: it is the same wherever this pod is decided on."""
        chooser = self.scheduler.chooser
        decide = chooser.decide

        def seeded(profile: Profile, pod: Pod) -> Decision:
            random.seed(pod.name)
            return decide(profile, pod)

        chooser.decide = seeded  # type: ignore[method-assign]

    def _tell(self, document: Document, exists: bool) -> None:
        if exists:
            self.told[key_of(document)] = document
            self.scheduler.door.put(decoded(document))
        else:
            self.told.pop(key_of(document), None)
            self.scheduler.door.remove(decoded(document))

    async def follow(self, what: str, number: int) -> None:
        """One thing happens, and most often the pods that wait are then tried."""
        chance = Random(number)
        getattr(self, what)(chance)
        if what == "later" or chance.random() < 0.75:
            await self.scheduler.drain()

    def fates(self) -> dict[str, Fate]:
        # On a slow machine, many pods are moved a piece at a time; what is left of that is to be seen, too.
        self.scheduler.queue._moves.finish()
        places = {
            queued.pod.key: (place, queued)
            for place, pods in self.scheduler.queue.pending()._asdict().items()
            for queued in pods
        }
        found: dict[str, Fate] = {}
        for document in self.api.of("Pod"):
            status, key = document["status"], key_of(document)[1]
            conditions = (
                (each["type"], each["reason"], each["message"]) for each in status.get("conditions", ())
            )
            node = document["spec"].get("nodeName", "")
            fate = Fate(node, tuple(conditions), status.get("nominatedNodeName", ""))
            if key in places:
                place, queued = places[key]
                fate = fate._replace(
                    place=place,
                    attempts=queued.attempts,
                    failures=queued.unschedulable_count,
                    rejected_by=frozenset(queued.rejecting_plugins),
                )
            found[key] = fate
        return found

    # Pods

    def pods(self, chance: Random) -> None:
        """Some pods come, most often of a template that others have, too."""
        made = chance.choice(self.templates)
        if chance.random() < 0.15 and not self.is_plain:
            made = self._template(chance)
        for _ in range(chance.choice((1, 2, 3, 5))):
            self.api.put(self._pod(made))

    def placed(self, chance: Random) -> None:
        """A pod comes that others have put on a node, which may not be there."""
        made = self._pod(chance.choice(self.templates) if self.is_plain else self._template(chance))
        for part in made["spec"]["containers"]:
            part.pop("ports", None)  # which of two pods has a port on a node depends on who came first
        self.api.put(changed(made, "spec", nodeName=f"n{chance.randrange(8)}"))

    def _template(self, chance: Random) -> Document:
        made = json.dumps(objects.template(chance, self.schedulers))
        found: Document = json.loads(made.replace(f'"{objects.NUMBER}"', f'"{self.number_label}"'))
        return found

    def _pod(self, made: Document) -> Document:
        self.number += 1
        name = f"p{self.number}"
        labels = {**made["metadata"]["labels"], self.number_label: str(self.number % 5)}
        metadata = {
            **made["metadata"],
            "name": name,
            "uid": f"pod-{name}",
            "labels": labels,
            "annotations": {"bias": str(self.number % 3)},
            "creationTimestamp": f"2026-01-01T00:{self.number // 60 % 60:02}:{self.number % 60:02}Z",
        }
        return {**made, "metadata": metadata}

    def delete_pod(self, chance: Random) -> None:
        known = self._some_pod(chance)
        if known is not None:
            self.api.remove(key_of(known))

    def change_pod(self, chance: Random) -> None:
        known = self._some_pod(chance)
        if known is None:
            return
        labels = known["metadata"]["labels"]
        if known["spec"].get("nodeName"):
            self._change_placed(chance, known)
        elif chance.random() < 0.3:
            self.api.put(changed(known, "spec", schedulingGates=[]))
        elif chance.random() < 0.3:
            self.api.put(changed(known, "status", nominatedNodeName=f"n{chance.randrange(8)}"))
        elif chance.random() < 0.2:
            self.api.put(changed(known, "metadata", annotations={"bias": str(chance.randrange(9))}))
        elif chance.random() < 0.2:
            self._replace(known)
        else:
            self.api.put(changed(known, "metadata", labels={**labels, "app": chance.choice(objects.APPS)}))

    def _change_placed(self, chance: Random, known: Document) -> None:
        labels, kind = known["metadata"]["labels"], chance.randrange(8)
        if kind == 0:
            self.api.put(changed(known, "metadata", labels={**labels, "app": chance.choice(objects.APPS)}))
        elif kind == 1:
            self.api.put(changed(known, "metadata", labels={**labels, "version": chance.choice("012")}))
        elif kind == 2:
            self.api.put(changed(known, "metadata", deletionTimestamp=DELETED_AT))
        elif kind == 3:
            given = {"requests": {"cpu": chance.choice(("50m", "1500m")), "memory": "500Mi"}}
            self.api.put(changed(known, "status", containerStatuses=[{"name": "main", "resources": given}]))
        elif kind in (4, 7):
            started = changed(known, "status", phase="Running", startTime="2026-01-01T00:00:00Z")
            self.api.put(changed(started, "metadata", annotations={"bias": str(chance.randrange(9))}))
        elif kind == 5:
            self._replace(known)
        else:
            self.api.put(changed(known, "status", phase=chance.choice(("Succeeded", "Failed"))))
            self.api.remove(key_of(known))

    def _replace(self, known: Document) -> None:
        """Another pod has the name: the watch missed that the first one went."""
        self.number += 1
        new = changed(known, "metadata", uid=f"pod-{self.number}", deletionTimestamp=None)
        spec = {field: value for field, value in known["spec"].items() if field != "nodeName"}
        self.api.put({**new, "spec": spec, "status": {}})

    def _some_pod(self, chance: Random) -> Document | None:
        known = self.api.of("Pod")
        return chance.choice(known) if known else None

    # Nodes

    def put_node(self, chance: Random) -> None:
        """A node comes, comes back or becomes another."""
        self.api.put(objects.node(chance, f"n{chance.randrange(9)}", is_small=self.is_crowded))

    def remove_node(self, chance: Random) -> None:
        known = self._some_node(chance)
        if known is None:
            return
        name = known["metadata"]["name"]
        if chance.random() < 0.5:
            for pod in self.api.of("Pod"):
                if pod["spec"].get("nodeName") == name:
                    self.api.remove(key_of(pod))
        self.api.remove(key_of(known))
        if chance.random() < 0.3:
            self.api.put(known)

    def change_node(self, chance: Random) -> None:
        known = self._some_node(chance)
        if known is None:
            return
        kind, labels = chance.randrange(8), dict(known["metadata"]["labels"])
        if kind == 0:
            labels[objects.ZONE] = chance.choice(("z1", "z2", "z3"))
            self.api.put(changed(known, "metadata", labels=labels))
        elif kind == 1:
            if labels.pop("disk", None) is None:
                labels["disk"] = chance.choice(("ssd", "hdd"))
            self.api.put(changed(known, "metadata", labels=labels))
        elif kind == 2:
            self.api.put(changed(known, "spec", taints=objects.taints(chance)))
        elif kind == 3:
            self.api.put(changed(known, "spec", unschedulable=chance.random() < 0.5))
        elif kind in (4, 5):
            self.api.put(changed(known, "status", **objects.amounts(chance, is_small=self.is_crowded)))
        elif kind == 6:
            self.api.put(changed(known, "status", images=objects.images(chance)))
        else:
            self.api.put(changed(known, "metadata", annotations={"beat": str(chance.random())}))

    def _some_node(self, chance: Random) -> Document | None:
        known = self.api.of("Node")
        return chance.choice(known) if known else None

    # Everything else

    def put_other(self, chance: Random) -> None:
        self.api.put(objects.other(chance))

    def remove_other(self, chance: Random) -> None:
        known = [key for key in self.api.documents if key[0] not in ("Pod", "Node")]
        if known:
            self.api.remove(chance.choice(known))

    def later(self, chance: Random) -> None:
        """Time passes; the watch has caught up."""
        self.api.lags = False
        self.api.deliver()
        self.now += chance.choice((1.0, 11.0, 400.0))
        self.scheduler.queue.flush_backoff()
        self.scheduler.queue.flush_unschedulable()

    def lag(self, chance: Random) -> None:
        """From now on the watch is late, or in time again."""
        self.api.lags = not self.api.lags
        if not self.api.lags:
            self.api.deliver()

    def refuse(self, chance: Random) -> None:
        """The next bind fails, or pods take their time to go from now on."""
        self.api.refuses_binds = True
        self.api.is_graceful = chance.random() < 0.5

    def change_mood(self, chance: Random) -> None:
        Mood.now = chance.randrange(4)


HAPPENINGS = (
    *("pods",) * 8,
    *("change_node",) * 4,
    *("change_pod",) * 3,
    *("later",) * 3,
    *("delete_pod",) * 2,
    *("put_other",) * 2,
    "put_node",
    "remove_node",
    "placed",
    "remove_other",
    "lag",
    "refuse",
    "change_mood",
)
"""What may happen, as often as it should."""
