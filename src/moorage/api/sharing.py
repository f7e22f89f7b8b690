"""Equal parts of pods are kept once: pods of one template differ in little more than their names."""

from __future__ import annotations

from typing import Any

import msgspec

from moorage.api.pods import Pod

_MOST_KNOWN = 16384
_known: dict[bytes, tuple[Any, ...]] = {}
_encode = msgspec.msgpack.Encoder().encode


def share_parts(pod: Pod) -> None:
    """Lets a pod use the parts of others where they are equal to its own."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    (
        spec.containers,
        spec.init_containers,
        spec.tolerations,
        spec.affinity,
        spec.topology_spread_constraints,
        spec.scheduler_name,
        spec.priority_class_name,
        spec.preemption_policy,
    ) = _shared(
        (
            spec.containers,
            spec.init_containers,
            spec.tolerations,
            spec.affinity,
            spec.topology_spread_constraints,
            spec.scheduler_name,
            spec.priority_class_name,
            spec.preemption_policy,
        )
    )
    meta.namespace, meta.labels, meta.owner_references, meta.generate_name = _shared(
        (meta.namespace, meta.labels, meta.owner_references, meta.generate_name)
    )
    if status.container_statuses or status.init_container_statuses:
        status.container_statuses, status.init_container_statuses = _shared(
            (status.container_statuses, status.init_container_statuses)
        )


def share_parts_of(known: Pod, pod: Pod) -> None:
    """The same, of a pod with an older version of itself that differs in nothing a scheduler counts."""
    old, new = known.spec, pod.spec
    new.containers, new.init_containers = old.containers, old.init_containers
    new.tolerations, new.affinity = old.tolerations, old.affinity
    new.topology_spread_constraints, new.volumes = old.topology_spread_constraints, old.volumes
    if pod.metadata.labels == known.metadata.labels:
        pod.metadata.labels = known.metadata.labels
    pod.status.container_statuses = known.status.container_statuses
    pod.status.init_container_statuses = known.status.init_container_statuses


def _shared(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    try:
        key = _encode(parts)
    except (OverflowError, ValueError):  # there is a number in it that has no end, say
        return parts
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    return _known.setdefault(key, parts)
