"""Which claims a pod has."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.devices import ResourceClaim
from moorage.api.pods import Pod, PodResourceClaim
from moorage.plugins.devices.known_claims import KnownClaims


class NotThere(Exception):
    """A claim of a pod is missing, or not what it should be; the text is what users are told."""


def claims_of(pod: Pod, known: KnownClaims) -> list[ResourceClaim]:
    """The claims a pod names, in its order, one that is named twice twice; raises NotThere."""
    return list(_claims_of(pod, known)) if pod.spec.resource_claims else []


def _claims_of(pod: Pod, known: KnownClaims) -> Iterator[ResourceClaim]:
    for entry in pod.spec.resource_claims:
        name = _name(pod, entry)
        if name is None:
            continue
        claim = known.get(name, pod.namespace)
        if claim is None:
            raise NotThere(f'could not find ResourceClaim "{pod.namespace}/{name}"')
        if claim.deleting:
            raise NotThere(f'resourceclaim "{claim.name}" is being deleted')
        if entry.resource_claim_name is None and not is_controlled_by(pod, claim):
            raise NotThere(f"ResourceClaim {claim.key} was not created for Pod {pod.key} (Pod is not owner)")
        yield claim


def _name(pod: Pod, entry: PodResourceClaim) -> str | None:
    """The claim of an entry; None for one of which nothing had to be made."""
    if entry.resource_claim_name is not None:
        return entry.resource_claim_name
    if entry.resource_claim_template_name is None:
        raise NotThere(
            f'pod "{pod.key}", spec.resourceClaim "{entry.name}": none of the supported fields are set'
        )
    for made in pod.status.resource_claim_statuses:
        if made.name == entry.name:
            return made.resource_claim_name
    raise NotThere(f'pod "{pod.key}": ResourceClaim not created yet')


def is_controlled_by(pod: Pod, claim: ResourceClaim) -> bool:
    owner = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    return owner is not None and owner.uid == pod.uid


def is_reserved_for(pod: Pod, claim: ResourceClaim) -> bool:
    return any(consumer.uid == pod.uid for consumer in claim.status.reserved_for)
