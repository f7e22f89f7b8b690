"""Claims for devices that come and go with pods, as controllers make and free them."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from msgspec.structs import replace

from moorage.api.devices import ResourceClaim, ResourceClaimSpec, ResourceClaimStatus, ResourceClaimTemplate
from moorage.api.meta import Object, ObjectMeta, OwnerReference
from moorage.api.pods import Pod, PodResourceClaimStatus


class DeviceClaims:
    """Knows what is claimed by which template: of the templates or, without one, of a claim made of it."""

    def __init__(self, objects: Iterable[Object]) -> None:
        every = list(objects)
        claims = {each.key: each for each in every if isinstance(each, ResourceClaim)}
        self._specs: dict[tuple[str, str], ResourceClaimSpec] = {}
        for pod in every:
            if isinstance(pod, Pod) and pod.spec.resource_claims and pod.status.resource_claim_statuses:
                made = _made(pod)
                for entry in pod.spec.resource_claims:
                    claim = claims.get(f"{pod.namespace}/{made.get(entry.name)}")
                    if claim is not None and entry.resource_claim_template_name is not None:
                        self._specs[pod.namespace, entry.resource_claim_template_name] = claim.spec
        for each in every:
            if isinstance(each, ResourceClaimTemplate):
                self._specs[each.namespace, each.name] = each.spec.spec

    def of(self, pod: Pod) -> tuple[Pod, list[ResourceClaim]]:
        """The pod with the claims that are made for it, and those that it did not have yet."""
        made = _made(pod)
        claims: list[ResourceClaim] = []
        for entry in pod.spec.resource_claims:
            spec = self._specs.get((pod.namespace, entry.resource_claim_template_name or ""))
            if spec is not None and entry.name not in made:
                claims.append(_claim(pod, entry.name, spec))
                made[entry.name] = claims[-1].name
        if not claims:
            return pod, []
        changed: Pod = copy(pod)
        changed.status = copy(pod.status)
        changed.status.resource_claim_statuses = tuple(
            PodResourceClaimStatus(name=entry, resource_claim_name=name) for entry, name in made.items()
        )
        return changed, claims


def freed(claim: ResourceClaim, pod: Pod) -> ResourceClaim | None:
    """A claim when one of its pods is gone; None if it goes with it."""
    if any(owner.uid == pod.uid for owner in claim.metadata.owner_references):
        return None
    left = tuple(user for user in claim.status.reserved_for if user.uid != pod.uid)
    changed: ResourceClaim = copy(claim)
    changed.status = replace(claim.status, reserved_for=left) if left else ResourceClaimStatus()
    return changed


def concerns(claim: ResourceClaim, pod: Pod) -> bool:
    """Whether a claim is used by a pod, or was made for it."""
    uses = any(user.uid == pod.uid for user in claim.status.reserved_for)
    return uses or any(owner.uid == pod.uid for owner in claim.metadata.owner_references)


def _made(pod: Pod) -> dict[str, str | None]:
    return {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}


def _claim(pod: Pod, entry: str, spec: ResourceClaimSpec) -> ResourceClaim:
    owner = OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)
    metadata = ObjectMeta(
        name=f"{pod.name}-{entry}",
        namespace=pod.namespace,
        uid=f"{pod.uid}/{entry}",
        resource_version="1",
        owner_references=(owner,),
    )
    return ResourceClaim(metadata=metadata, spec=spec)
