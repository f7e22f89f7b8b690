"""ResourceQuotas: how much all objects of a namespace may take together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from moorage.cluster.base.errors import Refusal, forbidden
from moorage.cluster.base.parts import part
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.objects.admission import usage
from moorage.cluster.objects.admission.attempt import UPDATE, Attempt
from moorage.cluster.objects.admission.limits import containers_of
from moorage.cluster.objects.admission.usage import CLAIMS, QUOTAS, Amount, Usage

_EXPLICIT = {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
_UNCOUNTED = ("events", "events.events.k8s.io")


class _Charge(NamedTuple):
    quota: Stored
    asked: Usage
    """What the object takes of this quota."""


def charge(attempt: Attempt, *, dry_run: bool) -> None:
    """Has an object that is about to be written take its share of the quotas of its namespace.

    They are as their status says, which is kept up to date by a controller; a quota that it has not yet seen
    limits nothing. Raises a Refusal if one of them does not have enough left.
    """
    if not attempt.namespace or attempt.definition.storage in _UNCOUNTED:
        return
    quotas = [each for each in attempt.store.iterate(QUOTAS, attempt.namespace) if part(each.status, "hard")]
    if not quotas or not _counts(attempt):
        return
    resource = attempt.definition.storage
    charges = []
    for quota in sorted(quotas, key=lambda each: each.name):
        names = [name for name in part(quota.status, "hard") if usage.is_of(resource, name)]
        if names and usage.is_in_scope(quota.document, resource, attempt.document):
            _check_explicit(attempt, quota, names)
            charges.append(_Charge(quota, _asked(attempt, quota, names)))
    for each in charges:
        _check(attempt, each)
    if not dry_run:
        for each in charges:
            _take(attempt, each)


def _counts(attempt: Attempt) -> bool:
    """Whether a write can change what is used."""
    if attempt.operation != UPDATE:
        return True
    if attempt.definition.storage == "pods":
        return usage.is_terminating(attempt.document) != usage.is_terminating(attempt.old or {})
    return attempt.definition.storage in ("services", CLAIMS)


def _asked(attempt: Attempt, quota: Stored, names: Iterable[str]) -> Usage:
    resource, old = attempt.definition.storage, attempt.old
    found = usage.usage_of(resource, attempt.document)
    if old is not None and usage.is_in_scope(quota.document, resource, old):
        before = usage.usage_of(resource, old)
        found = {name: each.minus(before.get(name, usage.NOTHING)) for name, each in found.items()}
    return {name: found[name] for name in names if name in found and found[name].nanos > 0}


def _check(attempt: Attempt, charge: _Charge) -> None:
    status = charge.quota.status
    hard, used = _amounts(status, "hard"), _amounts(status, "used")
    over = [
        name
        for name in sorted(charge.asked)
        if used.get(name, usage.NOTHING).nanos + charge.asked[name].nanos > hard[name].nanos
    ]
    if over:
        raise _refusal(
            attempt,
            f"exceeded quota: {charge.quota.name}, requested: {_listed(over, charge.asked)}, "
            f"used: {_listed(over, used)}, limited: {_listed(over, part(status, 'hard'))}",
        )


def _take(attempt: Attempt, charge: _Charge) -> None:
    current = attempt.store.get(QUOTAS, *charge.quota.key)
    if current is None or not charge.asked:
        return
    used = _amounts(current.status, "used")
    usage.add(used, charge.asked)
    texts = {name: str(each) for name, each in used.items()}
    status = {**current.status, "used": {**part(current.status, "used"), **texts}}
    attempt.store.update(QUOTAS, current, {**current.document, "status": status})


def _check_explicit(attempt: Attempt, quota: Stored, names: list[str]) -> None:
    """Where processors or memory are limited, containers have to say what they need."""
    spec: Document = part(attempt.document, "spec")
    required = _EXPLICIT.intersection(names) if attempt.definition.storage == "pods" else set()
    missing: dict[str, set[str]] = {}
    for _, container in containers_of(spec) if required else ():
        given = usage.of_resources(*(usage.amounts_of(container, kind) for kind in ("requests", "limits")))
        for name in required - given.keys():
            missing.setdefault(name, set()).add(container.get("name", ""))
    if missing and not spec.get("resources"):
        lacking = "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))
        raise _refusal(attempt, f"failed quota: {quota.name}: must specify {lacking}")
    unknown = [name for name in sorted(names) if name not in part(quota.status, "used")]
    if unknown:
        all_names = ",".join(sorted(names))
        raise _refusal(attempt, f"status unknown for quota: {quota.name}, resources: {all_names}")


def _refusal(attempt: Attempt, why: str) -> Refusal:
    """By now an object has its name, also where only the beginning of it was asked for."""
    return forbidden(attempt.definition.name, attempt.document["metadata"]["name"], why)


def _amounts(status: Document, name: str) -> Usage:
    return {resource: usage.amount(each) for resource, each in part(status, name).items()}


def _listed(names: list[str], amounts: Mapping[str, Amount | str]) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in names)
