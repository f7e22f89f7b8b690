"""StatefulSets."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, unsupported_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.claims import claim_rules
from moorage.cluster.kinds.common import own_part, part
from moorage.cluster.kinds.pod_templates import check_lasting, check_selected, check_selector, check_template
from moorage.cluster.kinds.pods_defaults import default_claim_spec
from moorage.cluster.kinds.rules import Found, check_dns_label, check_nonnegative
from moorage.cluster.kinds.workloads_base import Workload
from moorage.cluster.kinds.workloads_rules import check_collisions, check_counts, check_parts, shown_strategy

_MAY_CHANGE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


class StatefulSetStrategy(Workload):
    type_name = "apps.v1.StatefulSet"
    first_status = {"replicas": 0, "availableReplicas": 0}

    def default_spec(self, spec: Document) -> None:
        spec.setdefault("podManagementPolicy", "OrderedReady")
        strategy = own_part(spec, "updateStrategy")
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            strategy.setdefault("rollingUpdate", {})
        if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
            strategy["rollingUpdate"].setdefault("partition", 0)
        policy = own_part(spec, "persistentVolumeClaimRetentionPolicy")
        policy.setdefault("whenDeleted", "Retain")
        policy.setdefault("whenScaled", "Retain")
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        for claim in spec.get("volumeClaimTemplates", ()):
            claim["kind"] = "PersistentVolumeClaim"
            claim["apiVersion"] = "v1"
            default_claim_spec(own_part(claim, "spec"))
            own_part(claim, "status").setdefault("phase", "Pending")

    def prepare_create(self, document: Document) -> None:
        super().prepare_create(document)
        _drop_unavailable(document["spec"])

    def prepare_update(self, new: Document, old: Document) -> None:
        super().prepare_update(new, old)
        _drop_unavailable(new["spec"])

    def validate(self, document: Document) -> Iterable[Cause]:
        found: Found = []
        spec = document["spec"]
        _check_policies(spec, found)
        for index, claim in enumerate(spec.get("volumeClaimTemplates", ())):
            found.extend(claim_rules(f"spec.volumeClaimTemplates[{index}].spec", part(claim, "spec")))
        check_nonnegative(spec.get("replicas"), "spec.replicas", found)
        check_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds", found)
        check_nonnegative(part(spec, "ordinals").get("start"), "spec.ordinals.start", found)
        if spec.get("serviceName"):
            check_dns_label(spec["serviceName"], "spec.serviceName", found)
        if check_selector(spec, "statefulset", "", found):
            check_selected(spec, found)
            check_template(_with_claims(spec), "spec.template", found)
        check_lasting(spec["template"], "StatefulSet", "spec.template", found)
        return found

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        after, before = (
            {name: value for name, value in document["spec"].items() if name not in _MAY_CHANGE}
            for document in (new, old)
        )
        if after == before:
            return []
        listed = ", ".join(f"'{name}'" for name in _MAY_CHANGE[:-1])
        detail = (
            f"updates to statefulset spec for fields other than {listed} and '{_MAY_CHANGE[-1]}' "
            "are forbidden"
        )
        return [forbidden_value("spec", detail)]

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        found: Found = []
        status = part(new, "status")
        parts = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
        check_counts(status, ("replicas", *parts, "observedGeneration", "collisionCount"), found)
        check_parts(status, parts, found, ready="status.readyReplicas")
        check_collisions(status, part(old, "status"), found)
        return found

    def warnings(self, document: Document) -> list[str]:
        found = super().warnings(document)
        if document["spec"].get("revisionHistoryLimit", 0) < 0:
            found.append(
                "spec.revisionHistoryLimit: a negative value retains all historical revisions; "
                "a value >= 0 is recommended"
            )
        return found


def _drop_unavailable(spec: Document) -> None:
    """How many pods may be down at once is a feature that is not on in this version of Kubernetes."""
    part(part(spec, "updateStrategy"), "rollingUpdate").pop("maxUnavailable", None)


def _check_policies(spec: Document, found: Found) -> None:
    management = spec.get("podManagementPolicy", "")
    if not management:
        found.append(required("spec.podManagementPolicy"))
    elif management not in ("OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        found.append(invalid_value("spec.podManagementPolicy", management, detail))
    strategy = part(spec, "updateStrategy")
    kind, rolling = strategy.get("type", ""), strategy.get("rollingUpdate")
    numbers = {"Partition": ("partition", 0), "MaxUnavailable": ("maxUnavailable", None)}
    shown = shown_strategy(strategy, numbers)
    if kind == "OnDelete":
        if rolling is not None:
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            found.append(invalid_value("spec.updateStrategy.rollingUpdate", shown["RollingUpdate"], detail))
    elif kind == "RollingUpdate":
        partition = (rolling or {}).get("partition")
        check_nonnegative(partition, "spec.updateStrategy.rollingUpdate.partition", found)
    else:
        detail = "must be 'RollingUpdate' or 'OnDelete'"
        found.append(invalid_value("spec.updateStrategy", shown, detail))
    retention = part(spec, "persistentVolumeClaimRetentionPolicy")
    for field in ("whenDeleted", "whenScaled"):
        policy = retention.get(field, "")
        if policy not in ("Retain", "Delete"):
            path = f"spec.persistentVolumeClaimRetentionPolicy.{field}"
            found.append(unsupported_value(path, policy, ("Retain", "Delete")))


def _with_claims(spec: Document) -> Document:
    """The template as its pods will be: with a volume for each claim and with names of their own."""
    template = spec["template"]
    pod = {name: value for name, value in template["spec"].items() if name not in ("hostname", "subdomain")}
    names = [part(claim, "metadata").get("name", "") for claim in spec.get("volumeClaimTemplates", ())]
    if names:
        claimed = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)
        ]
        others = [volume for volume in pod.get("volumes", ()) if volume.get("name", "") not in names]
        pod["volumes"] = [*claimed, *others]
    return {**template, "spec": pod}
