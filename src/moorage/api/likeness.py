"""Pods that are alike: what holds for one of them when a node is looked for holds for all."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from moorage.api.pods import Container, Pod, ResourceRequirements, Volume
from moorage.api.selectors import ASKED_KEYS

_MOST_KNOWN = 16384
_known: dict[bytes, bytes] = {}
_NO_RESOURCES = ResourceRequirements()
_encode = msgspec.msgpack.Encoder().encode


def likeness(pod: Pod) -> bytes | None:
    """A key that all pods have which are alike; None for a pod that is like no other.

    Pods are alike if they have the same namespace, labels, controller and spec, as the pods of one
    ReplicaSet or Job have. Annotations do not count, nor do labels that no selector has asked for so far,
    such as the number of a pod in its StatefulSet: the key changes when one does. A pod with claims is like
    no other, since claims are found by names and belong to one pod, nor is one that is nominated to a node or
    has begun to run.
    """
    known: tuple[int, bytes | None] | None = pod.__dict__.get("_likeness")
    if known is None or known[0] != len(ASKED_KEYS):
        known = pod.__dict__["_likeness"] = (len(ASKED_KEYS), _likeness(pod))
    return known[1]


def _likeness(pod: Pod) -> bytes | None:
    spec, status, meta = pod.spec, pod.status, pod.metadata
    if (
        spec.resource_claims
        or status.nominated_node_name
        or status.container_statuses
        or status.init_container_statuses
        or status.resources is not None
        or status.allocated_resources
        or not all(map(_says_nothing, spec.volumes))
    ):
        return None
    if spec.volumes:
        # The volume that brings the token of the service account has another name in every pod.
        spec = replace(spec, volumes=())
    owner = next((owner for owner in meta.owner_references if owner.controller), None)
    labels = {key: value for key, value in meta.labels.items() if key in ASKED_KEYS}
    try:
        key = _encode((meta.namespace, labels, owner, spec))
    except (OverflowError, ValueError):  # there is a number in it that has no end, say
        return None
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    return _known.setdefault(key, key)


def shape(pod: Pod) -> bytes:
    """As `likeness`, of a pod that has one, without what it requests."""
    spec, meta = pod.spec, pod.metadata
    owner = next((owner for owner in meta.owner_references if owner.controller), None)
    labels = {key: value for key, value in meta.labels.items() if key in ASKED_KEYS}
    spec = replace(
        spec,
        volumes=(),
        containers=tuple(map(_without_requests, spec.containers)),
        init_containers=tuple(map(_without_requests, spec.init_containers)),
        overhead={},
        resources=None,
    )
    return _encode((meta.namespace, labels, owner, spec))


def _without_requests(container: Container) -> Container:
    return replace(container, resources=_NO_RESOURCES)


def _says_nothing(volume: Volume) -> bool:
    """Whether a volume is one of those that no node is chosen by, as config maps are."""
    return volume == Volume(name=volume.name)
