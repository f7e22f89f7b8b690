"""What becomes of the claims of a pod on each node: the devices planned, and what binding would write."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from copy import copy
from typing import Any

from moorage.api.devices import ResourceClaim
from moorage.api.meta import Object
from moorage.api.pod_groups import PodGroup
from moorage.api.pods import Pod
from moorage.framework import diagnosis
from moorage.framework.cycle_state import CycleState
from moorage.framework.door import Door
from moorage.framework.handle import Handle
from moorage.framework.node_statuses import NodeStatuses
from moorage.framework.runtime.profile import Profile
from moorage.framework.status import Code, Status
from moorage.plugins.devices import releasing
from moorage.plugins.devices.claim_writes import ClaimsInMemory
from moorage.plugins.devices.devices import Devices
from moorage.plugins.devices.dynamic_resources import STATE, DynamicResources
from moorage.plugins.devices.pod_devices import PodDevices
from moorage.state.nodes import Nodes

Document = dict[str, Any]

NOW, NEW = "<now>", "<new>"
"""What stands for times and for ids that are made when something is written."""


def devices_plugin(profile: Profile) -> DynamicResources | None:
    return next((each for each in profile.plugins.values() if isinstance(each, DynamicResources)), None)


class DeviceOutcomes:
    """Asks the plugin of a profile about a pod that it has claims of; every question leaves all as it was."""

    def __init__(self, profile: Profile, plugin: DynamicResources, cycle: CycleState, pod: Pod) -> None:
        self._profile = profile
        self._plugin = plugin
        self._cycle = cycle
        self._pod = pod
        self._devices = plugin.devices

    @classmethod
    def of(cls, profile: Profile, cycle: CycleState, pod: Pod) -> DeviceOutcomes | None:
        """None for a pod without claims."""
        plugin = devices_plugin(profile)
        if plugin is None or not (pod.spec.resource_claims or cycle.has_claims):
            return None
        return cls(profile, plugin, cycle, pod)

    def plans(self, nodes: Nodes) -> dict[str, dict[str, list[str]]] | None:
        """Node, claim, and what the claim would get there; None if nothing could be planned."""
        found = self._plugin.found(self._cycle)
        filters = [plugin for plugin, _ in self._profile.filter]
        if found is None or found.judgement is None or self._plugin not in filters:
            return None
        plans: dict[str, dict[str, list[str]]] = {}
        for info in nodes:
            plan = found.judgement.plan(info)
            plans[info.name] = (
                {} if plan is None else {each.claim.key: list(each.devices) for each in plan.plans}
            )
        return plans

    def bind(self, node_names: Iterable[str]) -> dict[str, Document]:
        return {name: self._bind_on(name) for name in node_names}

    def _bind_on(self, node_name: str) -> Document:
        cycle, pod, plugin = self._cycle.clone(), self._pod, self._plugin
        known = plugin.found(cycle)
        found = PodDevices() if known is None else copy(known)
        found.claims, found.planned, found.unsure, found.chosen = list(found.claims), {}, {}, None
        if known is not None:
            cycle.write(STATE, found)
        named = self._devices.claims_of(pod)
        with _Trial(self._devices, self._profile.services.door, plugin.handle, named) as trial:
            reserved: Status | None = None
            try:
                if plugin in self._profile.reserve:
                    reserved = plugin.reserve(cycle, pod, node_name)
            except LookupError as error:
                reserved = Status.error(str(error))
            outcome: Document = {"reserve": self._answer("Reserve", reserved)}
            if reserved is None:
                status = None
                if plugin in self._profile.pre_bind:
                    status = trial.run(plugin.pre_bind(cycle, pod, node_name))
                outcome["preBind"] = {"code": "Wait"} if trial.waits else self._answer("PreBind", status)
            outcome["writes"] = list(trial.writes.told)
            after = outcome["claims"] = trial.claims()
            if trial.writes.pod_status:
                outcome["podStatus"] = trial.writes.pod_status
            if trial.events:
                outcome["events"] = trial.events
            trial.writes.told.clear()
            releasing.end_flights(self._devices, found)
            if plugin in self._profile.reserve:
                trial.run(releasing.take_back(self._devices, found, pod))
            undone = {key: claim for key, claim in trial.claims().items() if claim != after[key]}
            outcome["unreserve"] = {"writes": list(trial.writes.told), "claims": undone}
        return outcome

    def _answer(self, point: str, status: Status | None) -> Document:
        if status is None or status.code is Code.SUCCESS:
            return {"code": "Success"}
        told = diagnosis.rejected_or_failed(point, self._plugin.name, status)
        return {"code": told.code.label, "reasons": sorted(told.reasons)}

    def deallocated(self, statuses: NodeStatuses) -> list[str]:
        """The claims of which PostFilter frees one."""
        if self._plugin not in self._profile.post_filter:
            return []
        found = self._plugin.found(self._cycle)
        if found is None:
            return []
        return sorted({claim.key for claim in self._plugin.to_free(self._cycle, self._pod, statuses)})

    def deleted(self) -> list[str]:
        """The claim for extended resources that PostFilter deletes."""
        if self._plugin not in self._profile.post_filter or self._plugin.found(self._cycle) is None:
            return []
        stale = self._plugin.stale_claim(self._cycle)
        return [] if stale is None else [stale.key]


class _ToldWrites(ClaimsInMemory):
    """Writes in memory, and tells what was written, in order."""

    def __init__(self, door: Door) -> None:
        super().__init__(door)
        self.told: list[str] = []
        self.made: list[str] = []
        self.pod_status: Document = {}

    async def create(self, document: Document) -> ResourceClaim:
        made = await super().create(document)
        self.told.append(f"create {made.key}")
        self.made.append(made.key)
        return made

    async def update(self, document: Document) -> ResourceClaim:
        self.told.append(f"update {_key(document)}")
        return await super().update(document)

    async def update_status(self, document: Document, *, keeps_allocation: bool = False) -> ResourceClaim:
        self.told.append(f"updateStatus {_key(document)}")
        return await super().update_status(document, keeps_allocation=keeps_allocation)

    async def unreserve(self, claim: ResourceClaim, consumer: Pod | PodGroup) -> ResourceClaim:
        self.told.append(f"patchStatus {claim.key}")
        return await super().unreserve(claim, consumer)

    async def delete(self, claim: ResourceClaim) -> None:
        self.told.append(f"delete {claim.key}")
        await super().delete(claim)

    async def patch_pod_status(self, pod: Pod, status: Mapping[str, Any]) -> None:
        self.told.append(f"patchStatus pod {pod.key}")
        self.pod_status = dict(status)


class _Waits(Exception):
    """Whoever is asked would have to wait."""


async def _pause(seconds: float) -> None:
    if seconds >= 1:
        raise _Waits


class _Trial:
    """A binding that is tried and undone."""

    def __init__(self, devices: Devices, door: Door, handle: Handle, claims: list[ResourceClaim]) -> None:
        self._devices, self._door, self._handle = devices, door, handle
        self._before = {claim.key: claim for claim in claims}
        self.writes = _ToldWrites(door)
        self.events: list[str] = []
        self.waits = False

    def __enter__(self) -> _Trial:
        self._kept = self._devices.writes, self._devices.sleep, self._handle.recorder
        self._devices.writes, self._devices.sleep, self._handle.recorder = self.writes, _pause, self
        return self

    def __exit__(self, *raised: object) -> None:
        self._devices.writes, self._devices.sleep, self._handle.recorder = self._kept
        stored = self._door.state.objects.of(ResourceClaim)
        for key in self.writes.made:
            left = stored.get(*reversed(key.split("/")))
            if left is not None:
                self._door.remove(left)
        for claim in self._before.values():
            if stored.get(claim.name, claim.namespace) is not claim:
                self._door.put(claim)

    def event(
        self, regarding: Object, related: Object | None, type: str, reason: str, action: str, note: str
    ) -> None:
        self.events.append(f"{type} {reason} {action} {note}")

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What a coroutine returns that waits for nothing here."""
        try:
            work.send(None)
        except StopIteration as ended:
            return ended.value
        except _Waits:
            self.waits = True
            return None
        raise RuntimeError("nothing in memory is waited for")

    def claims(self) -> dict[str, Document | None]:
        """The claims of the pod as they are now; None for one that is gone."""
        stored = self._door.state.objects.of(ResourceClaim)
        shown: dict[str, Document | None] = {}
        for key in [*self._before, *self.writes.made]:
            claim = stored.get(*reversed(key.split("/")))
            shown[key] = None if claim is None else _shown(claim, self._before.get(key))
        return shown


