"""Objects that say which pods belong together: services, controllers, budgets, priorities, namespaces."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from moorage.api.meta import Object
from moorage.api.pods import Fields
from moorage.api.selectors import LabelSelector


class Namespace(Object, kw_only=True):
    kind: ClassVar[str] = "Namespace"
    resource: ClassVar[str] = "namespaces"
    namespaced: ClassVar[bool] = False


class MapSelectorSpec(Fields):
    selector: dict[str, str] | None = None


class Service(Object, kw_only=True):
    kind: ClassVar[str] = "Service"
    resource: ClassVar[str] = "services"

    spec: MapSelectorSpec = msgspec.field(default_factory=MapSelectorSpec)


class ReplicationController(Object, kw_only=True):
    kind: ClassVar[str] = "ReplicationController"
    resource: ClassVar[str] = "replicationcontrollers"

    spec: MapSelectorSpec = msgspec.field(default_factory=MapSelectorSpec)


class SelectorSpec(Fields):
    selector: LabelSelector | None = None


class ReplicaSet(Object, kw_only=True):
    group: ClassVar[str] = "apps"
    kind: ClassVar[str] = "ReplicaSet"
    resource: ClassVar[str] = "replicasets"

    spec: SelectorSpec = msgspec.field(default_factory=SelectorSpec)


class StatefulSet(Object, kw_only=True):
    group: ClassVar[str] = "apps"
    kind: ClassVar[str] = "StatefulSet"
    resource: ClassVar[str] = "statefulsets"

    spec: SelectorSpec = msgspec.field(default_factory=SelectorSpec)


class PodDisruptionBudgetStatus(Fields):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, str] = {}


class PodDisruptionBudget(Object, kw_only=True):
    group: ClassVar[str] = "policy"
    kind: ClassVar[str] = "PodDisruptionBudget"
    resource: ClassVar[str] = "poddisruptionbudgets"

    spec: SelectorSpec = msgspec.field(default_factory=SelectorSpec)
    status: PodDisruptionBudgetStatus = msgspec.field(default_factory=PodDisruptionBudgetStatus)


class PriorityClass(Object, kw_only=True):
    group: ClassVar[str] = "scheduling.k8s.io"
    kind: ClassVar[str] = "PriorityClass"
    resource: ClassVar[str] = "priorityclasses"
    namespaced: ClassVar[bool] = False

    value: int = 0
    global_default: bool = False
    preemption_policy: str | None = None
