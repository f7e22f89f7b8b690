"""The fields that cannot be changed through an address of an object, so that nobody manages them there."""

from __future__ import annotations

from functools import cache

from moorage.cluster.objects.merging.field_sets import NOTHING, FieldSet

_SPEC_ONLY = frozenset(
    {
        "CronJob",
        "DaemonSet",
        "HorizontalPodAutoscaler",
        "Ingress",
        "Job",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "ReplicaSet",
        "ReplicationController",
        "ResourceQuota",
        "Service",
        "StatefulSet",
    }
)
"""Kinds whose status address can change metadata. The others, and custom kinds, keep theirs."""

_OTHERS: dict[tuple[str, str], tuple[str, ...]] = {
    ("Pod", "status"): ("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    ("Deployment", "status"): ("spec", "metadata.labels"),
    ("CertificateSigningRequest", ""): ("spec", "status"),
    ("CertificateSigningRequest", "status"): ("spec", "status.conditions"),
    ("CertificateSigningRequest", "approval"): ("spec", "status.certificate"),
    ("Namespace", "finalize"): ("status",),
}


@cache
def reset_fields(kind: str, subresource: str) -> FieldSet:
    """What a kind keeps as it was. For a custom kind that has no status subresource, this is not meant."""
    if (kind, subresource) in _OTHERS:
        names = _OTHERS[kind, subresource]
    elif not subresource:
        names = ("status",)
    elif subresource != "status":
        return NOTHING
    elif kind in _SPEC_ONLY:
        names = ("spec",)
    else:
        names = ("metadata", "spec")
    fields = NOTHING
    for name in names:
        first, _, second = name.partition(".")
        fields |= FieldSet({f"f:{first}": {f"f:{second}": {}} if second else {}})
    return fields
