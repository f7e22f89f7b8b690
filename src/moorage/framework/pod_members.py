"""Which pods name which group, kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Collection

from moorage.api.pods import Pod
from moorage.framework.handle import Handle


class PodMembers:
    """The pods that are not finished by the key of the group that each names, whether that exists or not."""

    def __init__(self, handle: Handle, key_of: Callable[[Pod], str]) -> None:
        """`key_of` is empty for a pod that names no group."""
        self._key_of = key_of
        self._members: dict[str, dict[str, Pod]] = {}
        """By the key of the group, and by uid."""
        self._with_node: dict[str, int] = {}
        handle.lister_of(Pod).on_change(added=self._add, updated=self._update, deleted=self._remove)

    def of(self, key: str) -> Collection[Pod]:
        return self._members.get(key, {}).values()

    def with_node(self, key: str) -> int:
        """How many of them the API server has on nodes."""
        return self._with_node.get(key, 0)

    def _add(self, pod: Pod) -> None:
        key = self._key_of(pod)
        if key:
            self._members.setdefault(key, {})[pod.uid] = pod
            self._with_node[key] = self._with_node.get(key, 0) + bool(pod.spec.node_name)

    def _update(self, old: Pod, new: Pod) -> None:
        self._remove(old)
        self._add(new)

    def _remove(self, pod: Pod) -> None:
        key = self._key_of(pod)
        members = self._members.get(key)
        known = None if members is None else members.pop(pod.uid, None)
        if members is None or known is None:
            return
        self._with_node[key] -= bool(known.spec.node_name)
        if not members:
            del self._members[key], self._with_node[key]
