"""The status of pods: how it begins, and the rules of changing it."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Sequence

from moorage.cluster.base.errors import duplicate_value, forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.pods_amounts import quality_class
from moorage.cluster.kinds.rules import (
    Found,
    check_dns_subdomain,
    check_qualified_name,
    check_unchanged,
)
from moorage.cluster.schema.forms import ip_problems

_OWN_CONDITIONS = ("PodScheduled", "Ready", "Initialized")


def first_status(document: Document) -> Document:
    """That of a new pod."""
    spec = document["spec"]
    given = document.get("status") or {}
    status: Document = {
        "phase": "Pending",
        "qosClass": given.get("qosClass") or quality_class(spec),
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
    if not new.get("qosClass") and "qosClass" in old:
        new["qosClass"] = old["qosClass"]
    if not new.get("observedGeneration") and old.get("observedGeneration"):
        new["observedGeneration"] = old["observedGeneration"]
    known: dict[str, list[int]] = defaultdict(list)
    for condition in old.get("conditions", ()):
        known[condition.get("type", "")].append(condition.get("observedGeneration", 0))
    for condition in new.get("conditions", ()):
        generations = known[condition.get("type", "")]
        generation = generations.pop(0) if generations else 0
        if generation and not condition.get("observedGeneration"):
            condition["observedGeneration"] = generation


def check_status_changes(new: Document, old: Document, found: Found) -> None:
    spec, status, before = old.get("spec", {}), new.get("status", {}), old.get("status", {})
    for index, condition in enumerate(status.get("conditions", ())):
        path = f"status.conditions[{index}]"
        _check_generation(condition, path, found)
        kind = condition.get("type", "")
        if kind not in _OWN_CONDITIONS:
            check_qualified_name(kind, f"{path}.Type", found)
    _check_nomination(status, before, spec, found)
    _check_generation(status, "status", found)
    check_unchanged(status.get("qosClass", ""), before.get("qosClass", ""), "status.qosClass", found)
    for kind, containers in (
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", ""),
    ):
        if before.get(kind):
            _check_restarts(status.get(kind, ()), before[kind], spec, containers, f"status.{kind}", found)
    _check_claims(status, spec, found)
    _check_ips(status, before, "podIPs", found)
    _check_host_ips(status, before, found)


def _check_generation(part: Document, path: str, found: Found) -> None:
    generation = part.get("observedGeneration", 0)
    if generation < 0:
        detail = "must be a non-negative integer"
        found.append(invalid_value(f"{path}.observedGeneration", generation, detail))


def _check_nomination(status: Document, before: Document, spec: Document, found: Found) -> None:
    path = "status.nominatedNodeName"
    name = status.get("nominatedNodeName", "")
    if name and name != before.get("nominatedNodeName", ""):
        check_dns_subdomain(name, path, found)
        if spec.get("nodeName"):
            found.append(forbidden_value(path, "may not be set on pods that are already bound to a node"))


def _check_restarts(
    statuses: Sequence[Document],
    before: Sequence[Document],
    spec: Document,
    containers: str,
    path: str,
    found: Found,
) -> None:
    """A container that has ended for good stays ended. Ephemeral ones (no `containers`) never restart."""
    if containers and _all_could_restart(spec):
        return
    now = {each.get("name", ""): each for each in statuses}
    for index, earlier in enumerate(before):
        end = earlier.get("state", {}).get("terminated")
        current = now.get(earlier.get("name", ""))
        if end is None or current is None or "terminated" in current.get("state", {}):
            continue
        known = [each for each in (spec.get(containers) or ()) if each.get("name") == earlier.get("name")]
        if not known or not _should_restart(known[0], spec, end.get("exitCode", 0)):
            detail = "may not be transitioned to non-terminated state"
            found.append(forbidden_value(f"{path}[{index}].state", detail))


def _all_could_restart(spec: Document) -> bool:
    return any(
        rule.get("action") == "RestartAllContainers"
        for kind in ("containers", "initContainers")
        for container in (spec.get(kind) or ())
        for rule in container.get("restartPolicyRules", ())
    )


def _should_restart(container: Document, spec: Document, code: int) -> bool:
    policy = container.get("restartPolicy")
    if policy is not None:
        for rule in container.get("restartPolicyRules", ()):
            codes = rule.get("exitCodes", {})
            if (code in codes.get("values", ())) == (codes.get("operator") == "In"):
                return True
    else:
        policy = spec.get("restartPolicy", "Always")
    return policy == "Always" or (policy == "OnFailure" and code != 0)


def _check_claims(status: Document, spec: Document, found: Found) -> None:
    names = {claim.get("name", "") for claim in spec.get("resourceClaims", ())}
    seen: set[str] = set()
    for index, claim in enumerate(status.get("resourceClaimStatuses", ())):
        path = f"status.resourceClaimStatuses[{index}]"
        name = claim.get("name", "")
        if name not in names:
            detail = "must match the name of an entry in `spec.resourceClaims`"
            found.append(invalid_value(f"{path}.name", name, detail))
        if name in seen:
            found.append(duplicate_value(f"{path}.name", name))
        seen.add(name)
        if "resourceClaimName" in claim:
            check_dns_subdomain(claim["resourceClaimName"], f"{path}.resourceClaimName", found)


def _check_ips(status: Document, before: Document, field: str, found: Found) -> None:
    entries = status.get(field, ())
    if not entries:
        return
    known = [entry.get("ip", "") for entry in before.get(field, ())]
    texts = [entry.get("ip", "") for entry in entries]
    for index, text in enumerate(texts):
        if text not in known:
            for problem in ip_problems(text):
                found.append(invalid_value(f"status.{field}[{index}]", text, problem))
    if len(texts) > 1 and not _is_dual(texts):
        detail = "may specify no more than one IP for each IP family"
        shown = [{"IP": text} for text in texts]
        found.append(invalid_value(f"status.{field}", shown, detail))


def _check_host_ips(status: Document, before: Document, found: Found) -> None:
    entries = status.get("hostIPs")
    if entries and status.get("hostIP", "") != entries[0].get("ip", ""):
        detail = "must be equal to `hostIP`"
        found.append(invalid_value("status.hostIPs[0].ip", entries[0].get("ip", ""), detail))
    _check_ips(status, before, "hostIPs", found)


def _is_dual(texts: list[str]) -> bool:
    try:
        versions = [ipaddress.ip_address(text).version for text in texts]
    except ValueError:
        return False
    return sorted(versions) == [4, 6]
