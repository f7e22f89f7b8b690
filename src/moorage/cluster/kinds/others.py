"""Kinds that need little beyond the rules of their types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import KindStrategy, WithStatus, own_part, part, shown_inside
from moorage.cluster.kinds.metadata import finalizer_rules
from moorage.cluster.schema.checking import Around, check, check_form, relates
from moorage.cluster.schema.definitions import keep_field, keep_status

# ServiceAccounts


class ServiceAccountStrategy(KindStrategy):
    type_name = "core.v1.ServiceAccount"

    def prepare_create(self, document: Document) -> None:
        """Of the secrets an account refers to, nothing but the name counts."""
        if document.get("secrets"):
            document["secrets"] = [
                {"name": secret["name"]} if secret.get("name") else {} for secret in document["secrets"]
            ]

    def prepare_update(self, new: Document, old: Document) -> None:
        self.prepare_create(new)


# Leases


class LeaseStrategy(KindStrategy):
    type_name = "coordination.v1.Lease"
    qualified_finalizers = False

    def prepare_create(self, document: Document) -> None:
        spec = own_part(document, "spec")
        spec.pop("strategy", None)
        spec.pop("preferredHolder", None)

    def prepare_update(self, new: Document, old: Document) -> None:
        self.prepare_create(new)


# PodDisruptionBudgets

_SHOWN = ("MinAvailable", "Selector", "MaxUnavailable", "UnhealthyPodEvictionPolicy")


class PodDisruptionBudgetStrategy(WithStatus):
    type_name = "policy.v1.PodDisruptionBudget"
    qualified_finalizers = False
    first_status = dict.fromkeys(
        ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"), 0
    )

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return check("policy.v1.PodDisruptionBudgetStatus", new.get("status"), "status")


@relates("policy.v1.PodDisruptionBudgetSpec")
def _one_bound(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if "minAvailable" in spec and "maxUnavailable" in spec:
        shown = shown_inside(spec, *_SHOWN)
        yield invalid_value(path, shown, "minAvailable and maxUnavailable cannot be both set")


# PriorityClasses

HIGHEST_FOR_USERS = 1_000_000_000
SYSTEM_PREFIX = "system-"
SYSTEM_CLASSES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


class PriorityClassStrategy(KindStrategy):
    type_name = "scheduling.v1.PriorityClass"

    def prepare_create(self, document: Document) -> None:
        """What counts cannot change, so there is only one generation."""
        document["metadata"]["generation"] = 1


@relates("scheduling.v1.PriorityClass")
def _reserved(document: Document, path: str, around: Around) -> Iterator[Cause]:
    name, value = document["metadata"].get("name", ""), document.get("value", 0)
    if name.startswith(SYSTEM_PREFIX):
        problem = _system_problem(name, value, document.get("globalDefault", False))
        if problem:
            text = "priority class names with 'system-' prefix are reserved for system use only."
            yield forbidden_value("metadata.name", f"{text} error: {problem}")
    elif value > HIGHEST_FOR_USERS:
        text = f"maximum allowed value of a user defined priority is {HIGHEST_FOR_USERS}"
        yield forbidden_value("value", text)


def _system_problem(name: str, value: int, global_default: bool) -> str:
    if name not in SYSTEM_CLASSES:
        return f"{name} is not a known system priority class"
    if value != SYSTEM_CLASSES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if global_default else ""


# Endpoints and EndpointSlices


class EndpointsStrategy(KindStrategy):
    type_name = "core.v1.Endpoints"
    deprecation = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"


@relates("core.v1.EndpointSubset")
def _subset(subset: Document, path: str, around: Around) -> Iterator[Cause]:
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        yield errors.required(path, "must specify `addresses` or `notReadyAddresses`")
    ports = subset.get("ports") or ()
    for index, port in enumerate(ports):
        if len(ports) > 1 and not port.get("name"):
            yield errors.required(f"{path}.ports[{index}].name")


@relates("core.v1.EndpointAddress")
def _reachable(address: Document, path: str, around: Around) -> Iterator[Cause]:
    return addresses.endpoint_ip(f"{path}.ip", address.get("ip", ""))


@relates("discovery.v1.Endpoint")
def _addresses(endpoint: Document, path: str, around: Around) -> Iterator[Cause]:
    kind = around["discovery.v1.EndpointSlice"].get("addressType", "")
    for index, address in enumerate(endpoint.get("addresses") or ()):
        place = f"{path}.addresses[{index}]"
        if kind == "FQDN":
            yield from check_form("dns-subdomain", address.removesuffix("."), place)
        elif kind in ("IPv4", "IPv6"):
            problems = check_form("ip", address, place)
            yield from problems
            if not problems and addresses.version(address) != kind:
                yield errors.invalid_value(f"{path}.addresses", address, f"must be an {kind} address")
            if not problems:
                yield from addresses.endpoint_ip(place, address)


# Roles and their bindings

GROUP = "rbac.authorization.k8s.io"

_BOTH = "rules cannot apply to both regular resources and non-resource URLs"


@relates("rbac.v1.PolicyRule")
def _either_paths_or_resources(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    paths = rule.get("nonResourceURLs")
    if paths:
        if "rbac.v1.Role" in around:
            text = "namespaced rules cannot apply to non-resource URLs"
            yield errors.invalid_value(f"{path}.nonResourceURLs", paths, text)
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            yield errors.invalid_value(f"{path}.nonResourceURLs", paths, _BOTH)
        return
    for name, what in (("apiGroups", "api group"), ("resources", "resource")):
        if not rule.get(name):
            yield errors.required(f"{path}.{name}", f"resource rules must supply at least one {what}")


@relates("rbac.v1.AggregationRule")
def _selectors(rule: Document, path: str, around: Around) -> Iterator[Cause]:
    for index, selector in enumerate(rule.get("clusterRoleSelectors") or ()):
        place = f"{path}.clusterRoleSelectors[{index}]"
        problems = check("meta.v1.LabelSelector", selector, place)
        yield from problems
        if problems:
            yield errors.invalid_value(place, None, "invalid label selector.")


class BindingStrategy(KindStrategy):
    """A RoleBinding or ClusterRoleBinding."""

    def default(self, document: Document) -> None:
        super().default(document)
        for subject in document.get("subjects") or ():
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = GROUP


@relates("rbac.v1.RoleRef")
def _kind_of_role(role: Document, path: str, around: Around) -> Iterator[Cause]:
    kinds = ("ClusterRole",) if "rbac.v1.ClusterRoleBinding" in around else ("Role", "ClusterRole")
    if role.get("kind") not in kinds:
        yield errors.unsupported_value(f"{path}.kind", role.get("kind", ""), kinds)


@relates("rbac.v1.Subject")
def _subject(subject: Document, path: str, around: Around) -> Iterator[Cause]:
    kind, name, group = subject.get("kind", ""), subject.get("name", ""), subject.get("apiGroup", "")
    if kind == "ServiceAccount":
        if name:
            yield from check_form("dns-subdomain", name, f"{path}.name")
        if group:
            yield errors.unsupported_value(f"{path}.apiGroup", group, ("",))
        if "rbac.v1.ClusterRoleBinding" in around and not subject.get("namespace"):
            yield errors.required(f"{path}.namespace")
    elif kind in ("User", "Group") and group != GROUP:
        yield errors.unsupported_value(f"{path}.apiGroup", group, (GROUP,))


# Namespaces

NAME_LABEL = "kubernetes.io/metadata.name"
FINALIZER = "kubernetes"


class NamespaceStrategy(WithStatus):
    type_name = "core.v1.Namespace"

    first_status = {"phase": "Active"}

    def default(self, document: Document) -> None:
        _label(document)
        status = document.get("status")
        if status is not None and not status.get("phase"):
            document["status"] = {**status, "phase": "Active"}

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        spec = own_part(document, "spec")
        finalizers: list[str] = spec.get("finalizers") or []
        if FINALIZER not in finalizers:
            spec["finalizers"] = [*finalizers, FINALIZER]
        _label(document)

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)
        keep_field(own_part(new, "spec"), part(old, "spec"), "finalizers")
        _label(new)

    def prepare_finalize(self, new: Document, old: Document) -> None:
        """Keeps what an update of the `finalize` subresource cannot change."""
        keep_status(new, old)

    def validate(self, document: Document) -> Iterator[Cause]:
        for finalizer in part(document, "spec").get("finalizers") or ():
            yield from _finalizer("spec.finalizers", finalizer)

    def validate_finalize(self, new: Document) -> Iterator[Cause]:
        for index, finalizer in enumerate(part(new, "spec").get("finalizers") or ()):
            yield from _finalizer(f"spec.finalizers[{index}]", finalizer)

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        phase = part(new, "status").get("phase", "")
        if new["metadata"].get("deletionTimestamp"):
            if phase != "Terminating":
                text = "may only be 'Terminating' if `deletionTimestamp` is not empty"
                yield invalid_value("status.Phase", phase, text)
        elif phase != "Active":
            yield invalid_value("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")


def _label(document: Document) -> None:
    metadata = document["metadata"]
    name = metadata.get("name")
    if name and (metadata.get("labels") or {}).get(NAME_LABEL) != name:
        metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: name}


def _finalizer(field: str, name: str) -> Iterator[Cause]:
    yield from check_form("qualified-name", name, field)
    yield from finalizer_rules(name, field)
