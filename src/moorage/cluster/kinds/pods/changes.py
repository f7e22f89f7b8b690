"""How the status of a pod begins, and what may change in a pod once it is there: little."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds import addresses
from moorage.cluster.kinds.common import difference, items_of, part
from moorage.cluster.kinds.pods.resources import quality_class
from moorage.cluster.kinds.pods.spec import REQUIRED
from moorage.cluster.schema.checking import Around, check, check_change, check_form, relates
from moorage.cluster.schema.definitions import keep_field

# The status

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
    if len(texts) > 2 or (len(texts) == 2 and not addresses.is_dual_stack(texts)):
        text = "may specify no more than one IP for each IP family"
        yield errors.invalid_value(f"status.{field}", entries, text)


# The spec


_MAX_INT32 = 2**31 - 1
_MAY_CHANGE = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)


def spec_changes(new: Document, old: Document) -> Iterator[Cause]:
    """The rules a change from one spec to another breaks."""
    if new == old:
        return
    for kind in ("containers", "initContainers"):
        if len(new.get(kind) or ()) != len(old.get(kind) or ()):
            yield errors.forbidden_value(f"spec.{kind}", "pod updates may not add or remove containers")
            return
        for container, place in items_of(new, kind, "spec"):
            if not container.get("image"):
                yield errors.required(f"{place}.image")
            yield from check_form("unpadded", container.get("image", ""), f"{place}.image")
    deadline = _deadline(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))
    if deadline:
        yield errors.invalid_value("spec.activeDeadlineSeconds", new.get("activeDeadlineSeconds"), deadline)
        if "activeDeadlineSeconds" in new:
            return
    yield from _tolerations(new, old)
    yield from _gates(new, old)
    rest = deepcopy(new)
    _take_back_allowed(rest, old)
    if old.get("schedulingGates"):
        yield from _take_back_narrowing(rest, old)
    if rest != old:
        changes = difference(old, rest, sort=True)
        text = f"pod updates may not change fields other than {_MAY_CHANGE}\n{changes}"
        yield errors.forbidden_value("spec", text)


def _deadline(seconds: int | None, before: int | None) -> str:
    """A pod may be given less time, not more; says what is wrong."""
    if seconds is None:
        return "" if before is None else "must not update from a positive integer to nil value"
    if not 0 <= seconds <= _MAX_INT32:
        return f"must be between 0 and {_MAX_INT32}, inclusive"
    return "must be less than or equal to previous value" if before is not None and before < seconds else ""


def _tolerations(new: Document, old: Document) -> Iterator[Cause]:
    def lasting(spec: Document) -> list[Document]:
        tolerations = spec.get("tolerations") or ()
        return [{**each, "tolerationSeconds": None} for each in tolerations]

    now = lasting(new)
    if any(each not in now for each in lasting(old)):
        text = "existing toleration can not be modified except its tolerationSeconds"
        yield errors.forbidden_value("spec.tolerations", text)


def _gates(new: Document, old: Document) -> Iterator[Cause]:
    before = {gate.get("name") for gate in old.get("schedulingGates") or ()}
    for gate, place in items_of(new, "schedulingGates", "spec"):
        if gate.get("name") not in before:
            text = f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
            yield errors.forbidden_value(f"{place}.name", text)


def _take_back_allowed(spec: Document, old: Document) -> None:
    for kind in ("containers", "initContainers"):
        for container, before in zip(spec.get(kind) or (), old.get(kind) or (), strict=True):
            keep_field(container, before, "image")
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        keep_field(spec, old, field)
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        keep_field(spec, old, "terminationGracePeriodSeconds")


def _take_back_narrowing(spec: Document, old: Document) -> Iterator[Cause]:
    """While a pod is gated it may be kept off more nodes, but not let onto more."""
    selector, before = part(spec, "nodeSelector"), part(old, "nodeSelector")
    if any(selector.get(key) != value for key, value in before.items()):
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield errors.invalid_value("spec.nodeSelector", dict(sorted(selector.items())) or None, text)
    keep_field(spec, old, "nodeSelector")
    affinity, earlier = spec.get("affinity"), old.get("affinity")
    nodes, nodes_before = (affinity or {}).get("nodeAffinity"), (earlier or {}).get("nodeAffinity")
    if nodes == nodes_before:
        return
    yield from _node_affinity(nodes or {}, nodes_before or {})
    if affinity is None:
        spec["affinity"] = {"nodeAffinity": nodes_before}
    elif earlier is None and affinity.keys() <= {"nodeAffinity"}:
        del spec["affinity"]
    else:
        keep_field(affinity, earlier or {}, "nodeAffinity")


def _node_affinity(new: Document, old: Document) -> Iterator[Cause]:
    path = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    before: list[Document] = part(old, REQUIRED).get("nodeSelectorTerms") or []
    terms: list[Document] = part(new, REQUIRED).get("nodeSelectorTerms") or []
    if before and len(before) != len(terms):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield errors.invalid_value(path, terms or None, text)
        return
    for index, (term, earlier) in enumerate(zip(terms, before, strict=False)):
        if not _only_adds(term, earlier):
            text = "only additions are allowed (no mutations or deletions)"
            yield errors.invalid_value(f"{path}[{index}]", term, text)


def _only_adds(term: Document, earlier: Document) -> bool:
    fields = ("matchExpressions", "matchFields")
    if not any(earlier.get(field) for field in fields):
        return not any(term.get(field) for field in fields)  # an empty term is for no node at all
    for field in fields:
        before: list[Any] = earlier.get(field) or []
        if (term.get(field) or [])[: len(before)] != before:
            return False
    return True