def _key(document: Document) -> str:
    return f"{document['metadata']['namespace']}/{document['metadata']['name']}"


def _shown(claim: ResourceClaim, before: ResourceClaim | None) -> Document:
    meta, status = claim.raw["metadata"], claim.raw.get("status") or {}
    was = (before.raw.get("status") or {}).get("allocation") if before is not None else None
    shown: Document = {
        "finalizers": list(meta.get("finalizers") or ()),
        "allocation": _with_placeholders(status.get("allocation"), was),
        "reservedFor": list(status.get("reservedFor") or ()),
    }
    if status.get("devices"):
        shown["devices"] = status["devices"]
    if before is None:
        requests = claim.raw["spec"].get("devices", {}).get("requests")
        shown["created"] = {
            "generateName": meta["generateName"],
            "annotations": meta["annotations"],
            "labels": meta.get("labels"),
            "ownerReferences": meta["ownerReferences"],
            "spec": {"devices": {"requests": requests}},
        }
    return shown


def _with_placeholders(allocation: Document | None, was: Document | None) -> Document | None:
    if allocation is None:
        return None
    shown = dict(allocation)
    if shown.get("allocationTimestamp") != (was or {}).get("allocationTimestamp"):
        shown["allocationTimestamp"] = NOW
    results = shown["devices"].get("results")
    if was is None and results:
        shown["devices"] = {
            **shown["devices"],
            "results": [{**each, "shareID": NEW} if "shareID" in each else each for each in results],
        }
    return shown
