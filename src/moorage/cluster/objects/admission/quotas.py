"""ResourceQuotas: how many objects a namespace may have, and how much its pods may ask for together.

What is used is counted when something is created. Quotas with scopes are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import part
from moorage.cluster.objects.admission.attempt import Attempt
from moorage.cluster.objects.admission.limits import claim_requests, containers_of
from moorage.cluster.schema.canonical import quantity as canonical
from moorage.cluster.schema.forms import nanos

_COUNTED = (
    "configmaps",
    "persistentvolumeclaims",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_EXPLICIT = {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
_ONE = nanos("1")


def admit_quota(attempt: Attempt) -> None:
    for stored in attempt.store.objects("resourcequotas", attempt.namespace):
        spec = part(stored.document, "spec")
        if not spec.get("scopes") and not spec.get("scopeSelector"):
            _admit(attempt, stored.name, part(spec, "hard"))


def _admit(attempt: Attempt, quota: str, hard: Document) -> None:
    resource, document = attempt.definition.storage, attempt.document
    if resource == "pods":
        _check_explicit(attempt, quota, hard)
    asked = _usage(resource, document)
    relevant = [name for name in sorted(hard) if asked.get(name)]
    if not relevant:
        return
    used = dict.fromkeys(relevant, 0)
    for stored in attempt.store.iterate(resource, attempt.namespace):
        for name, amount in _usage(resource, stored.document).items():
            if name in used:
                used[name] += amount
    over = [name for name in relevant if used[name] + asked[name] > nanos(hard[name])]
    if over:
        raise attempt.forbidden(
            f"exceeded quota: {quota}, requested: {_listed(over, asked)}, used: {_listed(over, used)}, "
            f"limited: {','.join(f'{name}={hard[name]}' for name in over)}"
        )


def _check_explicit(attempt: Attempt, quota: str, hard: Document) -> None:
    """Where processors or memory are limited, containers have to say what they need."""
    spec = attempt.document["spec"]
    missing: dict[str, set[str]] = {}
    for _, container in containers_of(spec):
        given = _amounts((container,))
        for name in _EXPLICIT & hard.keys() - given.keys():
            missing.setdefault(name, set()).add(container.get("name", ""))
    if missing and not spec.get("resources"):
        listed = "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
        raise attempt.forbidden(f"failed quota: {quota}: must specify {listed}")


def _usage(resource: str, document: Document) -> dict[str, int]:
    """What an object takes from quotas, in nanos."""
    found = {f"count/{resource}": _ONE}
    if resource in _COUNTED:
        found[resource] = _ONE
    if resource == "pods":
        if part(document, "status").get("phase") in ("Succeeded", "Failed"):
            return found
        found["pods"] = _ONE
        found |= _pod_amounts(document["spec"])
    elif resource == "services":
        kind = part(document, "spec").get("type")
        if kind in ("NodePort", "LoadBalancer"):
            found["services.nodeports"] = _ONE * len(part(document, "spec").get("ports") or ())
        if kind == "LoadBalancer":
            found["services.loadbalancers"] = _ONE
    elif resource == "persistentvolumeclaims":
        found["requests.storage"] = nanos(claim_requests(document).get("storage", "0"))
    return found


def _pod_amounts(spec: Document) -> dict[str, int]:
    """The containers together, or the greatest of those that run before them."""
    total = _amounts(spec.get("containers") or ())
    for container in spec.get("initContainers") or ():
        for name, amount in _amounts((container,)).items():
            total[name] = max(total.get(name, 0), amount)
    for name, quantity in part(spec, "overhead").items():
        for key in (name, f"requests.{name}"):
            total[key] = total.get(key, 0) + nanos(quantity)
    return total


def _amounts(containers: Iterable[Document]) -> dict[str, int]:
    total: dict[str, int] = {}
    for container in containers:
        resources = part(container, "resources")
        for kind in ("requests", "limits"):
            for name, quantity in part(resources, kind).items():
                plain = (name,) if kind == "requests" and name in _COMPUTE else ()
                for key in (f"{kind}.{name}", *plain):
                    total[key] = total.get(key, 0) + nanos(quantity)
    return total


def _listed(names: list[str], amounts: dict[str, int]) -> str:
    return ",".join(f"{name}={_text(name, amounts[name])}" for name in names)


def _text(name: str, amount: int) -> str:
    whole, rest = divmod(amount, 1024 * _ONE)
    if name.endswith(("memory", "storage")) and not rest:
        return canonical(f"{whole}Ki")
    return canonical(f"{amount}n")
