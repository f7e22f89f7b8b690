"""What may change in a pod once it is there: little."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from moorage.cluster.base.errors import forbidden_value, invalid_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.differences import difference
from moorage.cluster.kinds.pods_shape import shown_part, shown_pod_spec
from moorage.cluster.kinds.pods_spec import MAX_INT32
from moorage.cluster.kinds.rules import Found, shown_map

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_MAY_CHANGE = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)


def check_spec_changes(new: Document, old: Document, found: Found) -> None:
    """The rules a change from one spec to another breaks."""
    if new == old:
        return
    for kind in ("containers", "initContainers"):
        if len(new.get(kind) or ()) != len(old.get(kind) or ()):
            detail = "pod updates may not add or remove containers"
            found.append(forbidden_value(f"spec.{kind}", detail))
            return
        for index, container in enumerate(new.get(kind) or ()):
            image = container.get("image", "")
            if not image:
                found.append(required(f"spec.{kind}[{index}].image"))
            if image != image.strip():
                detail = "must not have leading or trailing whitespace"
                found.append(invalid_value(f"spec.{kind}[{index}].image", image, detail))
    if not _check_deadline(new, old, found):
        return
    _check_tolerations(new, old, found)
    _check_gates(new, old, found)
    rest = deepcopy(new)
    _take_back_allowed(rest, old)
    if old.get("schedulingGates"):
        _take_back_narrowing(rest, old, found)
    if rest != old:
        changes = difference(shown_pod_spec(old), shown_pod_spec(rest))
        detail = f"pod updates may not change fields other than {_MAY_CHANGE}\n{changes}"
        found.append(forbidden_value("spec", detail))


def _check_deadline(new: Document, old: Document, found: Found) -> bool:
    """A pod may be given less time, not more. Says whether the rest can still be looked at."""
    path = "spec.activeDeadlineSeconds"
    seconds, before = new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds")
    if seconds is None:
        if before is not None:
            detail = "must not update from a positive integer to nil value"
            found.append(invalid_value(path, None, detail))
        return True
    if not 0 <= seconds <= MAX_INT32:
        found.append(invalid_value(path, seconds, f"must be between 0 and {MAX_INT32}, inclusive"))
        return False
    if before is not None and before < seconds:
        found.append(invalid_value(path, seconds, "must be less than or equal to previous value"))
        return False
    return True


def _check_tolerations(new: Document, old: Document, found: Found) -> None:
    def lasting(toleration: Document) -> Document:
        return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}

    now = [lasting(each) for each in new.get("tolerations", ())]
    if any(lasting(each) not in now for each in old.get("tolerations", ())):
        detail = "existing toleration can not be modified except its tolerationSeconds"
        found.append(forbidden_value("spec.tolerations", detail))


def _check_gates(new: Document, old: Document, found: Found) -> None:
    before = {gate.get("name") for gate in old.get("schedulingGates", ())}
    for index, gate in enumerate(new.get("schedulingGates", ())):
        name = gate.get("name")
        if name not in before:
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            found.append(forbidden_value(f"spec.schedulingGates[{index}].name", detail))


def _take_back_allowed(spec: Document, old: Document) -> None:
    for kind in ("containers", "initContainers"):
        for container, before in zip((spec.get(kind) or ()), (old.get(kind) or ()), strict=True):
            _take_back(container, before, "image")
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _take_back(spec, old, field)
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        _take_back(spec, old, "terminationGracePeriodSeconds")


def _take_back(part: Document, before: Document, field: str) -> None:
    if field in before:
        part[field] = before[field]
    else:
        part.pop(field, None)


def _take_back_narrowing(spec: Document, old: Document, found: Found) -> None:
    """While a pod is gated it may be kept off more nodes, but not let onto more."""
    selector, before = spec.get("nodeSelector", {}), old.get("nodeSelector", {})
    if selector != before:
        if any(selector.get(key) != value for key, value in before.items()):
            detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            found.append(invalid_value("spec.nodeSelector", shown_map(selector), detail))
        _take_back(spec, old, "nodeSelector")
    affinity, earlier = spec.get("affinity"), old.get("affinity")
    nodes = (affinity or {}).get("nodeAffinity")
    nodes_before = (earlier or {}).get("nodeAffinity")
    if nodes == nodes_before:
        return
    _check_node_affinity(nodes or {}, nodes_before or {}, found)
    if affinity is None:
        if nodes_before is not None:
            spec["affinity"] = {"nodeAffinity": nodes_before}
    elif earlier is None and affinity.keys() <= {"nodeAffinity"}:
        del spec["affinity"]
    else:
        _take_back(affinity, earlier or {}, "nodeAffinity")


def _check_node_affinity(new: Document, old: Document, found: Found) -> None:
    path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    before: list[Document] = old.get(_REQUIRED, {}).get("nodeSelectorTerms") or []
    terms: list[Document] = new.get(_REQUIRED, {}).get("nodeSelectorTerms") or []
    if before and len(before) != len(terms):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        found.append(
            invalid_value(path, [shown_part(term, "NodeSelectorTerm") for term in terms] or None, detail)
        )
        return
    for index, (term, earlier) in enumerate(zip(terms, before, strict=False)):
        if not _only_adds(term, earlier):
            detail = "only additions are allowed (no mutations or deletions)"
            found.append(invalid_value(f"{path}[{index}]", shown_part(term, "NodeSelectorTerm"), detail))


def _only_adds(term: Document, earlier: Document) -> bool:
    fields = ("matchExpressions", "matchFields")
    if not any(earlier.get(field) for field in fields):
        return not any(term.get(field) for field in fields)  # an empty term is for no node at all
    for field in fields:
        before: list[Any] = earlier.get(field, [])
        if term.get(field, [])[: len(before)] != before:
            return False
    return True
