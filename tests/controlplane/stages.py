"""Stages on which two schedulers play the same case at the same time, and what was seen of each."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, NamedTuple, Self

from moorage.api.pods import Pod
from moorage.client.connection import find
from moorage.client.errors import NotFound
from moorage.client.http import PATCH_TYPES, HttpClient
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from tests.controlplane.schedulers import Document, node, pod
from tests.controlplane.servers import Cluster

SCHEDULERS = {"kube": "default-scheduler", "ours": "moorage"}
PORTS = {"kube": 8080, "ours": 9080}
PRIORITIES = {"lowest": -(2**31), "low": 10, "middle": 50, "high": 1000, "polite": 1000, "top": 2000}
"""Of the classes; pods of the polite one preempt nobody."""
BELL = "bell"
PATIENCE = 60.0
RING_EVERY = 1.0
COUNT = re.compile(r"\b\d+(?:/\d+)? (node|Insufficient|Preemption is|No preemption)")
FAILED = "FailedScheduling"
TIMES = ("lastProbeTime", "lastTransitionTime")
WAITS_FOR_VICTIMS = "not eligible due to a terminating pod on the nominated node."


class Seen(NamedTuple):
    """What became of the pods of a stage; what must differ between the schedulers is masked."""

    lives: dict[str, list[Document]]
    """By pod, every change of what schedulers write, in order."""
    evictions: list[str]
    """The order in which victims were told to go; all but the last go at once and stand sorted."""
    turns: list[str]
    """In which order others lost their nominations and the first and the last victim were marked."""
    events: dict[str, list[Document]]
    """By pod, each once. Of failed attempts the first counts: what others say may vanish in a series."""
    unfounded: list[str]
    """What events say and no condition ever said."""
    notes: Counter[tuple[str, str]]
    """How many events of a reason a pod has. This is not compared."""
    claims: dict[str, list[list[Document]]] = {}
    """By resource claim, where they are followed: every change of what schedulers write of each so named."""


class World:
    """Follows all pods of a cluster for the length of an `async with` block and keeps every change."""

    def __init__(self, plane: Cluster) -> None:
        self.client = HttpClient(find(str(plane.kubeconfig)), qps=-1)
        self.pods: dict[tuple[str, str], Document] = {}
        self.changes: list[tuple[str, str, Document]] = []
        """Of all pods, in the order of the watch: namespace, name, what changed."""
        self.uids: dict[str, dict[str, str]] = defaultdict(dict)
        self._awake = asyncio.Event()
        self._rung = 0

    async def __aenter__(self) -> Self:
        await self.client.__aenter__()
        self._following = asyncio.create_task(self._follow())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)
        await self.client.close()

    async def until(self, what: str, condition: Callable[[], Any], seconds: float = PATIENCE) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    await self._awake.wait()
        except TimeoutError:
            raise AssertionError(f"{what} did not happen within {seconds:.0f} s") from None

    async def send(
        self, method: str, path: str, body: Any = None, *, patch: str = "application/json"
    ) -> Document:
        encoded = None if body is None else json.dumps(body).encode()
        answer: Document = json.loads(await self.client.send(method, path, encoded, content_type=patch))
        return answer

    async def ring(self) -> None:
        """A pod comes and goes elsewhere: whoever waits for room is tried again."""
        self._rung += 1
        name = f"{BELL}-{self._rung}"
        path = "/api/v1/namespaces/default/pods"
        await self.send("POST", path, pod(name, nodeName=BELL))
        await self.end(f"{path}/{name}")

    async def end(self, path: str) -> None:
        """What a kubelet does when a pod has ended, and kubectl with `--now`."""
        with contextlib.suppress(NotFound):
            await self.send("DELETE", path, {"gracePeriodSeconds": 0})

    async def _follow(self) -> None:
        await Informer(
            self.client,
            Resource.of(Pod),
            added=self._note,
            updated=lambda old, new: self._note(new),
            deleted=lambda old: self._note(old, gone=True),
        ).run()

    def _note(self, seen: Pod, *, gone: bool = False) -> None:
        space, name, new = seen.namespace, seen.name, seen.raw
        old = self.pods.pop((space, name), None)
        self.uids[space][seen.uid] = name
        if gone:
            self.changes.append((space, name, {"gone": True}))
        else:
            self.pods[space, name] = new
            if old is not None and (changed := difference(old, new)):
                self.changes.append((space, name, changed))
        self.wake()

    def wake(self) -> None:
        """Whoever awaits something looks again."""
        self._awake, awake = asyncio.Event(), self._awake
        awake.set()


def difference(old: Document, new: Document) -> Document:
    """What changed of the things that schedulers write."""
    before, after = spoken(old), spoken(new)
    return {key: value for key, value in after.items() if before[key] != value}


def spoken(pod: Document) -> Document:
    meta, status = pod["metadata"], pod["status"]
    return {
        "node": pod["spec"].get("nodeName"),
        "nominated": status.get("nominatedNodeName"),
        "grace": meta.get("deletionGracePeriodSeconds"),
        "devices of resources": status.get("extendedResourceClaimStatus"),
        "conditions": [
            {key: bool(value) if key in TIMES else value for key, value in each.items()}
            for each in status.get("conditions") or ()
        ],
    }


class Stage:
    """One case under one scheduler, with nodes and a namespace of its own."""

    def __init__(self, world: World, case: str, who: str, curtain: asyncio.Barrier) -> None:
        self.name = f"{case}-{who}"
        self.scheduler = SCHEDULERS[who]
        self.port = PORTS[who]
        """Of a host. Where a pod with it ends, whoever waits for this port is woken, on every stage."""
        self._world = world
        self._curtain = curtain
        self._by_chance = ""

    # The setting

    async def open(self) -> None:
        await self._world.send("POST", "/api/v1/namespaces", {"metadata": {"name": self.name}})

    async def node(self, name: str, *, cpu: str = "4", **form: Any) -> None:
        labels = {"stage": self.name, "name": name, **form.pop("labels", {})}
        document = node(self.node_name(name), cpu=cpu, labels=labels, **form)
        await self._world.send("POST", "/api/v1/nodes", document)

    async def runs(
        self, name: str, on: str = "a", *, started: str = "2026-01-01T00:00:00Z", space: str = "", **form: Any
    ) -> None:
        """A pod that is on a node already."""
        document = self._form(name, {"priority": "low", **form}, space)
        document["spec"] |= {"nodeName": self.node_name(on), "schedulerName": "somebody"}
        await self._world.send("POST", self._path("", space), document)
        await self.patch(name, {"status": {"phase": "Running", "startTime": started}}, "/status", space=space)

    async def budget(
        self, name: str, labels: Document, *, allowed: int = 0, disrupted: Iterable[str] = (), space: str = ""
    ) -> None:
        root = f"/apis/policy/v1/namespaces/{space or self.name}/poddisruptionbudgets"
        document = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": name},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        }
        await self._world.send("POST", root, document)
        status = {
            "currentHealthy": 1,
            "desiredHealthy": 1,
            "expectedPods": 1,
            "disruptionsAllowed": allowed,
            "disruptedPods": dict.fromkeys(disrupted, "2026-01-01T00:00:00Z"),
        }
        merge = PATCH_TYPES["merge"]
        await self._world.send("PATCH", f"{root}/{name}/status", {"status": status}, patch=merge)

    async def namespace(self, name: str) -> str:
        """A further namespace of this stage."""
        full = f"{self.name}-{name}"
        await self._world.send("POST", "/api/v1/namespaces", {"metadata": {"name": full}})
        return full

    async def set(self) -> None:
        """The setting is complete; schedulers start when all stages are."""
        await self._curtain.wait()

    # What happens

    async def comes(self, name: str = "preemptor", **form: Any) -> None:
        """A pod that the scheduler has to place."""
        document = self._form(name, {"priority": "high", "cpu": "4", **form})
        await self._world.send("POST", self._path(), document)

    async def ends(self, *names: str, space: str = "") -> None:
        for name in names:
            await self._world.end(self._path(name, space))

    async def delete(self, name: str) -> None:
        """As `kubectl delete pod` does it."""
        await self._world.send("DELETE", self._path(name))

    async def patch(self, name: str, change: Document, part: str = "", *, space: str = "") -> None:
        """Changes a pod and returns when that was seen."""
        path = self._path(name, space) + part
        answer = await self._world.send("PATCH", path, change, patch=PATCH_TYPES["merge"])
        await self._until(
            f"the change of {name}",
            lambda: (found := self._find(name, space)) is None or version(found) >= version(answer),
        )

    async def patch_node(self, name: str, change: Document, part: str = "") -> None:
        path = f"/api/v1/nodes/{self.node_name(name)}{part}"
        await self._world.send("PATCH", path, change, patch=PATCH_TYPES["merge"])

    async def remove_node(self, name: str) -> None:
        await self._world.send("DELETE", f"/api/v1/nodes/{self.node_name(name)}")

    def is_chance(self, text: str) -> None:
        """Whether a pod says so in between depends on who is faster, and is left out of what was seen."""
        self._by_chance = text

    # What is awaited

    async def going(self, *names: str, space: str = "") -> None:
        """The pods are told to go."""

        def all_go() -> bool:
            found = [self._find(name, space) for name in names]
            return all(each is None or "deletionTimestamp" in each["metadata"] for each in found)

        await self._until(f"the end of {names}", all_go)

    async def nominated(self, name: str = "preemptor", to: str | None = "a") -> None:
        def is_nominated() -> bool:
            found = self._find(name)
            expected = to and self.node_name(to)
            return found is not None and found["status"].get("nominatedNodeName") == expected

        await self._until(f"the nomination of {name} to {to}", is_nominated)

    async def bound(self, name: str = "preemptor", to: str = "a") -> None:
        def is_bound() -> bool:
            found = self._find(name)
            return found is not None and found["spec"].get("nodeName") == self.node_name(to)

        await self._until(f"the bind of {name} to {to}", is_bound)

    async def says(self, name: str, text: str, *, ring: bool = False) -> None:
        """A pod's condition says why it has no place; `ring` has it tried again until it does."""

        def is_said() -> bool:
            found = self._find(name)
            said = (found or {}).get("status", {}).get("conditions") or ()
            return any(text in each.get("message", "") for each in said if each["type"] == "PodScheduled")

        what = f"that {name} says {text!r}"
        if not ring:
            await self._until(what, is_said)
            return
        for _ in range(int(PATIENCE / RING_EVERY)):
            await self._world.ring()
            with contextlib.suppress(AssertionError):
                await self._world.until(what, is_said, RING_EVERY)
                return
        raise AssertionError(f"{self.name}: {what} did not happen")

    async def makes_room(
        self, *victims: str, name: str = "preemptor", on: str = "a", wakes: bool = True, space: str = ""
    ) -> None:
        """Victims are told to go, take their time, and the pod gets their place.

        Deletions anywhere wake a pod that waits for room (`wakes`), so it is woken once at least and says
        what it waits for; otherwise chance would decide whether it says so.
        """
        await self.going(*victims, space=space)
        await self.nominated(name, on)
        if wakes:
            await self.says(name, WAITS_FOR_VICTIMS, ring=True)
        await self.ends(*victims, space=space)
        await self.bound(name, on)

    # What was seen

    async def seen(self, *, counts: bool = True) -> Seen:
        """`counts` says whether numbers of nodes in messages are kept."""
        world = self._world
        spaces = self._spaces()
        masks = self._masks()
        told = [
            (masked(f"{each}/{name}", masks), masked(change, masks, counts=counts))
            for each, name, change in world.changes
            if each in spaces and not (self._by_chance and self._by_chance in repr(change))
        ]
        answers = await asyncio.gather(*(self._events(each) for each in spaces))
        events = masked([event for answer in answers for event in answer], masks, counts=counts)
        return Seen(
            lives(told),
            evictions(told),
            turns(told),
            by_pod(events),
            [note for note in unfounded(events, told) if not self._by_chance or self._by_chance not in note],
            Counter((event["regarding"]["name"], event["reason"]) for event in events),
        )

    def _spaces(self) -> list[str]:
        return [each for each in self._world.uids if each == self.name or each.startswith(f"{self.name}-")]

    def _masks(self) -> dict[str, str]:
        """What differs between the schedulers, and what stands for it."""
        uids = self._world.uids
        names = {uid: f"UID of {name}" for each in self._spaces() for uid, name in uids[each].items()}
        return {**names, self.name: "HERE", self.scheduler: "SCHEDULER"}

    async def _events(self, space: str) -> list[Document]:
        answer = await self._world.send("GET", f"/apis/events.k8s.io/v1/namespaces/{space}/events")
        items: list[Document] = answer["items"]
        return items

    # The rest

    def node_name(self, name: str) -> str:
        return f"{name}.{self.name}"

    def _form(self, name: str, form: Document, space: str = "") -> Document:
        requests = {"cpu": form.pop("cpu", "4"), **form.pop("requests", {})}
        form = {"priorityClassName": form.pop("priority"), "nodeSelector": {"stage": self.name}, **form}
        metadata = form.pop("metadata", {})
        document = pod(name, scheduler=self.scheduler, requests=requests, **form)
        document["metadata"] |= {"namespace": space or self.name, **metadata}
        return document

    def _path(self, name: str = "", space: str = "") -> str:
        return f"/api/v1/namespaces/{space or self.name}/pods" + (f"/{name}" if name else "")

    def _find(self, name: str, space: str = "") -> Document | None:
        return self._world.pods.get((space or self.name, name))

    async def _until(self, what: str, condition: Callable[[], Any]) -> None:
        try:
            await self._world.until(f"{self.name}: {what}", condition)
        except AssertionError as error:
            pods = {
                name: spoken(pod) for (space, name), pod in self._world.pods.items() if space == self.name
            }
            raise AssertionError(f"{error}; pods: {pods}") from None


