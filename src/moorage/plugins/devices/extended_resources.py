"""Extended resources that devices serve: which class stands for which, and what a pod asks of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from moorage.api.devices import DEVICE_CLASS_PREFIX, DeviceClass
from moorage.api.pods import Container, Pod
from moorage.api.quantities import NANOS, QuantityError, parse
from moorage.api.resources import is_extended
from moorage.framework.handle import Handle


def may_be_of_devices(resource: str) -> bool:
    return is_extended(resource) or resource.startswith(DEVICE_CLASS_PREFIX)


class ExtendedResources:
    """Which class serves which resource. Ask for it with `handle.shared(ExtendedResources)`."""

    def __init__(self, handle: Handle) -> None:
        self._table = handle.state.table
        self._classes: dict[str, DeviceClass] = {}
        handle.lister_of(DeviceClass).on_change(
            added=lambda new: self._changed(None, new), updated=self._changed, deleted=self._gone
        )

    def class_of(self, resource: str) -> DeviceClass | None:
        return self._classes.get(resource)

    def served(self, requests: Mapping[str, int]) -> bool:
        """Whether any of these requests may be one for devices."""
        return any(amount and name in self._table.device_resources for name, amount in requests.items())

    def _changed(self, old: DeviceClass | None, new: DeviceClass) -> None:
        """Of two classes with one resource the younger has it; what that one once had, no older one gets."""
        named = new.spec.extended_resource_name
        rival = None if named is None else self._classes.get(named)
        if rival is not None:
            mine, theirs = new.metadata.creation_timestamp or "", rival.metadata.creation_timestamp or ""
            if mine < theirs or (mine == theirs and new.name >= rival.name):
                return
        if old is not None:
            self._forget(old)
        if named is not None:
            self._classes[named] = new
        self._classes[DEVICE_CLASS_PREFIX + new.name] = new
        self._tell()

    def _gone(self, old: DeviceClass) -> None:
        self._forget(old)
        self._tell()

    def _forget(self, old: DeviceClass) -> None:
        self._classes.pop(DEVICE_CLASS_PREFIX + old.name, None)
        if old.spec.extended_resource_name is not None:
            self._classes.pop(old.spec.extended_resource_name, None)

    def _tell(self) -> None:
        names = frozenset(name for name in self._classes if may_be_of_devices(name))
        if names != self._table.device_resources:
            self._table.device_resources = names


class Asked(NamedTuple):
    """What a pod asks of devices for its extended resources, and which container gets what."""

    requests: list[dict[str, Any]]
    mappings: list[dict[str, str]]


class _Part(NamedTuple):
    """What one container adds: a request of its own, if what it may borrow is not enough."""

    request: dict[str, Any] | None
    mappings: list[dict[str, str]]


def asked_of_devices(pod: Pod, resources: Iterable[str], classes: ExtendedResources) -> Asked:
    """The requests for these resources, one per container that lives with the pod.

    Init containers that end use what later containers will have. Of what they need beyond that, the most
    that one of them needs is asked for once, and they take turns with it.
    """
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    first = len(pod.spec.init_containers)
    ends = [place < first and each.restart_policy != "Always" for place, each in enumerate(containers)]
    asked = Asked([], [])
    for resource in sorted(resources):
        device_class = classes.class_of(resource)
        if device_class is None:
            continue
        lasting: list[dict[str, Any] | None] = [None] * len(containers)
        for place, container in enumerate(containers):
            if not ends[place]:
                lasting[place], mappings = _part(place, container, resource, device_class.name, [])
                asked.mappings.extend(mappings)
        largest: dict[str, Any] | None = None
        own: set[str] = set()
        passing: list[dict[str, str]] = []
        for place, container in enumerate(containers):
            if not ends[place]:
                continue
            request, mappings = _part(place, container, resource, device_class.name, lasting[place:])
            passing.extend(mappings)
            if request is not None:
                own.add(request["name"])
                if largest is None or largest["exactly"]["count"] < request["exactly"]["count"]:
                    largest = request
        if largest is not None:
            asked.requests.append(largest)
            for mapping in passing:
                if mapping["requestName"] in own:
                    mapping["requestName"] = largest["name"]
        asked.requests.extend(request for request in lasting if request is not None)
        asked.mappings.extend(passing)
    asked.requests.sort(key=lambda request: str(request["name"]))
    return asked


def _part(
    place: int, container: Container, resource: str, class_name: str, to_borrow: list[dict[str, Any] | None]
) -> _Part:
    requests = container.resources.requests
    wanted = _whole(requests.get(resource))
    if not wanted:
        return _Part(None, [])
    mappings: list[dict[str, str]] = []

    def use(request_name: str) -> None:
        mappings.append(
            {"containerName": container.name, "resourceName": resource, "requestName": request_name}
        )

    borrowed = 0
    for other in to_borrow:
        if other is not None:
            borrowed += other["exactly"]["count"]
            use(other["name"])
            if borrowed >= wanted:
                return _Part(None, mappings)
    name = f"container-{place}-request-{sorted(requests).index(resource)}"
    use(name)
    exactly = {"deviceClassName": class_name, "allocationMode": "ExactCount", "count": wanted - borrowed}
    return _Part({"name": name, "exactly": exactly}, mappings)


def _whole(quantity: Any) -> int:
    """A number of devices; 0 for what is no whole number."""
    try:
        nanos = 0 if quantity is None else parse(quantity)
    except QuantityError:
        return 0
    return nanos // NANOS if nanos % NANOS == 0 else 0
