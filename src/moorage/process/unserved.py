"""What the cluster holds that this version cannot serve: said at the start, not left to be found out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.framework.logger import Logger
from moorage.plugins.dynamic_resources import DynamicResources
from moorage.plugins.node_resources_fit import class_resources
from moorage.scheduler.scheduler import Scheduler

log = Logger(__name__)

_DEVICES = "resource.k8s.io"
_NO_DEVICES = "this version of Moorage does not allocate devices"
_NO_GROUPS = "this version of Moorage does not schedule groups"


def warn_of_unserved(scheduler: Scheduler) -> None:
    """One warning for each kind of thing. Looks only at what is watched anyway."""
    for line in unserved(scheduler):
        log.warning(line)


def unserved(scheduler: Scheduler) -> list[str]:
    """A line for each kind of thing: how many there are, the first by name, and what becomes of them."""
    waiting = [queued.pod for part in scheduler.queue.pending() for queued in part]
    classes, claims, slices = (_watched(scheduler, name) for name in _RESOURCES)
    lines = (
        _line("Waiting pods of pod groups", _grouped(waiting), f"Each is scheduled by itself: {_NO_GROUPS}"),
        _line(
            "Waiting pods with resource claims",
            _claiming(scheduler, waiting),
            f"They will not be scheduled: {_NO_DEVICES}",
        ),
        _line(
            "Waiting pods that request a resource of a DeviceClass",
            _requesting(waiting, classes),
            f"They go only to nodes that have it as allocatable: {_NO_DEVICES}",
        ),
        _line(
            "ResourceClaims without an allocation",
            (claim for claim in claims if not (claim.raw.get("status") or {}).get("allocation")),
            f"They will not get one: {_NO_DEVICES}",
        ),
        _line("ResourceSlices", slices, f"Their devices are not used: {_NO_DEVICES}"),
        _line("DeviceClasses", classes, f"They are not used: {_NO_DEVICES}"),
    )
    return [line for line in lines if line is not None]


_RESOURCES = ("deviceclasses", "resourceclaims", "resourceslices")


def _watched(scheduler: Scheduler, resource: str) -> list[Any]:
    """The objects of a resource of devices; none if nobody watches it."""
    listers = scheduler.door.listers
    found = (
        lister for lister in listers if lister.name.group == _DEVICES and lister.name.resource == resource
    )
    return [item for lister in found for item in lister.list()]


def _line(what: str, objects: Iterable[Object], fate: str) -> str | None:
    keys = sorted(item.key for item in objects)
    return f"{what}: {len(keys)} (first: {keys[0]}). {fate}" if keys else None


def _grouped(pods: Iterable[Pod]) -> Iterator[Pod]:
    return (pod for pod in pods if pod.spec.scheduling_group is not None)


def _claiming(scheduler: Scheduler, pods: Iterable[Pod]) -> Iterator[Pod]:
    """Without the plugin nobody looks at claims, as in kube-scheduler."""
    with_plugin = {
        name
        for name, profile in scheduler.profiles.items()
        if any(isinstance(plugin, DynamicResources) for plugin in profile.plugins.values())
    }
    return (pod for pod in pods if pod.spec.resource_claims and pod.spec.scheduler_name in with_plugin)


def _requesting(pods: Iterable[Pod], classes: Iterable[Object]) -> Iterator[Pod]:
    offered = {name for device_class in classes for name in class_resources(device_class)}
    return (pod for pod in pods if not offered.isdisjoint(_requested(pod))) if offered else iter(())


def _requested(pod: Pod) -> Iterator[str]:
    spec = pod.spec
    return (name for each in (*spec.containers, *spec.init_containers) for name in each.resources.requests)
