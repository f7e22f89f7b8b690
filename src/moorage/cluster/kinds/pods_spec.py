"""What relates the fields of a pod's spec, whether it stands in a pod or in a template."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import items_of
from moorage.cluster.kinds.containers import all_containers
from moorage.cluster.schema.checking import Around, check, check_form, relates
from moorage.cluster.schema.forms import size

_SEARCH_CHARACTERS = 2048


def check_pod_spec(spec: Document, path: str, found: list[Cause]) -> None:
    found += check("core.v1.PodSpec", spec, path)


@relates("core.v1.PodSpec", where="shareProcessNamespace")
def _processes(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if spec["shareProcessNamespace"] and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield errors.invalid_value(f"{path}.securityContext.shareProcessNamespace", True, text)


@relates("core.v1.PodSpec", where="hostUsers")
def _own_users(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if spec["hostUsers"] is False:
        text = "when `hostUsers` is false"
        for field, place in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
            if spec.get(field):
                yield errors.forbidden_value(f"{path}.{place}", text)
        for container, place in all_containers(spec, path):
            if container.get("volumeDevices"):
                yield errors.forbidden_value(f"{place}.volumeDevices", text)


@relates("core.v1.PodSpec", where="hostNetwork")
def _host_network(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    if not spec.get("hostNetwork"):
        return
    for container, where in items_of(spec, "containers", path):
        for port, place in items_of(container, "ports", where):
            on_host = port.get("hostPort", 0)
            if (on_host or "core.v1.Pod" in around) and on_host != port.get("containerPort", 0):
                text = "must match `containerPort` when `hostNetwork` is true"
                yield errors.invalid_value(f"{place}.hostPort", on_host, text)


@relates("core.v1.PodSpec", where="hostnameOverride")
def _names(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            text = f"may not be specified when {field} is true"
            yield errors.forbidden_value(f"{path}.hostnameOverride", text)


@relates("core.v1.PodSpec", where="resourceClaims")
def _resource_claims(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    names: set[str] = set()
    for claim, place in items_of(spec, "resourceClaims", path):
        name = claim.get("name", "")
        if name in names:
            yield errors.duplicate_value(f"{place}.name", name)
        elif name:
            yield from check_form("dns-label", name, f"{place}.name")
            names.add(name)


@relates("core.v1.PodResourceClaim")
def _claim_source(claim: Document, path: str, around: Around) -> Iterator[Cause]:
    given = ("resourceClaimName" in claim) + ("resourceClaimTemplateName" in claim)
    if given == 2:
        text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        yield errors.invalid_value(path, claim, text)
    elif not given:
        text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        yield errors.invalid_value(path, claim, text)


# Names of hosts


@relates("core.v1.PodSpec")
def _dns(spec: Document, path: str, around: Around) -> Iterator[Cause]:
    config, place = spec.get("dnsConfig"), f"{path}.dnsConfig"
    own_only = spec.get("dnsPolicy") == "None"
    if own_only and config is None:
        yield errors.required(place, "must provide `dnsConfig` when `dnsPolicy` is None")
    elif own_only and config is not None and not config.get("nameservers"):
        text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
        yield errors.required(f"{place}.nameservers", text)
    else:
        yield from check("core.v1.PodDNSConfig", config, place, around)


@relates("core.v1.PodDNSConfig")
def _searches(config: Document, path: str, around: Around) -> Iterator[Cause]:
    searches = config.get("searches") or ()
    if size(" ".join(searches)) > _SEARCH_CHARACTERS:
        text = (
            f"must not have more than {_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        )
        yield errors.invalid_value(f"{path}.searches", searches, text)
    for index, search in enumerate(searches):
        if search != ".":
            domain, place = search.removesuffix("."), f"{path}.searches[{index}]"
            yield from check_form("dns-subdomain-with-underscores", domain, place)
    for option, place in items_of(config, "options", path):
        if not option.get("name"):
            yield errors.required(place, "must not be empty")
