"""PodDisruptionBudgets: how many of the pods that a budget covers may be taken away now."""

from __future__ import annotations

from moorage.api.selectors import Selector
from moorage.cluster.base.parts import condition, other_conditions, selector_of
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock, seconds_of
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Breaks, Controller
from moorage.cluster.life.controllers.workloads.rollout_sizes import scaled
from moorage.cluster.objects.writes import InternalWriter

BUDGETS = "poddisruptionbudgets.policy"
GATHER = 0.1  # seconds in which changes of pods are gathered
DELETION_TIMEOUT = 120.0  # seconds in which an evicted pod should be on its way out
_SCALED = {
    "ReplicaSet": ("replicasets.apps", "deployments.apps"),
    "Deployment": ("deployments.apps", ""),
    "StatefulSet": ("statefulsets.apps", ""),
    "ReplicationController": ("replicationcontrollers", ""),
}
"""Kinds with a number of replicas, and what in turn may control them."""


class Disruption(Controller):
    name = "disruption"

    def __init__(self, writer: InternalWriter, clock: Clock) -> None:
        super().__init__(writer, clock)
        self._selectors: dict[str, dict[str, Selector]] = {}

    def _begin(self) -> None:
        self._listen(BUDGETS, self._budget_changed)
        self._listen("pods", self._pod_changed)
        for resource, _ in _SCALED.values():
            self._listen(resource, self._scaled_changed)
        for budget in self._store.iterate(BUDGETS):
            self._know(budget)

    def _budget_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            self._selectors.get(change.new.namespace, {}).pop(change.new.name, None)
        else:
            self._know(change.new)

    def _know(self, budget: Stored) -> None:
        selector = selector_of(budget.spec.get("selector"))
        self._selectors.setdefault(budget.namespace, {})[budget.name] = selector
        self._queue.add(budget.key)

    def _pod_changed(self, change: Change) -> None:
        states = [each for each in (change.new, change.old) if each is not None]
        for name, selector in self._selectors.get(change.new.namespace, {}).items():
            if any(selector.matches(pod.labels) for pod in states):
                self._queue.add_after((change.new.namespace, name), GATHER)

    def _scaled_changed(self, change: Change) -> None:
        if change.old is None or change.old.spec.get("replicas") != change.new.spec.get("replicas"):
            for name in self._selectors.get(change.new.namespace, ()):
                self._queue.add_after((change.new.namespace, name), GATHER)

    async def _reconcile(self, key: objects.Key) -> float | None:
        budget = self._store.get(BUDGETS, *key)
        if budget is None:
            return None
        selector = selector_of(budget.spec.get("selector"))
        every = list(self._store.iterate("pods", key[0]))
        pods = [pod async for pod in Breaks().between(every) if selector.matches(pod.labels)]
        expected, desired = self._expected(budget, pods)
        disrupted, again = self._disrupted(budget, pods)
        healthy = sum(
            not pod.is_deleted and pod.name not in disrupted and objects.ready_condition(pod) is not None
            for pod in pods
        )
        allowed = max(healthy - desired, 0) if expected > 0 else 0
        status: Document = {
            **({"disruptedPods": disrupted} if disrupted else {}),
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            **_observed(budget),
            "conditions": self._conditions(budget, allowed),
        }
        objects.write_status(self._writer, BUDGETS, budget, status)
        return again

    def _expected(self, budget: Stored, pods: list[Stored]) -> tuple[int, int]:
        """How many pods there should be, and how many of them must be healthy."""
        spec = budget.spec
        if "maxUnavailable" in spec:
            expected = self._wanted(pods)
            return expected, max(expected - scaled(spec["maxUnavailable"], expected, up=True), 0)
        least = spec.get("minAvailable", 1)
        if isinstance(least, int):
            return len(pods), least
        expected = self._wanted(pods)
        return expected, scaled(least, expected, up=True)

    def _wanted(self, pods: list[Stored]) -> int:
        """The sum of the replicas of all that control these pods."""
        replicas: dict[str, int] = {}
        for pod in pods:
            owner = objects.controller_of(pod)
            if owner is None or owner.get("uid", "") in replicas:
                continue
            found = self._controller(pod.namespace, owner)
            if found is not None:
                replicas[owner.get("uid", "")] = 0
                replicas[found.uid] = found.spec.get("replicas", 1)
        return sum(replicas.values())

    def _controller(self, namespace: str, owner: Document) -> Stored | None:
        """What says how many pods there are: for the replica set of a deployment, the deployment."""
        resource, above = _SCALED.get(owner.get("kind", ""), ("", ""))
        key = (namespace, owner.get("name", ""))
        found = objects.same_object(self._store, resource, key, owner.get("uid", ""))
        if found is None:
            return None
        upper = objects.controller_of(found) if above else None
        return found if upper is None else self._controller(namespace, upper) or found

    def _disrupted(self, budget: Stored, pods: list[Stored]) -> tuple[Document, float | None]:
        """Pods that are about to be deleted, and when the first of them should have been."""
        noted = budget.status.get("disruptedPods") or {}
        awaited = [pod.name for pod in pods if pod.name in noted and not pod.is_deleted]
        passed = self._clock() - DELETION_TIMEOUT
        rests = {name: seconds_of(noted[name] or "") - passed for name in awaited}
        left = {name: noted[name] for name, rest in rests.items() if rest > 0}
        return left, min((rests[name] for name in left), default=None)

    def _conditions(self, budget: Stored, allowed: int) -> list[Document]:
        type_, value = "DisruptionAllowed", "True" if allowed else "False"
        new: Document = {
            "type": type_,
            "status": value,
            "lastTransitionTime": objects.since(condition(budget.status, type_), value, self._clock()),
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
            **_observed(budget),
        }
        return [*other_conditions(budget.status, type_), new]


def _observed(budget: Stored) -> Document:
    return {"observedGeneration": budget.generation} if budget.generation else {}
