"""Annotations of pods that mean something to the API server."""

from __future__ import annotations

import re

from moorage.cluster.base.errors import forbidden_value, invalid_value
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.rules import Found, check_descending_path

MIRROR = "kubernetes.io/config.mirror"
DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"

_INTEGER = re.compile("0|[1-9][0-9]{0,9}|-[0-9]{1,10}")


def check_pod_annotations(annotations: dict[str, str], spec: Document, path: str, found: Found) -> None:
    """The rules of the few annotations that have some."""
    for key, value in annotations.items():
        place = f"{path}[{key}]"
        if key == MIRROR:
            if not spec.get("nodeName"):
                detail = "must set spec.nodeName if mirror pod annotation is set"
                found.append(invalid_value(place, value, detail))
        elif key == DELETION_COST:
            if not _INTEGER.fullmatch(value) or not -(2**31) <= int(value) < 2**31:
                found.append(invalid_value(place, value, "must be a 32bit integer"))
        elif key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            _check_seccomp(value, f"{path}.{key}", found)
        elif key.startswith(APP_ARMOR):
            _check_app_armor(key.removeprefix(APP_ARMOR), value, spec, place, found)


def _check_seccomp(profile: str, path: str, found: Found) -> None:
    if profile.startswith("localhost/"):
        check_descending_path(profile.removeprefix("localhost/"), path, found)
    elif profile not in ("runtime/default", "docker/default", "unconfined"):
        found.append(invalid_value(path, profile, "must be a valid seccomp profile"))


def _check_app_armor(container: str, profile: str, spec: Document, path: str, found: Found) -> None:
    kinds = ("containers", "initContainers", "ephemeralContainers")
    if not any(each.get("name") == container for kind in kinds for each in (spec.get(kind) or ())):
        found.append(invalid_value(path, container, "container not found"))
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
        found.append(invalid_value(path, profile, f'invalid AppArmor profile name: "{profile}"'))


def check_annotation_changes(new: Document, old: Document, found: Found) -> None:
    """Some annotations are settled when a pod is created."""
    annotations = new["metadata"].get("annotations", {})
    before = old["metadata"].get("annotations", {})
    if annotations == before:
        return
    for key, value in before.items():
        if annotations.get(key) != value:
            _forbid(key, "remove or update", found)
    for key in annotations.keys() - before.keys():
        _forbid(key, "add", found)
    check_pod_annotations(annotations, new.get("spec", {}), "metadata.annotations", found)


def _forbid(key: str, what: str, found: Found) -> None:
    path = f"metadata.annotations[{key}]"
    if key.startswith(APP_ARMOR):
        found.append(forbidden_value(path, f"may not {what} AppArmor annotations"))
    if key == MIRROR:
        found.append(forbidden_value(path, f"may not {what} mirror pod annotation"))
