"""Stages with devices: what is on them, what drivers and controllers do, and what is seen of claims."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, NamedTuple

from moorage.api.devices import ResourceClaim
from moorage.client.http import PATCH_TYPES
from moorage.client.informer import Informer
from moorage.client.resources import Resource
from tests.controlplane.devices.device_documents import ANY, GROUP, allocation, device_class
from tests.controlplane.playing import furnish
from tests.controlplane.schedulers import Document
from tests.controlplane.servers import Cluster
from tests.controlplane.stages import PATIENCE, Seen, Stage, World, masked
from tests.faults.gateway import Action, Gateway, holding

ROOT = f"/apis/{GROUP}"
MADE_UP = "-extended-resources-X"
"""Behind the name of a pod: that of the claim for its resources, whatever the API server called it."""
PLURALS = {
    "DeviceClass": "deviceclasses",
    "ResourceSlice": "resourceslices",
    "ResourceClaim": "resourceclaims",
}


class Change(NamedTuple):
    space: str
    uid: str
    name: str
    told: Document


class DeviceWorld(World):
    """Follows claims as well; schedulers may be behind a gateway."""

    def __init__(self, plane: Cluster, gateway: Gateway | None = None) -> None:
        super().__init__(plane)
        self.gateway = gateway
        self.claims: dict[tuple[str, str], Document] = {}
        self.claim_changes: list[Change] = []

    async def furnish(self) -> None:
        await furnish(self)
        await self.send("POST", f"{ROOT}/deviceclasses", device_class(ANY))

    async def _follow(self) -> None:
        claims = Informer(
            self.client,
            Resource.of(ResourceClaim),
            added=lambda new: self._note_claim(None, new),
            updated=self._note_claim,
            deleted=lambda old: self._note_claim(old, None),
        )
        await asyncio.gather(super()._follow(), claims.run())

    def _note_claim(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        seen = new or old
        assert seen is not None
        before = {} if old is None else spoken(old.raw)
        if new is None:
            del self.claims[seen.namespace, seen.name]
            changed: Document = {"gone": True}
        else:
            self.claims[seen.namespace, seen.name] = new.raw
            changed = {key: value for key, value in spoken(new.raw).items() if before.get(key) != value}
        if changed:
            self.claim_changes.append(Change(seen.namespace, seen.uid, seen.name, changed))
        self.wake()


def spoken(claim: Document) -> Document:
    """What somebody wrote of a claim, without what must differ."""
    meta, status = claim["metadata"], claim.get("status", {})
    given = status.get("allocation")
    return {
        "owners": meta.get("ownerReferences"),
        "annotations": meta.get("annotations"),
        "labels": meta.get("labels"),
        "finalizers": meta.get("finalizers"),
        "going": "deletionTimestamp" in meta,
        "spec": claim["spec"],
        "allocation": None if given is None else without_chance(given),
        "reservedFor": status.get("reservedFor"),
        "devices": status.get("devices"),
    }


def without_chance(given: Document) -> Document:
    """An allocation without its time and the random names of shares."""
    results = [
        {key: value is not None if key == "shareID" else value for key, value in each.items()}
        for each in given["devices"].get("results", ())
    ]
    timed = "allocationTimestamp" in given
    return {**given, "devices": {**given["devices"], "results": results}, "allocationTimestamp": timed}


class DeviceStage(Stage):
    def __init__(self, world: DeviceWorld, case: str, who: str, curtain: asyncio.Barrier) -> None:
        super().__init__(world, case, who, curtain)
        self._devices = world

    # The setting

    async def open(self) -> None:
        """Administrators may have devices of others here."""
        labels = {"resource.kubernetes.io/admin-access": "true"}
        await self.send("POST", "/api/v1/namespaces", {"metadata": {"name": self.name, "labels": labels}})

    async def node(self, name: str, *, cpu: str = "32", **form: Any) -> None:
        await super().node(name, cpu=cpu, **self._here(form))

    async def make(self, *documents: Document) -> None:
        for each in documents:
            await self.send("POST", self._root(each["kind"], each["metadata"].get("namespace", "")), each)

    async def change(self, document: Document, **spec: Any) -> None:
        """Writes other fields into the spec of an object that was made."""
        path = f"{self._root(document['kind'])}/{document['metadata']['name']}"
        await self.send("PATCH", path, {"spec": spec}, patch=PATCH_TYPES["merge"])

    async def allocate(
        self, claim: str, *given: Document, on: str = "", users: Iterable[str] = (), **more: Any
    ) -> None:
        """Gives devices to a claim, for pods that are there."""
        uids = {name: uid for uid, name in self._world.uids[self.name].items()}
        reserved = [{"resource": "pods", "name": name, "uid": uids[name]} for name in users]
        path = f"{self._root('ResourceClaim', self.name)}/{claim}"
        found = await self.send("GET", path)
        status = {"allocation": allocation(*given, on=on), "reservedFor": reserved, **more}
        await self.send("PUT", f"{path}/status", {**found, "status": status})

    # What happens

    async def comes(self, name: str = "p", *claims: str, on: str = "", **form: Any) -> None:
        """A pod with claims, which on one node only if it says so."""
        wanted = [{"name": each, "resourceClaimName": each} for each in claims]
        listed = [*wanted, *form.pop("resourceClaims", [])]
        places = {"stage": self.name, **({"name": on} if on else {})}
        form = {"cpu": "100m", "nodeSelector": places, "resourceClaims": listed, **form}
        await super().comes(name, **self._here(form))

    async def owned_by(self, pod: str) -> Document:
        """The metadata of a claim that was made for a pod."""
        uid = (await self.send("GET", self._path(pod)))["metadata"]["uid"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": uid, "controller": True}
        return {"ownerReferences": [owner]}

    async def patch_claim(self, name: str, change: Document, part: str = "") -> None:
        path = f"{self._root('ResourceClaim', self.name)}/{name}{part}"
        await self.send("PATCH", path, change, patch=PATCH_TYPES["merge"])

    async def driver_says(self, claim: str, device: Document, *conditions: Document) -> None:
        """A driver tells of the one device that it has on a claim."""
        named = {key: device[key] for key in ("driver", "pool", "device")}
        status = {"devices": [{**named, "conditions": list(conditions)}]}
        await self.patch_claim(claim, {"status": status}, "/status")

    async def release(self, claim: str) -> None:
        """What a controller does when nobody uses a claim any more."""
        nothing = {"allocation": None, "reservedFor": None, "devices": None}
        await self.patch_claim(claim, {"status": nothing}, "/status")

    async def remove_claim(self, name: str) -> None:
        await self.send("DELETE", f"{self._root('ResourceClaim', self.name)}/{name}")

    @contextlib.asynccontextmanager
    async def held(self, method: str, path: str) -> AsyncIterator[None]:
        """The next such request of the scheduler is kept back: from `arrived` to the end of the block."""
        arrived, released = threading.Event(), threading.Event()
        with self.spoiled(holding(arrived, released), method, path):
            self._arrived = arrived
            try:
                yield
            finally:
                released.set()

    @contextlib.contextmanager
    def spoiled(self, action: Action, method: str, path: str, *, times: int = 1) -> Iterator[None]:
        """Something is done to such requests of the scheduler, for the length of the block."""
        assert self._devices.gateway is not None
        with self._devices.gateway.fault(action, method=method, path=f"/{self.name}/{path}", times=times):
            yield

    async def arrived(self) -> None:
        """The request to be kept back has come."""
        assert await asyncio.to_thread(self._arrived.wait, PATIENCE), f"{self.name}: no such request"

    # What is awaited

    async def untold(self, name: str) -> bool:
        """Whether a pod has neither a condition nor an event."""
        found = self._find(name)
        assert found is not None
        events = await self._events(self.name)
        return not found["status"].get("conditions") and all(
            each["regarding"]["name"] != name for each in events
        )

    async def said(self, name: str, text: str) -> None:
        """A pod says so, or has said so: it may have been for a moment."""

        def is_said() -> bool:
            return any(
                text in each.get("message", "")
                for space, whose, change in self._world.changes
                if (space, whose) == (self.name, name)
                for each in change.get("conditions", ())
            )

        await self._until(f"that {name} says {text!r}", is_said)

    async def known(self, claim: str) -> None:
        """A claim is there."""
        await self._until(f"that {claim} is there", lambda: self._claim(claim))

    async def gone(self, claim: str) -> None:
        await self._until(f"that {claim} is gone", lambda: not self._claim(claim))

    async def has(self, claim: str, *devices: str) -> None:
        """A claim gets these devices, by driver, pool and name."""
        wanted = [self._here(each) for each in devices]
        await self._until(f"that {claim} has {wanted}", lambda: self.devices_of(claim) == wanted)

    def devices_of(self, claim: str) -> list[str]:
        given = self._claim(claim).get("status", {}).get("allocation", {}).get("devices", {})
        return [f"{each['driver']}/{each['pool']}/{each['device']}" for each in given.get("results", ())]

    async def reserved(self, claim: str, *pods: str) -> None:
        """A claim is reserved for these pods and no others."""

        def users() -> list[str]:
            return [each["name"] for each in self._claim(claim).get("status", {}).get("reservedFor", ())]

        await self._until(f"that {claim} is reserved for {pods}", lambda: users() == list(pods))

    async def reserved_again(self, claim: str, pod: str) -> None:
        """A claim was not reserved any more, and is now."""

        def is_free_again() -> bool:
            told = [
                each.told["reservedFor"]
                for each in self._devices.claim_changes
                if (each.space, each.name) == (self.name, claim) and "reservedFor" in each.told
            ]
            return None in told[1:]

        await self._until(f"that {claim} is not reserved", is_free_again)
        await self.reserved(claim, pod)

    def _claim(self, claim: str) -> Document:
        """A claim by its name, or that which was made for the resources of a pod."""
        prefix = claim.removesuffix("X") if claim.endswith(MADE_UP) else f"{claim} "
        return next(
            (
                found
                for (space, name), found in self._devices.claims.items()
                if space == self.name and f"{name} ".startswith(prefix)
            ),
            {},
        )

    async def told(self, reason: str, name: str = "p") -> None:
        """A pod gets an event for a reason."""
        async with asyncio.timeout(PATIENCE):
            while not any(
                each["reason"] == reason and each["regarding"]["name"] == name
                for each in await self._events(self.name)
            ):
                await asyncio.sleep(0.1)

    # What was seen

    async def seen(self, *, counts: bool = True) -> Seen:
        masks = self._masks()
        lives: dict[str, dict[str, list[Document]]] = defaultdict(lambda: defaultdict(list))
        for change in self._devices.claim_changes:
            if change.space == self.name:
                lives[masked(change.name, masks)][change.uid].append(masked(change.told, masks))
        claims = {name: unlike(found.values()) for name, found in lives.items()}
        return (await super().seen(counts=counts))._replace(claims=claims)

    def _masks(self) -> dict[str, str]:
        """The names that the API server made up differ too."""
        masks = super()._masks()
        for change in self._devices.claim_changes:
            made_up = re.fullmatch(r"(.+)-extended-resources-\w{5}", change.name)
            if change.space == self.name and made_up:
                masks = {change.name: made_up[1] + MADE_UP, change.uid: "UID of X", **masks}
        return masks

    # The rest

    async def send(self, method: str, path: str, body: Any = None, *, patch: str = "application/json") -> Any:
        return await self._world.send(method, self._here(path), self._here(body), patch=patch)

    def _here(self, value: Any) -> Any:
        return json.loads(json.dumps(value).replace("HERE", self.name))

    def _root(self, kind: str, space: str = "") -> str:
        return f"{ROOT}{f'/namespaces/{space}' if space else ''}/{PLURALS[kind]}"


def unlike(lives: Iterable[list[Document]]) -> list[list[Document]]:
    """Of several that are the same, one: how often something is tried again may differ."""
    found: list[list[Document]] = []
    for each in lives:
        if each not in found:
            found.append(each)
    return found