def version(document: Document) -> int:
    return int(document["metadata"]["resourceVersion"])


def masked(value: Any, masks: dict[str, str], *, counts: bool = True) -> Any:
    text = json.dumps(value)
    for what, mask in masks.items():
        text = text.replace(what, mask)
    return json.loads(text if counts else COUNT.sub(r"N \1", text))


def lives(told: list[tuple[str, Document]]) -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = defaultdict(list)
    conditions: dict[str, Any] = {}
    for name, change in told:
        # With the numbers of nodes masked, new conditions may say what the last ones said.
        said = change.get("conditions", conditions.get(name))
        new = {
            key: value
            for key, value in change.items()
            if key != "conditions" or value != conditions.get(name)
        }
        conditions[name] = said
        if new:
            found[name].append(new)
    return dict(found)


def is_marked(change: Document) -> bool:
    return any(each["type"] == "DisruptionTarget" for each in change.get("conditions", ()))


def evictions(told: list[tuple[str, Document]]) -> list[str]:
    marked = {name for name, change in told if is_marked(change)}
    going = [name for name, change in told if change.get("grace") is not None and name in marked]
    return [*sorted(going[:-1]), *going[-1:]]


def turns(told: list[tuple[str, Document]]) -> list[str]:
    """Where several victims go at once, only the first and the last mark have a fixed place."""
    marks = [place for place, (_, change) in enumerate(told) if is_marked(change)]
    fixed = {marks[0]: "first mark", marks[-1]: "last mark"} if marks else {}
    found: list[str] = []
    for place, (name, change) in enumerate(told):
        if change.get("nominated", "") is None and "node" not in change:
            found.append(f"{name} is no longer nominated")
        elif place in fixed:
            found.append(fixed[place])
    return found


def by_pod(events: list[Document]) -> dict[str, list[Document]]:
    fields = ("type", "reason", "action", "note", "related", "reportingController")
    found: dict[str, list[Document]] = defaultdict(list)
    for event in sorted(events, key=lambda event: event["eventTime"]):
        regarding = event["regarding"]
        said = {key: event.get(key) for key in fields}
        said["regarding"] = {key: value for key, value in regarding.items() if key != "resourceVersion"}
        said["instance"] = event["reportingInstance"].startswith(f"{event['reportingController']}-")
        said["has version"] = "resourceVersion" in regarding
        others = found[f"{regarding['namespace']}/{regarding['name']}"]
        if said not in others and (
            event["reason"] != FAILED or all(each["reason"] != FAILED for each in others)
        ):
            others.append(said)
    return dict(found)


def unfounded(events: list[Document], told: list[tuple[str, Document]]) -> list[str]:
    messages = {each.get("message") for _, change in told for each in change.get("conditions", ())}
    notes = {event["note"] for event in events if event["reason"] == FAILED}
    # This is said of pods that are deleted just when it is their turn.
    return sorted(note for note in notes - messages if not note.startswith("skip schedule deleting pod"))
