"""What pods and pod templates have where nothing is said."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.pods_amounts import (
    aggregate,
    is_huge_pages,
    is_pod_level,
    may_overcommit,
    rounded,
)
from moorage.cluster.schema.defaulting import fill_defaults

_COMPONENT = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_REFERENCE = re.compile(
    rf"(?:(?:{_HOST}(?:\.{_HOST})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::(?P<tag>[\w][\w.-]{0,127}))?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_IDENTIFIER = re.compile("[a-f0-9]{64}")

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS = (
    ("timeoutSeconds", 1),
    ("periodSeconds", 10),
    ("successThreshold", 1),
    ("failureThreshold", 3),
)


def default_pod(spec: Document) -> None:
    """Completes the spec of a pod: what a template has, and what only pods have."""
    for container in (*(spec.get("containers") or ()), *spec.get("initContainers", ())):
        resources = container.get("resources")
        limits = resources.get("limits") if resources else None
        if limits:
            resources["requests"] = {**resources.get("requests", {})}
            for name, amount in limits.items():
                resources["requests"].setdefault(name, amount)
    if "resources" in spec:
        _default_pod_resources(spec)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in (*(spec.get("containers") or ()), *spec.get("initContainers", ())):
            for port in container.get("ports", ()):
                if port.get("containerPort"):
                    port.setdefault("hostPort", port["containerPort"])
    default_pod_spec(spec)


def default_pod_spec(spec: Document) -> None:
    """Completes the spec of a pod template."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for volume in spec.get("volumes", ()):
        _default_volume(volume)
    for container in spec.get("containers") or ():
        _default_container(container)
    for container in spec.get("initContainers", ()):
        _default_container(container)
    for container in spec.get("ephemeralContainers", ()):
        _default_container(container)
    if "overhead" in spec:
        rounded(spec["overhead"])


def round_claim(spec: Document) -> None:
    """Rounds what a claim for a volume asks for."""
    _round_requirements(spec.get("resources", {}))


def _default_pod_resources(spec: Document) -> None:
    resources: Document = spec["resources"]
    limits: dict[str, str] = dict(resources.get("limits", {}))
    for name, (_, text) in aggregate(spec, "limits").items():
        if is_huge_pages(name):
            limits.setdefault(name, text)
    if limits:
        resources["limits"] = limits
        requests: dict[str, str] = dict(resources.get("requests", {}))
        for name, (_, text) in aggregate(spec, "requests").items():
            if is_pod_level(name) and may_overcommit(name):
                requests.setdefault(name, text)
        for name, amount in limits.items():
            if is_pod_level(name):
                requests.setdefault(name, amount)
        if requests:
            resources["requests"] = requests
    _round_requirements(resources)


def _round_requirements(resources: Document) -> None:
    for kind in ("limits", "requests"):
        if kind in resources:
            rounded(resources[kind])


# Containers


def _default_container(container: Document) -> None:
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = default_pull_policy(container.get("image", ""))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports", ()):
        port.setdefault("protocol", "TCP")
    for variable in container.get("env", ()):
        source = variable.get("valueFrom")
        if source:
            _default_field_reference(source)
            if "fileKeyRef" in source:
                source["fileKeyRef"].setdefault("optional", False)
    resources = container.get("resources")
    if resources:
        _round_requirements(resources)
    for name in _PROBES:
        probe = container.get(name)
        if probe is not None:
            for field, amount in _PROBE_DEFAULTS:
                probe.setdefault(field, amount)
            _default_http(probe)
            if "grpc" in probe:
                probe["grpc"].setdefault("service", "")
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for name in ("postStart", "preStop"):
            if name in lifecycle:
                _default_http(lifecycle[name])


@lru_cache(maxsize=4096)
def default_pull_policy(image: str) -> str:
    """Images whose tag is `latest`, said or not, may have changed since they were last pulled."""
    domain, slash, rest = image.partition("/")
    if not slash or not (set(".:") & set(domain) or domain == "localhost" or domain != domain.lower()):
        rest = image
    found = _REFERENCE.fullmatch(image)
    repository = rest.partition(":")[0].partition("@")[0]
    if found is None or repository != repository.lower() or _IDENTIFIER.fullmatch(image):
        return "IfNotPresent"
    tag = found["tag"] or ("" if found["digest"] else "latest")
    return "Always" if tag == "latest" else "IfNotPresent"


def _default_http(handler: Document) -> None:
    action = handler.get("httpGet")
    if action is not None:
        action.setdefault("path", "/")
        action.setdefault("scheme", "HTTP")


def _default_field_reference(source: Document) -> None:
    if "fieldRef" in source:
        reference = source["fieldRef"]
        if not reference.get("apiVersion"):
            reference["apiVersion"] = "v1"


# Volumes


def _default_volume(volume: Document) -> None:
    if len(volume) == (1 if "name" in volume else 0):
        volume["emptyDir"] = {}
        return
    fill_defaults("core.v1.Volume", volume)
    if "downwardAPI" in volume:
        _default_files(volume["downwardAPI"].get("items", ()))
    if "projected" in volume:
        for source in volume["projected"].get("sources") or ():
            if "downwardAPI" in source:
                _default_files(source["downwardAPI"].get("items", ()))
    if "image" in volume:
        image = volume["image"]
        if "pullPolicy" not in image:
            image["pullPolicy"] = default_pull_policy(image.get("reference", ""))
    template = volume.get("ephemeral", {}).get("volumeClaimTemplate")
    if template:
        round_claim(template["spec"])


def _default_files(files: Iterable[Document]) -> None:
    for file in files:
        _default_field_reference(file)
