"""Annotations of pods that mean something to the API server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from moorage.cluster.base import errors
from moorage.cluster.base.errors import Cause
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import part
from moorage.cluster.kinds.containers import all_containers
from moorage.cluster.schema.checking import check_form

SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_MIRROR = "kubernetes.io/config.mirror"
_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"

_INTEGER = re.compile("0|[1-9][0-9]{0,9}|-[0-9]{1,10}")


def pod_annotations(annotations: Mapping[str, str], spec: Document, path: str) -> Iterator[Cause]:
    """The rules of the few annotations that have some."""
    for key, value in annotations.items():
        place = f"{path}[{key}]"
        if key == _MIRROR and not spec.get("nodeName"):
            yield errors.invalid_value(place, value, "must set spec.nodeName if mirror pod annotation is set")
        elif key == _DELETION_COST:
            if not _INTEGER.fullmatch(value) or not -(2**31) <= int(value) < 2**31:
                yield errors.invalid_value(place, value, "must be a 32bit integer")
        elif key == SECCOMP_POD or key.startswith(SECCOMP_CONTAINER):
            yield from _seccomp(value, f"{path}.{key}")
        elif key.startswith(_APP_ARMOR):
            yield from _app_armor(key.removeprefix(_APP_ARMOR), value, spec, place)


def _seccomp(profile: str, path: str) -> Iterator[Cause]:
    if profile.startswith("localhost/"):
        yield from check_form("relative-path", profile.removeprefix("localhost/"), path)
    elif profile not in ("runtime/default", "docker/default", "unconfined"):
        yield errors.invalid_value(path, profile, "must be a valid seccomp profile")


def _app_armor(container: str, profile: str, spec: Document, path: str) -> Iterator[Cause]:
    if not any(each.get("name") == container for each, _ in all_containers(spec, "")):
        yield errors.invalid_value(path, container, "container not found")
    if profile not in ("", "runtime/default", "unconfined") and not profile.startswith("localhost/"):
        yield errors.invalid_value(path, profile, f'invalid AppArmor profile name: "{profile}"')


def annotation_changes(new: Document, old: Document) -> Iterator[Cause]:
    """Some annotations are settled when a pod is created."""
    after, before = part(new["metadata"], "annotations"), part(old["metadata"], "annotations")
    if after == before:
        return
    for key in after.keys() | before.keys():
        if after.get(key) != before.get(key):
            yield from _settled(key, "remove or update" if key in before else "add")
    yield from pod_annotations(after, part(new, "spec"), "metadata.annotations")


def _settled(key: str, what: str) -> Iterator[Cause]:
    path = f"metadata.annotations[{key}]"
    if key.startswith(_APP_ARMOR):
        yield errors.forbidden_value(path, f"may not {what} AppArmor annotations")
    if key == _MIRROR:
        yield errors.forbidden_value(path, f"may not {what} mirror pod annotation")
