"""What objects take from ResourceQuotas, and which quotas are for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from moorage.api import quantities
from moorage.api.resources import is_native
from moorage.cluster.base.parts import part, records, text, value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.pods.resources import quality_class
from moorage.cluster.kinds.storage import CLASS_ANNOTATION
from moorage.cluster.objects.admission.limits import claim_requests
from moorage.cluster.schema.canonical import amount_text
from moorage.cluster.schema.forms import nanos

QUOTAS = "resourcequotas"
CLAIMS = "persistentvolumeclaims"
_PLAIN = ("configmaps", "replicationcontrollers", "resourcequotas", "secrets")
"""Counted by their names, without `count/`, as well."""
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_OF_PODS = {"pods", *_COMPUTE, *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _COMPUTE)}
_OF_SERVICES = {"services", "services.nodeports", "services.loadbalancers"}
_OF_CLAIMS = (CLAIMS, "requests.storage")
_OF_CLASS = ".storageclass.storage.k8s.io/"
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")
_AFFINITY_TERMS = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)


class Amount(NamedTuple):
    nanos: int
    is_binary: bool = False
    """Whether it is written in powers of two."""

    def plus(self, other: Amount) -> Amount:
        """The sum, written as the first amount that is not nothing."""
        return Amount(self.nanos + other.nanos, self.is_binary if self.nanos else other.is_binary)

    def minus(self, other: Amount) -> Amount:
        return Amount(self.nanos - other.nanos, self.is_binary)

    def __str__(self) -> str:
        return amount_text(self.nanos, "Ki" if self.is_binary else "") if self.nanos else "0"


Usage = dict[str, Amount]

NOTHING = Amount(0)
_ONE = Amount(quantities.NANOS)


def amount(quantity: str) -> Amount:
    return Amount(nanos(quantity), quantity.endswith("i"))


def add(total: Usage, more: Mapping[str, Amount]) -> None:
    for name, each in more.items():
        total[name] = total.get(name, NOTHING).plus(each)


# Which quotas are for which objects


def resources_of(hard: Iterable[str]) -> set[str]:
    """The resources whose objects take something from a quota for these names."""
    found = {name.removeprefix("count/") for name in hard if name.startswith("count/")}
    known = ("pods", "services", CLAIMS, *_PLAIN)
    return found | {resource for resource in known if any(is_of(resource, name) for name in hard)}


def is_of(resource: str, name: str) -> bool:
    """Whether an object of a resource can take something of this name."""
    if name == f"count/{resource}":
        return True
    if resource == "pods":
        is_extended = name.startswith("requests.") and not is_native(name)
        return name in _OF_PODS or name.startswith(_HUGE_PAGES) or is_extended
    if resource == "services":
        return name in _OF_SERVICES
    if resource == CLAIMS:
        return name in _OF_CLAIMS or name.endswith(tuple(f"{_OF_CLASS}{each}" for each in _OF_CLAIMS))
    return resource in _PLAIN and name == resource


def is_in_scope(quota: Document, resource: str, document: Document) -> bool:
    """Whether an object is one of those that the scopes of a quota are about."""
    spec = part(quota, "spec")
    scopes = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    scopes += records(spec, "scopeSelector", "matchExpressions")
    return all(_fits(scope, resource, document) for scope in scopes)


def _fits(scope: Document, resource: str, document: Document) -> bool:
    name = scope.get("scopeName")
    spec = part(document, "spec")
    if resource == CLAIMS and name == "VolumeAttributesClass":
        return _selects(scope, _attributes_classes(document))
    if resource != "pods":
        return False
    if name in ("Terminating", "NotTerminating"):
        return is_terminating(document) is (name == "Terminating")
    if name in ("BestEffort", "NotBestEffort"):
        return (quality_class(spec) == "BestEffort") is (name == "BestEffort")
    if name == "PriorityClass":
        return _selects(scope, {spec["priorityClassName"]} if spec.get("priorityClassName") else set())
    return name == "CrossNamespacePodAffinity" and _looks_into_other_namespaces(spec)


def is_terminating(pod: Document) -> bool:
    """Whether a pod runs only for so long."""
    seconds = value(pod, "spec", "activeDeadlineSeconds")
    return isinstance(seconds, int) and seconds >= 0


def _selects(scope: Document, found: set[str]) -> bool:
    operator, values = scope.get("operator"), scope.get("values") or ()
    if operator in ("Exists", "DoesNotExist"):
        return bool(found) is (operator == "Exists")
    if operator == "NotIn":
        return not found or any(each not in values for each in found)
    return operator == "In" and any(each in values for each in found)


def _attributes_classes(claim: Document) -> set[str]:
    names = (
        text(claim, "spec", "volumeAttributesClassName"),
        text(claim, "status", "currentVolumeAttributesClassName"),
        text(claim, "status", "modifyVolumeStatus", "targetVolumeAttributesClassName"),
    )
    return set(filter(None, names))


def _looks_into_other_namespaces(spec: Document) -> bool:
    terms = [
        term.get("podAffinityTerm", term)
        for kind in ("podAffinity", "podAntiAffinity")
        for field in _AFFINITY_TERMS
        for term in records(spec, "affinity", kind, field)
    ]
    return any(term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms)


# What an object takes


def usage_of(resource: str, document: Document) -> Usage:
    found: Usage = {f"count/{resource}": _ONE}
    if resource in _PLAIN:
        found[resource] = _ONE
    elif resource == "pods":
        if value(document, "status", "phase") not in ("Succeeded", "Failed"):
            found |= {"pods": _ONE, **_of_pod(part(document, "spec"))}
    elif resource == "services":
        found |= _of_service(part(document, "spec"))
    elif resource == CLAIMS:
        found |= _of_claim(document)
    return found


def _of_service(spec: Document) -> Usage:
    found = {"services": _ONE}
    kind, ports = spec.get("type"), records(spec, "ports")
    if kind == "LoadBalancer":
        found["services.loadbalancers"] = _ONE
        if spec.get("allocateLoadBalancerNodePorts") is False:
            ports = [port for port in ports if port.get("nodePort")]
    if kind in ("NodePort", "LoadBalancer"):
        found["services.nodeports"] = Amount(len(ports) * quantities.NANOS)
    return found


def _of_claim(claim: Document) -> Usage:
    found = {CLAIMS: _ONE}
    if (asked := claim_requests(claim).get("storage")) is not None:
        allocated = text(claim, "status", "allocatedResources", "storage", absent="0")
        size = amount(allocated if nanos(allocated) > nanos(asked) else asked)
        found["requests.storage"] = Amount(quantities.value(size.nanos) * quantities.NANOS, size.is_binary)
    annotations = part(claim["metadata"], "annotations")
    name = annotations.get(CLASS_ANNOTATION) or text(claim, "spec", "storageClassName")
    if name:
        found |= {f"{name}{_OF_CLASS}{each}": found[each] for each in _OF_CLAIMS if each in found}
    return found


def of_resources(requests: Mapping[str, Amount], limits: Mapping[str, Amount]) -> Usage:
    """What requests and limits are called in quotas."""
    found = {f"limits.{name}": limits[name] for name in _COMPUTE if name in limits}
    for name, each in requests.items():
        if name in _COMPUTE or name.startswith("hugepages-"):
            found[name] = found[f"requests.{name}"] = each
        elif not is_native(name):
            found[f"requests.{name}"] = each
    return found


def amounts_of(container: Document, kind: str) -> Usage:
    return {name: amount(each) for name, each in part(container, "resources", kind).items()}


def _of_pod(spec: Document) -> Usage:
    return of_resources(_total(spec, "requests"), _total(spec, "limits"))


def _total(spec: Document, kind: str) -> Usage:
    """The containers together, or the most that is needed before they run; sidecars run all the time."""
    total: Usage = {}
    for container in spec.get("containers") or ():
        add(total, amounts_of(container, kind))
    beside: Usage = {}
    before: Usage = {}
    for container in spec.get("initContainers") or ():
        amounts = amounts_of(container, kind)
        if container.get("restartPolicy") == "Always":
            add(total, amounts)
            add(beside, amounts)
            amounts = beside
        else:
            add(amounts, beside)
        _raise_to(before, amounts)
    _raise_to(total, before)
    for name, quantity in part(spec, "resources", kind).items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            total[name] = amount(quantity)
    overhead = {name: amount(each) for name, each in part(spec, "overhead").items()}
    add(
        total,
        overhead if kind == "requests" else {name: overhead[name] for name in overhead if name in total},
    )
    return total


def _raise_to(most: Usage, amounts: Mapping[str, Amount]) -> None:
    for name, each in amounts.items():
        if name not in most or each.nanos > most[name].nanos:
            most[name] = each
