"""What may change in a pod once it is there: little."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import items_of, part
from moorage.cluster.kinds.differences import difference
from moorage.cluster.kinds.pods_spec import REQUIRED
from moorage.cluster.schema.checking import check_form

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
            _take_back(container, before, "image")
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _take_back(spec, old, field)
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        _take_back(spec, old, "terminationGracePeriodSeconds")


def _take_back(document: Document, before: Document, field: str) -> None:
    if field in before:
        document[field] = before[field]
    else:
        document.pop(field, None)


def _take_back_narrowing(spec: Document, old: Document) -> Iterator[Cause]:
    """While a pod is gated it may be kept off more nodes, but not let onto more."""
    selector, before = part(spec, "nodeSelector"), part(old, "nodeSelector")
    if any(selector.get(key) != value for key, value in before.items()):
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield errors.invalid_value("spec.nodeSelector", dict(sorted(selector.items())) or None, text)
    _take_back(spec, old, "nodeSelector")
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
        _take_back(affinity, earlier or {}, "nodeAffinity")


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
