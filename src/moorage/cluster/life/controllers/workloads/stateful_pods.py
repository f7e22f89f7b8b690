"""The pods of a StatefulSet: each has a number, and by it a name, claims and a revision of its own."""

from __future__ import annotations

import re

from moorage.cluster.base.parts import part
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import seconds_of
from moorage.cluster.life.controllers import objects

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"
REVISION = "controller-revision-hash"
_NAME = re.compile(r"(.*)-([0-9]+)", re.DOTALL)
_LARGEST = 2**31 - 1


def first_number(stateful_set: Stored) -> int:
    number: int = part(stateful_set.spec, "ordinals").get("start", 0)
    return number


def numbers(stateful_set: Stored) -> range:
    """The numbers that the pods of a set should have."""
    first = first_number(stateful_set)
    return range(first, first + stateful_set.spec.get("replicas", 1))


def number_of(stateful_set: Stored, pod: Stored) -> int | None:
    """The number of a pod; None if its name is not one of a member of the set."""
    found = _NAME.fullmatch(pod.name)
    if found is None or found[1] != stateful_set.name:
        return None
    number = int(found[2])
    return number if number <= _LARGEST else None


def pod_name(stateful_set: Stored, number: int) -> str:
    return f"{stateful_set.name}-{number}"


def claim_name(stateful_set: Stored, template: Document, number: int) -> str:
    return f"{part(template, 'metadata').get('name', '')}-{stateful_set.name}-{number}"


def claim_templates(stateful_set: Stored) -> list[Document]:
    return stateful_set.spec.get("volumeClaimTemplates") or []


def new_pod(stateful_set: Stored, template: Document, revision: str, number: int) -> Document:
    """The pod of this number as the template of a revision has it."""
    name = pod_name(stateful_set, number)
    given = part(template, "metadata")
    spec = {**part(template, "spec"), "hostname": name}
    if service := stateful_set.spec.get("serviceName"):
        spec["subdomain"] = service
    if volumes := own_volumes(stateful_set, number, spec.get("volumes") or []):
        spec["volumes"] = volumes
    metadata = {
        "name": name,
        "namespace": stateful_set.namespace,
        "generateName": f"{stateful_set.name}-",
        "labels": {**part(given, "labels"), **identity(name, number), REVISION: revision},
        "ownerReferences": [objects.controller_reference(stateful_set, "apps/v1", "StatefulSet")],
        **{each: given[each] for each in ("annotations", "finalizers") if given.get(each)},
    }
    return objects.copied({"metadata": metadata, "spec": spec})


def identity(name: str, number: int) -> dict[str, str]:
    return {POD_NAME: name, POD_INDEX: str(number)}


def own_volumes(stateful_set: Stored, number: int, volumes: list[Document]) -> list[Document]:
    """The volumes of a pod, with those for the claims of its number in front."""
    own = [
        {
            "name": part(template, "metadata").get("name", ""),
            "persistentVolumeClaim": {"claimName": claim_name(stateful_set, template, number)},
        }
        for template in claim_templates(stateful_set)
    ]
    taken = {each["name"] for each in own}
    return [*own, *(each for each in volumes if each.get("name") not in taken)]


# How a pod is


def revision_of(pod: Stored) -> str:
    return pod.labels.get(REVISION, "")


def is_ready(pod: Stored) -> bool:
    return pod.status.get("phase") == "Running" and objects.ready_condition(pod) is not None


def seconds_to_available(pod: Stored, least: int, now: float) -> float | None:
    """When a pod will have been ready for long enough: 0 or less if it is so, None if it is not ready."""
    ready = objects.ready_condition(pod)
    if ready is None:
        return None
    return seconds_of(ready.get("lastTransitionTime") or "") + least - now if least else 0.0


def is_available(pod: Stored, least: int, now: float) -> bool:
    seconds = seconds_to_available(pod, least, now)
    return seconds is not None and seconds <= 0
