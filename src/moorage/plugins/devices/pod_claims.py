"""Which claims a pod has."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.api.devices import ResourceClaim
from moorage.api.pod_groups import PodGroup
from moorage.api.pods import Pod, PodResourceClaim
from moorage.plugins.devices.known_claims import KnownClaims


class NotThere(Exception):
    """A claim of a pod is missing, or not what it should be; the text is what users are told."""


def claims_of(pod: Pod, known: KnownClaims, *, heeds_groups: bool = False) -> list[ResourceClaim]:
    """The claims a pod names, in its order, one that is named twice twice; raises NotThere.

    With `heeds_groups` one that was made for the pod may have been made for its PodGroup instead.
    """
    if not pod.spec.resource_claims:
        return []
    return [claim for _, claim in named_claims(pod, known, heeds_groups=heeds_groups)]


def named_claims(
    pod: Pod, known: KnownClaims, *, heeds_groups: bool = False
) -> Iterator[tuple[PodResourceClaim, ResourceClaim]]:
    """The same, with the entries that name them."""
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
            group = _group_name(pod) if heeds_groups else ""
            if not group or not _is_made_for_group(group, claim):
                owners = f"neither Pod nor PodGroup {group} is the owner" if group else "Pod is not owner"
                raise NotThere(f"ResourceClaim {claim.key} was not created for Pod {pod.key} ({owners})")
        yield entry, claim


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


def _group_name(pod: Pod) -> str:
    group = pod.spec.scheduling_group
    return "" if group is None else group.pod_group_name or ""


def _is_made_for_group(name: str, claim: ResourceClaim) -> bool:
    """By the group's name, which is all that a pod knows of it."""
    owner = next((owner for owner in claim.metadata.owner_references if owner.controller), None)
    return (
        owner is not None
        and (owner.kind, owner.name) == (PodGroup.kind, name)
        and owner.api_version.startswith(f"{PodGroup.group}/")
    )


def is_controlled_by(owner: Pod | PodGroup, claim: ResourceClaim) -> bool:
    found = next((each for each in claim.metadata.owner_references if each.controller), None)
    return found is not None and found.uid == owner.uid


def is_reserved_for(consumer: Pod | PodGroup, claim: ResourceClaim) -> bool:
    return any(each.uid == consumer.uid for each in claim.status.reserved_for)
