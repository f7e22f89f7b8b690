"""Pods that are alike: what holds for one of them when a node is looked for holds for all."""

from __future__ import annotations

from operator import attrgetter

import msgspec
from msgspec.structs import replace

from moorage.api.pods import Container, Pod, PodResourceClaim, PodSpec, Volume
from moorage.api.selectors import ASKED_KEYS

_MOST_KNOWN = 16384
_SOME_CLAIMS = (PodResourceClaim(),)
_SOME_VOLUMES = (Volume(),)
_known: dict[bytes, bytes] = {}
_encode = msgspec.msgpack.Encoder().encode


def likeness(pod: Pod) -> bytes | None:
    """A key that all pods have which are alike; None for a pod that is like no other.

    Pods are alike if they have the same namespace, labels, controller and spec, as the pods of one
    ReplicaSet or Job have. Annotations do not count, nor do labels that no selector has asked for so far,
    such as the number of a pod in its StatefulSet: the key changes when one does. A pod with claims is like
    no other, since claims are found by names and belong to one pod, nor is one that is nominated to a node or
    has begun to run.
    """
    return None if pod.has_claims else template(pod)


def template(pod: Pod) -> bytes | None:
    """As `likeness`, but pods with claims can be alike, too: in everything but what they claim."""
    known: tuple[int, bytes | None] | None = pod.__dict__.get("_likeness")
    if known is None or known[0] != len(ASKED_KEYS):
        known = pod.__dict__["_likeness"] = (len(ASKED_KEYS), _template(pod))
    return known[1]


def _template(pod: Pod) -> bytes | None:
    spec, status, meta = pod.spec, pod.status, pod.metadata
    if (
        status.nominated_node_name
        or status.container_statuses
        or status.init_container_statuses
        or status.resources is not None
        or status.allocated_resources
        or not all(map(_says_nothing, spec.volumes))
    ):
        return None
    if spec.volumes:
        # The volume that brings the token of the service account has another name in every pod.
        spec = replace(spec, volumes=_SOME_VOLUMES if any(map(_is_claim, spec.volumes)) else ())
    if spec.resource_claims:
        spec = replace(spec, resource_claims=_SOME_CLAIMS)
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
    """As `template`, of a pod that has one, without what it requests and which nodes it asks for."""
    spec, meta = pod.spec, pod.metadata
    owner = next((owner for owner in meta.owner_references if owner.controller), None)
    labels = {key: value for key, value in meta.labels.items() if key in ASKED_KEYS}
    affinity = spec.affinity
    others = None if affinity is None else (affinity.pod_affinity, affinity.pod_anti_affinity)
    containers = [_container_shape(container) for container in spec.containers]
    before = [_container_shape(container) for container in spec.init_containers]
    claims = (bool(spec.resource_claims), any(map(_is_claim, spec.volumes)))
    return _encode((meta.namespace, labels, owner, others, containers, before, claims, _spec_shape(spec)))


_PARTICULARS = {
    "resource_claims",
    "volumes",
    "overhead",
    "resources",
    "node_selector",
    "affinity",
    "containers",
    "init_containers",
}
_spec_shape = attrgetter(*(name for name in PodSpec.__struct_fields__ if name not in _PARTICULARS))
_container_shape = attrgetter(*(name for name in Container.__struct_fields__ if name != "resources"))


def _says_nothing(volume: Volume) -> bool:
    """Whether no node is chosen by a volume, as by config maps, or by the claim alone that it stands for."""
    return _is_claim(volume) or volume == Volume(name=volume.name)


def _is_claim(volume: Volume) -> bool:
    return volume.persistent_volume_claim is not None or volume.ephemeral is not None
