"""All ways to place a few pods, by the answers of the real filters, whatever the scheduler would prefer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from moorage.api.pods import Pod
from moorage.what_if.capacity.effort import Effort
from moorage.what_if.capacity.world import World

_NEVER_ENABLE = frozenset(
    {
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "NodeDeclaredFeatures",
        "DynamicResources",
    }
)
"""Filters for which a pod that fits beside others fits without them, too: with these no order matters."""


class Unknown(Exception):
    """There were more ways than could be tried."""


class Placements:
    """Searches through what pods can be placed where, one after the other, each passing all filters."""

    def __init__(
        self, world: World, pods: Iterable[Pod], effort: Effort, twins: Mapping[str, str] | None = None
    ) -> None:
        """`twins` are nodes that differ in their names only, by what they all are like."""
        self._world = world
        self._classes = alike(pods)
        self._total = sum(map(len, self._classes))
        self._effort = effort
        self._twins = twins or {}
        self._tries = 0
        self._free = all(order_is_free(world, pod) for pods in self._classes for pod in pods)

    def most(self, at_most: int, *, better_than: int = 0) -> int:
        """The greatest number that can be placed of pods that are all alike; raises Unknown.

        The search ends when `at_most` is reached; only what is better than `better_than` is looked for.
        """
        self._begin(better_than, min(at_most, self._total))
        self._descend([0] * len(self._classes), {}, 0)
        return self._best

    def all_fit(self) -> bool:
        """Whether there is a way to place all; raises Unknown."""
        self._begin(0, self._total)
        return self._descend([0] * len(self._classes), {}, 0)

    def _begin(self, best: int, wanted: int) -> None:
        if any(pod.has_claims for pods in self._classes for pod in pods):
            raise Unknown  # what a claim takes is only known when it is bound
        self._best, self._wanted = best, wanted
        self._seen: set[frozenset[tuple[tuple[int, str], int]]] = set()

    def _descend(self, used: list[int], where: dict[tuple[int, str], int], placed: int) -> bool:
        """Whether as many are placed as are wanted."""
        self._best = max(self._best, placed)
        if self._best >= self._wanted:
            return True
        state = frozenset(where.items())
        if state in self._seen:
            return False
        self._seen.add(state)
        for place, pods in enumerate(self._classes):
            if used[place] == len(pods):
                continue
            pod = pods[used[place]]
            for node in self._fitting(pod, where):
                used[place] += 1
                where[place, node] = where.get((place, node), 0) + 1
                self._world.place(pod, node)
                is_enough = self._descend(used, where, placed + 1)
                self._world.remove(pod)
                used[place] -= 1
                where[place, node] -= 1
                if not where[place, node]:
                    del where[place, node]
                if is_enough:
                    return True
            if self._free and len(self._classes) > 1:
                return False  # whatever comes first, this one has to have its place, too
        return False

    def _fitting(self, pod: Pod, where: Mapping[tuple[int, str], int]) -> list[str]:
        """The nodes that fit; of twins without pods one is enough."""
        self._tries += 1
        limit = self._effort.tries
        if self._effort.is_over or (limit is not None and self._tries > limit):
            raise Unknown
        taken = {node for _, node in where}
        found: list[str] = []
        known: set[str] = set()
        for node in self._world.fitting(pod):
            kind = self._twins.get(node)
            if kind is not None and node not in taken:
                if kind in known:
                    continue
                known.add(kind)
            found.append(node)
        return found


def order_is_free(world: World, pod: Pod) -> bool:
    """Whether it cannot matter to a pod in which order it and others come: others only ever take room."""
    return all(
        plugin.name in _NEVER_ENABLE or _has_nothing_to_say(plugin.name, pod)
        for plugin, _ in world.profile_of(pod).filter
    )


def _has_nothing_to_say(plugin: str, pod: Pod) -> bool:
    if plugin == "InterPodAffinity":
        affinity = pod.spec.affinity
        return affinity is None or affinity.pod_affinity is None or not affinity.pod_affinity.required
    if plugin == "PodTopologySpread":
        constraints = pod.spec.topology_spread_constraints
        return all(each.when_unsatisfiable != "DoNotSchedule" for each in constraints)
    return False


def alike(pods: Iterable[Pod], *, without_node: bool = False) -> list[list[Pod]]:
    """Pods in classes: those that differ in their names only, or also in their nodes."""
    classes: dict[object, list[Pod]] = {}
    for pod in pods:
        spec = replace(pod.spec, node_name="") if without_node else pod.spec
        classes.setdefault(msgspec.json.encode((pod.namespace, pod.labels, spec)), []).append(pod)
    return list(classes.values())
