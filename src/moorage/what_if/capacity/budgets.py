"""Disruption budgets, as an eviction asks them: how many pods may be missing, while pods are moved."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from moorage.api.meta import Object
from moorage.api.pods import Pod
from moorage.api.selectors import Selector, parse_selector
from moorage.api.workloads import PodDisruptionBudget
from moorage.what_if.capacity.copies import controller_of

Document = dict[str, Any]

ALWAYS_ALLOW = "AlwaysAllow"


@dataclass
class Budget:
    """How many of some pods are healthy, and how many have to be."""

    key: str
    namespace: str
    selector: Selector
    desired: int
    healthy: int
    evicts_unhealthy: bool = False
    """Whether pods that are not ready may always go."""

    @property
    def allowed(self) -> int:
        return max(0, self.healthy - self.desired)

    def covers(self, pod: Pod) -> bool:
        return pod.namespace == self.namespace and self.selector.matches(pod.labels)

    def refusal(self, pod: Pod) -> str:
        """Why the pod may not be evicted now; empty if it may."""
        if not is_healthy(pod) and (self.evicts_unhealthy or self.healthy >= self.desired > 0):
            return ""
        if self.allowed:
            return ""
        return f"budget {self.key} needs {self.desired} healthy pods and has {self.healthy}"


@dataclass
class Budgets:
    """All budgets of a cluster."""

    known: list[Budget] = field(default_factory=list)
    _places: dict[object, list[int]] = field(default_factory=dict)
    """By namespace and labels, which budgets cover a pod; it is asked often, of pods that are alike."""

    @classmethod
    def of(cls, objects: Iterable[Object]) -> Budgets:
        every = list(objects)
        pods = [each for each in every if isinstance(each, Pod) and not each.finished]
        wanted = _replicas(every)
        found = [each for each in every if isinstance(each, PodDisruptionBudget)]
        budgets = cls([_budget(each) for each in found])
        covered: dict[str, list[Pod]] = {each.key: [] for each in found}
        for pod in pods:
            for budget in budgets.over(pod):
                covered[budget.key].append(pod)
        for item, budget in zip(found, budgets.known, strict=True):
            _count(item, budget, covered[budget.key], wanted)
        return budgets

    def copied(self) -> Budgets:
        return Budgets([replace(each) for each in self.known], self._places)

    def over(self, pod: Pod) -> list[Budget]:
        key = (pod.namespace, *sorted(pod.labels.items()))
        places = self._places.get(key)
        if places is None:
            places = [place for place, each in enumerate(self.known) if each.covers(pod)]
            self._places[key] = places
        return [self.known[place] for place in places]

    def refusal(self, pod: Pod) -> str:
        """Why the API server would refuse to evict the pod now; empty if it would not."""
        if pod.deleting or pod.status.phase == "Pending":
            return ""
        over = self.over(pod)
        if len(over) > 1:
            names = " and ".join(each.key for each in over)
            return f"budgets {names} both cover it, which eviction does not support"
        return over[0].refusal(pod) if over else ""

    def moved(self, pod: Pod, by: int = 1) -> None:
        """Another pod runs in the place of this one, which is gone; with -1, it did not happen after all."""
        if not is_healthy(pod):
            for budget in self.over(pod):
                budget.healthy += by

    def deleted(self, pod: Pod, by: int = 1) -> None:
        """The pod is gone, and no other comes."""
        if is_healthy(pod):
            for budget in self.over(pod):
                budget.healthy -= by


def is_healthy(pod: Pod) -> bool:
    """Whether a pod is ready; one of a manifest without a status is taken to be."""
    if pod.deleting or not pod.spec.node_name:
        return False
    ready = pod.condition("Ready")
    if ready is not None:
        return ready.status == "True"
    return pod.status.phase in ("", "Running")


def _budget(item: PodDisruptionBudget) -> Budget:
    spec: Document = item.raw.get("spec") or {}
    evicts = spec.get("unhealthyPodEvictionPolicy") == ALWAYS_ALLOW
    return Budget(item.key, item.namespace, parse_selector(item.spec.selector), 0, 0, evicts)


def _count(
    item: PodDisruptionBudget, budget: Budget, covered: Sequence[Pod], replicas: dict[str, int]
) -> None:
    """Sets how many pods are healthy and have to be, as the cluster says it or as it would."""
    status: Document = item.raw.get("status") or {}
    if "desiredHealthy" in status or "currentHealthy" in status:
        budget.desired, budget.healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        if not status.get("expectedPods"):
            budget.desired = max(budget.desired, budget.healthy)
    elif "disruptionsAllowed" in status:
        budget.healthy = status["disruptionsAllowed"]
    else:
        budget.healthy = sum(map(is_healthy, covered))
        budget.desired = _desired(item.raw.get("spec") or {}, covered, replicas)


def _desired(spec: Document, covered: Sequence[Pod], replicas: dict[str, int]) -> int:
    """How many have to be healthy where no controller has said so yet."""
    wanted = _wanted(covered, replicas)
    if "maxUnavailable" in spec:
        return max(0, wanted - _scaled(spec["maxUnavailable"], wanted, otherwise=0))
    return _scaled(spec.get("minAvailable", 1), wanted, otherwise=len(covered))


def _wanted(covered: Sequence[Pod], replicas: dict[str, int]) -> int:
    """The replicas of all that control the pods; of those that are not known, the pods that there are."""
    by_owner: dict[str, int] = {}
    for pod in covered:
        owner = controller_of(pod)
        if owner is not None:
            uid = str(owner["uid"])
            by_owner[uid] = by_owner.get(uid, 0) + 1
    return sum(replicas.get(uid, count) for uid, count in by_owner.items())


def _replicas(objects: Iterable[Object]) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in objects:
        if item.kind in ("ReplicaSet", "StatefulSet", "ReplicationController"):
            number = (item.raw.get("spec") or {}).get("replicas")
            if isinstance(number, int):
                found[item.uid] = number
    return found


def _scaled(amount: object, of: int, *, otherwise: int) -> int:
    """A number, or a share that is rounded up; something else for what is neither."""
    if isinstance(amount, int):
        return amount
    share = str(amount).removesuffix("%")
    return math.ceil(of * int(share) / 100) if share.isdecimal() and share != amount else otherwise
