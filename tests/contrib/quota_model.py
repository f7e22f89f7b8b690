"""CapacityScheduling written down slowly, with plain numbers: what the tests compare with."""

from __future__ import annotations

from dataclasses import dataclass, field

RESOURCES = ("cpu", "memory", "pods")
Amounts = dict[str, int]
EVERYTHING = 10**9


@dataclass(frozen=True)
class ModelPod:
    name: str
    namespace: str
    cpu: int
    memory: int
    priority: int
    minute: int = 0
    node: str = ""
    """Where it is, or for whom nothing is placed yet, where room is being made for it."""
    is_protected: bool = False
    """Whether the budget covers it."""

    def amount(self, resource: str) -> int:
        return {"cpu": self.cpu, "memory": self.memory, "pods": 1}[resource]


@dataclass(frozen=True)
class ModelQuota:
    min: Amounts
    max: Amounts

    def sure(self, resource: str) -> int:
        return self.min.get(resource, EVERYTHING if resource == "pods" else 0)

    def most(self, resource: str) -> int:
        return self.max.get(resource, EVERYTHING)


@dataclass
class World:
    capacity: dict[str, Amounts]
    """What nodes have."""
    quotas: dict[str, ModelQuota]
    pods: list[ModelPod]
    nominated: list[ModelPod] = field(default_factory=list)
    disruptions_allowed: int = 0

    # Sums over whoever is there

    def used(self, namespace: str, there: list[ModelPod], resource: str) -> int:
        return sum(pod.amount(resource) for pod in there if pod.namespace == namespace)

    def is_over_min(self, namespace: str, there: list[ModelPod], coming: list[ModelPod]) -> bool:
        quota = self.quotas[namespace]
        return any(
            self.used(namespace, there, resource) + sum(pod.amount(resource) for pod in coming)
            > quota.sure(resource)
            for resource in RESOURCES
        )

    def is_over_max(self, namespace: str, there: list[ModelPod], coming: list[ModelPod]) -> bool:
        quota = self.quotas[namespace]
        return any(
            self.used(namespace, there, resource) + sum(pod.amount(resource) for pod in coming)
            > quota.most(resource)
            for resource in RESOURCES
        )

    def is_over_total(self, there: list[ModelPod], coming: list[ModelPod]) -> bool:
        for resource in RESOURCES:
            sure = sum(quota.sure(resource) for quota in self.quotas.values())
            used = sum(self.used(namespace, there, resource) for namespace in self.quotas)
            if used + sum(pod.amount(resource) for pod in coming) > sure:
                return True
        return False

    # One attempt

    def coming_in_quota(self, pod: ModelPod) -> list[ModelPod]:
        return [
            pod,
            *(o for o in self.nominated if o.namespace == pod.namespace and o.priority >= pod.priority),
        ]

    def coming_in_all(self, pod: ModelPod) -> list[ModelPod]:
        return self.coming_in_quota(pod) + [
            other
            for other in self.nominated
            if other.namespace != pod.namespace
            and other.namespace in self.quotas
            and not self.is_over_min(other.namespace, self.pods, [])
        ]

    def pre_filter(self, pod: ModelPod) -> str:
        if pod.namespace not in self.quotas:
            return ""
        if self.is_over_max(pod.namespace, self.pods, self.coming_in_quota(pod)):
            return f"ElasticQuota {pod.namespace} is more than Max"
        if self.is_over_total(self.pods, self.coming_in_all(pod)):
            return "total ElasticQuota used is more than min"
        return ""

    def fits(self, node: str, pod: ModelPod, there: list[ModelPod]) -> bool:
        rivals = [other for other in self.nominated if other.node == node and other.priority >= pod.priority]
        on_node = [other for other in there if other.node == node]
        return all(
            pod.amount(resource) == 0
            or sum(other.amount(resource) for other in (*on_node, *rivals, pod))
            <= self.capacity[node][resource]
            for resource in RESOURCES
        )

    def may_go(self, other: ModelPod, pod: ModelPod, there: list[ModelPod]) -> bool:
        if pod.namespace not in self.quotas:
            return other.namespace not in self.quotas and other.priority < pod.priority
        if other.namespace not in self.quotas:
            return False
        if self.is_over_min(pod.namespace, self.pods, self.coming_in_quota(pod)):
            return other.namespace == pod.namespace and other.priority < pod.priority
        return other.namespace != pod.namespace and self.is_over_min(other.namespace, there, [])

    def preempt(self, node: str, pod: ModelPod) -> tuple[list[str], int] | str:
        """The victims, the most important first, and how many violate the budget; or why there are none."""
        there = list(self.pods)
        taken = []
        here = [other for other in self.pods if other.node == node]
        for other in sorted(here, key=lambda each: (each.priority, -each.minute)):
            if self.may_go(other, pod, there):
                taken.append(other)
                there.remove(other)
        if not taken:
            return "no victims"
        if not self.fits(node, pod, there):
            return "does not fit"
        with_quota = pod.namespace in self.quotas
        if with_quota and (self.is_over_max(pod.namespace, there, [pod]) or self.is_over_total(there, [pod])):
            return "global quota max exceeded"
        taken.reverse()
        covered = [other for other in taken if other.is_protected]
        violating = covered[self.disruptions_allowed :]
        victims = []
        for other in violating + [other for other in taken if other not in violating]:
            there.append(other)
            exceeds = with_quota and (
                self.is_over_max(pod.namespace, there, self.coming_in_quota(pod))
                or self.is_over_total(there, self.coming_in_all(pod))
            )
            if exceeds or not self.fits(node, pod, there):
                there.remove(other)
                victims.append(other)
        victims.sort(key=lambda each: (-each.priority, each.minute))
        return [each.name for each in victims], sum(each in violating for each in victims)
