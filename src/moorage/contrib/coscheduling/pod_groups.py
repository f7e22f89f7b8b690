"""Which PodGroups there are and which pods belong to them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from moorage.api.pods import Pod
from moorage.contrib.objects import GROUP_LABEL, PodGroup
from moorage.framework.gangs import Gang
from moorage.framework.handle import Handle
from moorage.framework.pod_members import PodMembers

REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
"""Annotations of a PodGroup or its pods: the label of which all nodes of the members have the same value."""


class PodGroups:
    """Ask for it with `handle.shared(PodGroups)`."""

    def __init__(self, handle: Handle) -> None:
        self._groups = handle.lister_of(PodGroup)
        self._members = PodMembers(handle, key_of)

    def of(self, pod: Pod) -> PodGroup | None:
        """The group that a pod names, if there is one."""
        name = pod.labels.get(GROUP_LABEL)
        return None if not name else self._groups.get(name, namespace=pod.namespace)

    def members(self, key: str) -> Collection[Pod]:
        """The pods that name a group and are not finished, whether the group exists or not."""
        return self._members.of(key)

    def is_unfinished(self, group: PodGroup) -> bool:
        """Whether some members have nodes and others that are needed have not."""
        return 0 < self._members.with_node(group.key) < minimum_of(group)

    def gang_of(self, pod: Pod) -> Gang | None:
        group = self.of(pod)
        if group is None:
            return None
        required = group.annotations.get(REQUIRED_TOPOLOGY) or pod.annotations.get(REQUIRED_TOPOLOGY)
        preferred = group.annotations.get(PREFERRED_TOPOLOGY) or pod.annotations.get(PREFERRED_TOPOLOGY)
        return Gang(group.key, minimum_of(group), required or preferred or "", bool(required))


def key_of(pod: Pod) -> str:
    """The `namespace/name` of the group that a pod names; empty if it names none."""
    name = pod.labels.get(GROUP_LABEL)
    return f"{pod.namespace}/{name}" if name else ""


def minimum_of(group: PodGroup) -> int:
    """How many members have to run; without a number, or with one below 1, any number will do."""
    return max(group.spec.min_member or 0, 0)


def created_at(group: PodGroup) -> float | None:
    """In seconds since the epoch."""
    text = group.metadata.creation_timestamp
    return datetime.fromisoformat(text).timestamp() if text else None
