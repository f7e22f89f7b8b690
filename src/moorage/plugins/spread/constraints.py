"""Topology spread constraints in the form in which they are evaluated."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from moorage.api.pods import Pod, TopologySpreadConstraint
from moorage.api.selectors import (
    ASKED_KEYS,
    EVERYTHING,
    IN,
    Requirement,
    Selector,
    SelectorError,
    parse_selector,
    selector_from_map,
)
from moorage.api.workloads import ReplicaSet, ReplicationController, Service, StatefulSet
from moorage.state.lru import Lru
from moorage.state.objects import Objects, Store

HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"
HONOR = "Honor"
HOSTNAME = "kubernetes.io/hostname"
_KNOWN_TEMPLATES = 1024


class Constraint(NamedTuple):
    max_skew: int
    topology_key: str
    selector: Selector
    min_domains: int
    honors_affinity: bool
    honors_taints: bool


SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key="topology.kubernetes.io/zone", when_unsatisfiable=SOFT),
)


def own_constraints(pod: Pod, action: str) -> tuple[Constraint, ...]:
    """The constraints a pod brings along, of one kind; raises SelectorError if a selector is invalid."""
    labels = pod.metadata.labels
    return tuple(
        as_constraint(constraint, _with_label_keys(constraint, labels))
        for constraint in pod.spec.topology_spread_constraints
        if constraint.when_unsatisfiable == action
    )


class Belonging:
    """Which pods belong with a pod that says nothing about it; kept until a service or controller changes."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._services = objects.of(Service)
        self._stores: list[Store[Any]] = [
            self._services,
            *(objects.of(kind) for kind in (ReplicationController, ReplicaSet, StatefulSet)),
        ]
        self._known = Lru[Hashable, Selector](_KNOWN_TEMPLATES)
        self._versions = [-1]
        self._selecting: set[str] = set()
        """The namespaces with services that select pods."""

    def of(self, pod: Pod) -> Selector:
        versions = [store.version for store in self._stores]
        if versions != self._versions:
            if versions[0] != self._versions[0]:
                self._selecting = {each.namespace for each in self._services.list() if each.spec.selector}
            self._versions = versions
            self._known.clear()
        meta = pod.metadata
        if not meta.owner_references and meta.namespace not in self._selecting:
            return EVERYTHING
        key = (meta.namespace, tuple(meta.labels.items()), meta.owner_references)
        return self._known.get(key) or self._known.put(key, derived_selector(pod, self._objects))


def derived_selector(pod: Pod, objects: Objects) -> Selector:
    """What the services and the controller of a pod select."""
    labels: dict[str, str] = {}
    namespace, own = pod.metadata.namespace, pod.metadata.labels
    for service in objects.of(Service).list(namespace):
        selector = service.spec.selector
        ASKED_KEYS.update(selector or ())
        if selector is not None and all(own.get(key) == value for key, value in selector.items()):
            labels.update(selector)
    requirements: tuple[Requirement, ...] = ()
    owner = next((owner for owner in pod.metadata.owner_references if owner.controller), None)
    if owner is not None:
        if (owner.api_version, owner.kind) == ("v1", "ReplicationController"):
            controller = objects.of(ReplicationController).get(owner.name, namespace)
            labels.update((controller.spec.selector or {}) if controller else {})
        elif owner.api_version == "apps/v1" and owner.kind in ("ReplicaSet", "StatefulSet"):
            kind: type[ReplicaSet] | type[StatefulSet] = (
                ReplicaSet if owner.kind == "ReplicaSet" else StatefulSet
            )
            requirements = _owner_requirements(objects.of(kind).get(owner.name, namespace))
    return selector_from_map(labels).plus(requirements)


def _owner_requirements(owner: ReplicaSet | StatefulSet | None) -> tuple[Requirement, ...]:
    if owner is None:
        return ()
    try:
        return parse_selector(owner.spec.selector).requirements
    except SelectorError:
        return ()


def _with_label_keys(constraint: TopologySpreadConstraint, labels: dict[str, str]) -> Selector:
    selector = parse_selector(constraint.label_selector)
    if not constraint.match_label_keys:
        return selector
    return selector.plus(
        Requirement(key, IN, (labels[key],)) for key in constraint.match_label_keys if key in labels
    )


def as_constraint(constraint: TopologySpreadConstraint, selector: Selector) -> Constraint:
    return Constraint(
        max_skew=constraint.max_skew,
        topology_key=constraint.topology_key,
        selector=selector,
        min_domains=1 if constraint.min_domains is None else constraint.min_domains,
        honors_affinity=constraint.node_affinity_policy in (None, HONOR),
        honors_taints=constraint.node_taints_policy == HONOR,
    )
