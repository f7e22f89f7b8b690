"""Pods that wait for something to change in the cluster."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator

from moorage.api.selectors import ASKED_KEYS
from moorage.framework.queued_pod import QueuedPod


class Group:
    """Pods to which every event means the same; mostly there are few groups, however many pods wait."""

    __slots__ = ("key", "plugins", "pods")

    def __init__(self, key: Hashable, plugins: Iterable[str]) -> None:
        self.key = key
        self.plugins = frozenset(plugins)
        self.pods: dict[str, QueuedPod] = {}


class UnschedulablePods:
    """Pods that plugins rejected or gated, found by key, or in groups by the plugin that rejected them.

    Most events interest a few plugins only; the index saves looking at all pods for each event. `group_of`
    says what the pods of a group have in common; `before_regrouping` is called when that changes for a pod,
    and may take pods out.
    """

    def __init__(
        self, group_of: Callable[[QueuedPod], Hashable], before_regrouping: Callable[[], None]
    ) -> None:
        self.entries = 0
        """How many pods have come so far."""
        self._group_of = group_of
        self._before_regrouping = before_regrouping
        self._entered: dict[str, int] = {}
        self._pods: dict[str, QueuedPod] = {}
        self._groups: dict[Hashable, Group] = {}
        self._group_by_pod: dict[str, Group] = {}
        self._by_plugin: dict[str, dict[Group, None]] = {}
        self._keys_asked = len(ASKED_KEYS)

    def put(self, queued: QueuedPod) -> None:
        """Adds a pod, or takes note of what has changed of one that is here."""
        key, group_key = queued.pod.key, self._group_of(queued)
        if key not in self._pods:
            self.entries += 1
            self._entered[key] = self.entries
        elif self._group_by_pod[key].key != group_key:
            self._before_regrouping()
            if key not in self._pods:  # it was about to be moved
                return
            self._leave_group(key)
        self._pods[key] = queued
        group = self._groups.get(group_key)
        if group is None:
            group = self._groups[group_key] = Group(group_key, queued.rejecting_plugins)
            for plugin in group.plugins:
                self._by_plugin.setdefault(plugin, {})[group] = None
        group.pods[key] = queued
        self._group_by_pod[key] = group

    def get(self, key: str) -> QueuedPod | None:
        return self._pods.get(key)

    def remove(self, key: str) -> QueuedPod | None:
        self._leave_group(key)
        self._entered.pop(key, None)
        return self._pods.pop(key, None)

    def was_there(self, key: str, entries: int) -> bool:
        """Whether a pod is here since there were so many entries."""
        return self._entered.get(key, entries + 1) <= entries

    def _leave_group(self, key: str) -> None:
        group = self._group_by_pod.pop(key, None)
        if group is None:
            return
        del group.pods[key]
        if group.pods:
            return
        del self._groups[group.key]
        for plugin in group.plugins:
            groups = self._by_plugin[plugin]
            del groups[group]
            if not groups:
                del self._by_plugin[plugin]

    def _regroup(self) -> None:
        """A selector that is new may tell pods apart which were alike."""
        if self._keys_asked != len(ASKED_KEYS):
            self._keys_asked = len(ASKED_KEYS)
            self._before_regrouping()
            for queued in list(self._pods.values()):
                self.put(queued)

    def groups(self) -> list[Group]:
        self._regroup()
        return list(self._groups.values())

    def rejected_by(self, plugins: Iterable[str]) -> list[Group]:
        """The groups of pods that one of these plugins rejected."""
        self._regroup()
        found: dict[Group, None] = {}
        for plugin in plugins:
            found.update(self._by_plugin.get(plugin, {}))
        return list(found)

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())
