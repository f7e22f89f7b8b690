"""The custom resources of gangs and quotas, as scheduler-plugins defines them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from moorage.api.kinds import KINDS
from moorage.api.meta import Object, PrinterColumn

GROUP = "scheduling.x-k8s.io"
GROUP_LABEL = f"{GROUP}/pod-group"
"""The label by which a pod names its PodGroup, which lives in the pod's namespace."""

_AGE = PrinterColumn("Age", "date", ".metadata.creationTimestamp")

ResourceList = dict[str, str | int]
"""Amounts by the name of the resource, as in requests of containers."""


class PodGroupSpec(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    min_member: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """So many members run, or none."""
    min_resources: ResourceList | None = None
    """What has to be free in the whole cluster before the group is tried."""
    schedule_timeout_seconds: int | None = None
    """How long members wait for one another; Moorage places them in one step, and nobody waits."""


class PodGroupStatus(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    phase: str = ""
    """Pending, Scheduling, Running, Unknown, Finished or Failed."""
    occupied_by: str = ""
    """The owners of the first pod."""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    schedule_start_time: str | None = None


class PodGroup(Object, kw_only=True):
    """Pods that are placed together or not at all."""

    group = GROUP
    version = "v1alpha1"
    resource = "podgroups"
    kind = "PodGroup"
    short_names = ("pg", "pgs")
    api_approved = "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"
    printer_columns = (
        PrinterColumn("Phase", "string", ".status.phase"),
        PrinterColumn("MinMember", "integer", ".spec.minMember"),
        PrinterColumn("Running", "integer", ".status.running"),
        PrinterColumn("Succeeded", "integer", ".status.succeeded"),
        PrinterColumn("Failed", "integer", ".status.failed"),
        _AGE,
    )

    spec: PodGroupSpec = msgspec.field(default_factory=PodGroupSpec)
    status: PodGroupStatus = msgspec.field(default_factory=PodGroupStatus)


class ElasticQuotaSpec(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    min: ResourceList | None = None
    """What the namespace can always have."""
    max: ResourceList | None = None
    """What it can have at most, with what it borrows of others."""


class ElasticQuotaStatus(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    used: ResourceList | None = None


class ElasticQuota(Object, kw_only=True):
    """What the pods of a namespace can have: always, and while others do not need it."""

    group = GROUP
    version = "v1alpha1"
    resource = "elasticquotas"
    kind = "ElasticQuota"
    short_names = ("eq", "eqs")
    api_approved = "https://github.com/kubernetes-sigs/scheduler-plugins/pull/52"
    printer_columns = (
        PrinterColumn("Used", "string", ".status.used"),
        PrinterColumn("Max", "string", ".spec.max"),
        _AGE,
    )

    spec: ElasticQuotaSpec = msgspec.field(default_factory=ElasticQuotaSpec)
    status: ElasticQuotaStatus = msgspec.field(default_factory=ElasticQuotaStatus)


CUSTOM_KINDS: tuple[type[Object], ...] = (PodGroup, ElasticQuota)
"""The custom resources that plugins of Moorage read."""


def kind_of(document: Mapping[str, Any]) -> type[Object] | None:
    """The type for the document of an object, built in or custom; None for a kind that nobody here reads."""
    kind = document.get("kind")
    if str(document.get("apiVersion", "")).partition("/")[0] == GROUP:
        return next((each for each in CUSTOM_KINDS if each.kind == kind), None)
    return KINDS.get(str(kind))
