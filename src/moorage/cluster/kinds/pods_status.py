"""The status of pods: how it begins, and what relates its fields and those of the pod."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import items_of, part
from moorage.cluster.kinds.pods_resources import quality_class
from moorage.cluster.schema.checking import Around, check, check_change, check_form, relates

_OWN_CONDITIONS = ("PodScheduled", "Ready", "Initialized")


def first_status(document: Document) -> Document:
    """That of a new pod."""
    spec = document["spec"]
    status: Document = {
        "phase": "Pending",
        "qosClass": part(document, "status").get("qosClass") or quality_class(spec),
    }
    if spec.get("schedulingGates"):
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": document["metadata"].get("creationTimestamp"),
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }
        status["conditions"] = [condition]
    return status


def default_status(status: Document) -> None:
    """The old field for one IP and the new one for several say the same."""
    single, several = status.get("podIP"), status.get("podIPs")
    if single:
        if not several or several[0].get("ip") != single:
            status["podIPs"] = [{"ip": single}]
    elif several and several[0].get("ip"):
        status["podIP"] = several[0]["ip"]


def keep_known(new: Document, old: Document) -> None:
    """Keeps what a status that does not know of it would take away."""
    for name in ("qosClass", "observedGeneration"):
        if not new.get(name) and old.get(name):
            new[name] = old[name]
    known: dict[str, list[int]] = defaultdict(list)
    for condition in old.get("conditions") or ():
        known[condition.get("type", "")].append(condition.get("observedGeneration", 0))
    for condition in new.get("conditions") or ():
        generations = known[condition.get("type", "")]
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def status_changes(new: Document, old: Document) -> Iterator[Cause]:
    """The rules that a new status breaks."""
    spec, status, before = part(old, "spec"), part(new, "status"), part(old, "status")
    yield from check("core.v1.PodStatus", status, "status")
    yield from check_change("core.v1.PodStatus", status, before, "status")
    yield from _nomination(status, before, spec)
    yield from _claims(status, spec)
    yield from _ended(status, before, spec, "containers", "containerStatuses")
    yield from _ended(status, before, spec, "initContainers", "initContainerStatuses")
    yield from _ended(status, before, spec, "", "ephemeralContainerStatuses")
    for field in ("podIPs", "hostIPs"):
        yield from _addresses(status, before, field)


@relates("core.v1.PodCondition")
def _condition(condition: Document, path: str, around: Around) -> Iterator[Cause]:
    kind = condition.get("type", "")
    if kind not in _OWN_CONDITIONS:
        yield from check_form("qualified-name", kind, f"{path}.Type")


@relates("core.v1.PodStatus")
def _host_ips(status: Document, path: str, around: Around) -> Iterator[Cause]:
    for entry in (status.get("hostIPs") or ())[:1]:
        if status.get("hostIP", "") != entry.get("ip", ""):
            yield errors.invalid_value(
                f"{path}.hostIPs[0].ip", entry.get("ip", ""), "must be equal to `hostIP`"
            )


def _nomination(status: Document, before: Document, spec: Document) -> Iterator[Cause]:
    path, name = "status.nominatedNodeName", status.get("nominatedNodeName", "")
    if name and name != before.get("nominatedNodeName", ""):
        yield from check_form("dns-subdomain", name, path)
        if spec.get("nodeName"):
            yield errors.forbidden_value(path, "may not be set on pods that are already bound to a node")


def _claims(status: Document, spec: Document) -> Iterator[Cause]:
    names = {claim.get("name", "") for claim in spec.get("resourceClaims") or ()}
    for claim, place in items_of(status, "resourceClaimStatuses", "status"):
        if claim.get("name", "") not in names:
            text = "must match the name of an entry in `spec.resourceClaims`"
            yield errors.invalid_value(f"{place}.name", claim.get("name", ""), text)


def _ended(
    status: Document, before: Document, spec: Document, containers: str, statuses: str
) -> Iterator[Cause]:
    """A container that has ended for good stays ended. Ephemeral ones (no `containers`) never restart."""
    if containers and _all_could_restart(spec):
        return
    now = {each.get("name", ""): each for each in status.get(statuses) or ()}
    known = {each.get("name"): each for each in reversed(spec.get(containers) or ())}
    for earlier, place in items_of(before, statuses, "status"):
        end = part(earlier, "state").get("terminated")
        current = now.get(earlier.get("name", ""))
        if end is None or current is None or "terminated" in part(current, "state"):
            continue
        container = known.get(earlier.get("name"))
        if container is None or not _should_restart(container, spec, end.get("exitCode", 0)):
            yield errors.forbidden_value(f"{place}.state", "may not be transitioned to non-terminated state")


def _all_could_restart(spec: Document) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for kind in ("containers", "initContainers")
        for container in spec.get(kind) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _should_restart(container: Document, spec: Document, code: int) -> bool:
    policy = container.get("restartPolicy")
    if policy is None:
        policy = spec.get("restartPolicy", "Always")
    else:
        for rule in container.get("restartPolicyRules") or ():
            codes = part(rule, "exitCodes")
            if (code in (codes.get("values") or ())) == (codes.get("operator") == "In"):
                return True
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _addresses(status: Document, before: Document, field: str) -> Iterator[Cause]:
    entries = status.get(field) or []
    known = [entry.get("ip", "") for entry in before.get(field) or ()]
    texts = [entry.get("ip", "") for entry in entries]
    for index, text in enumerate(texts):
        if text not in known:
            yield from check_form("ip", text, f"status.{field}[{index}]")
    if len(texts) > 1 and not _is_dual(texts):
        text = "may specify no more than one IP for each IP family"
        yield errors.invalid_value(f"status.{field}", entries, text)


def _is_dual(texts: list[str]) -> bool:
    try:
        versions = [ipaddress.ip_address(text).version for text in texts]
    except ValueError:
        return False
    return sorted(versions) == [4, 6]
