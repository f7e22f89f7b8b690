"""Pods that wait for something to change in the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.framework.queued_pod import QueuedPod


class UnschedulablePods:
    """Pods that plugins rejected or gated, found by key or by the plugin that rejected them.

    Most events interest a few plugins only; the index saves looking at all pods for each event.
    """

    def __init__(self) -> None:
        self._pods: dict[str, QueuedPod] = {}
        self._by_plugin: dict[str, dict[str, QueuedPod]] = {}

    def put(self, queued: QueuedPod) -> None:
        """Adds a pod, or takes note of further plugins that rejected one that is here."""
        key = queued.pod.key
        self._pods[key] = queued
        for plugin in queued.rejecting_plugins:
            self._by_plugin.setdefault(plugin, {})[key] = queued

    def get(self, key: str) -> QueuedPod | None:
        return self._pods.get(key)

    def remove(self, key: str) -> QueuedPod | None:
        queued = self._pods.pop(key, None)
        if queued is not None:
            for plugin in queued.rejecting_plugins:
                pods = self._by_plugin.get(plugin, {})
                pods.pop(key, None)
                if not pods:
                    self._by_plugin.pop(plugin, None)
        return queued

    def rejected_by(self, plugins: Iterable[str]) -> list[QueuedPod]:
        """The pods that one of these plugins rejected."""
        found: dict[str, QueuedPod] = {}
        for plugin in plugins:
            found.update(self._by_plugin.get(plugin, {}))
        return list(found.values())

    def __contains__(self, key: str) -> bool:
        return key in self._pods

    def __len__(self) -> int:
        return len(self._pods)

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())
