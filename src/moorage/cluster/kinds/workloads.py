"""PodGroups and Workloads, served where the gate of their feature is on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from moorage.cluster.base.errors import Cause, duplicate_value, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy, WithStatus, items_of, part
from moorage.cluster.schema.checking import IMMUTABLE, Around, relates

_GATES = {
    "schedulingConstraints": "TopologyAwareWorkloadScheduling",
    "resourceClaims": "DRAWorkloadResourceClaims",
    "disruptionMode": "WorkloadAwarePreemption",
    "priorityClassName": "WorkloadAwarePreemption",
    "priority": "WorkloadAwarePreemption",
}
"""The fields of a group, and of a template of one, that are kept only where a further gate is on."""
_PACKAGE = "scheduling.v1alpha2"
_STATUSES = ("True", "False", "Unknown")


class PodGroupStrategy(WithStatus):
    type_name = f"{_PACKAGE}.PodGroup"

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        self._drop_disabled(document["spec"], {})

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        self._drop_disabled(new["spec"], part(old, "spec"))

    def _drop_disabled(self, spec: Document, old: Document) -> None:
        drop_disabled(spec, old, self.gates)
        spec.setdefault("disruptionMode", "Pod")

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return _changes(new["spec"], old["spec"])

    def validate_status_update(self, new: Document, old: Document) -> Iterator[Cause]:
        for condition, path in items_of(part(new, "status"), "conditions", "status"):
            if not condition.get("type"):
                yield required(f"{path}.type", "must be set")
            if condition.get("status") not in _STATUSES:
                yield unsupported_value(f"{path}.status", condition.get("status", ""), _STATUSES)
            if not condition.get("reason"):
                yield required(f"{path}.reason")
        names = {claim.get("name", "") for claim in part(new, "spec").get("resourceClaims") or ()}
        for told, path in items_of(part(new, "status"), "resourceClaimStatuses", "status"):
            if told.get("name", "") not in names:
                text = "must match the name of an entry in `spec.resourceClaims`"
                yield invalid_value(f"{path}.name", told.get("name", ""), text)


class WorkloadStrategy(KindStrategy):
    type_name = f"{_PACKAGE}.Workload"

    def prepare_create(self, document: Document) -> None:
        self._drop_disabled(document, {})

    def prepare_update(self, new: Document, old: Document) -> None:
        self._drop_disabled(new, old)

    def _drop_disabled(self, document: Document, old: Document) -> None:
        before = part(old, "spec").get("podGroupTemplates") or []
        for place, template in enumerate(part(document, "spec").get("podGroupTemplates") or ()):
            drop_disabled(template, before[place] if place < len(before) else {}, self.gates)

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return _changes(new["spec"], old["spec"])


def drop_disabled(spec: Document, old: Document, gates: frozenset[str]) -> None:
    """Takes out fields of features that are not on, unless they were there before."""
    for name, gate in _GATES.items():
        if gate not in gates and old.get(name) is None:
            spec.pop(name, None)


def _changes(new: Document, old: Document) -> Iterator[Cause]:
    """What is wanted of a group never changes."""
    for name in dict.fromkeys((*new, *old)):
        if new.get(name) != old.get(name):
            yield invalid_value(f"spec.{name}", None, IMMUTABLE)


@relates(f"{_PACKAGE}.PodGroupSchedulingPolicy")
def _one_policy(policy: Document, path: str, around: Around) -> Iterator[Cause]:
    return _one_of(policy, path, ("basic", "gang"))


@relates(f"{_PACKAGE}.PodGroupTemplateReference")
def _one_reference(reference: Document, path: str, around: Around) -> Iterator[Cause]:
    return _one_of(reference, path, ("workload",))


@relates(f"{_PACKAGE}.PodGroupResourceClaim")
def _one_source(claim: Document, path: str, around: Around) -> Iterator[Cause]:
    return _one_of(claim, path, ("resourceClaimName", "resourceClaimTemplateName"))


def _one_of(document: Document, path: str, names: tuple[str, ...]) -> Iterator[Cause]:
    given = [name for name in names if document.get(name) is not None]
    choices = ", ".join(f"`{name}`" for name in names)
    if not given:
        yield invalid_value(path, "", f"must specify one of: {choices}")
    elif len(given) > 1:
        yield invalid_value(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {choices}")


@relates(f"{_PACKAGE}.WorkloadSpec")
def _unique_templates(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    return _unique(spec, "podGroupTemplates", path)


@relates(f"{_PACKAGE}.PodGroupSpec")
def _unique_claims(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    return _unique(spec, "resourceClaims", path)


@relates(f"{_PACKAGE}.PodGroupTemplate")
def _unique_claims_of_template(template: Document, path: str, around: Around) -> Iterator[Cause]:
    return _unique(template, "resourceClaims", path)


def _unique(document: Document, name: str, path: str) -> Iterator[Cause]:
    seen = set()
    for item, place in items_of(document, name, path):
        if item.get("name") in seen:
            yield duplicate_value(place, item)
        seen.add(item.get("name"))


@relates("core.v1.PodSchedulingGroup")
def _named_group(group: Document, path: str, around: Around) -> Iterator[Cause]:
    if group.get("podGroupName") is None:
        yield invalid_value(f"{path}.podGroupName", None, "must specify one of: `podGroupName`")
