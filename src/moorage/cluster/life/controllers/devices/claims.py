"""Claims for devices: whose they are, who uses them, and which of them a pod has."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.store import Document, Stored
from moorage.cluster.life.controllers.objects import Key, controller_of, is_controlled_by, is_finished

CLAIMS = "resourceclaims.resource.k8s.io"
TEMPLATES = "resourceclaimtemplates.resource.k8s.io"

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Keeps a claim that has devices from vanishing; whoever allocates them adds it."""
ENTRY_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
"""On a claim that was made for a pod: for which of its entries."""


class NotMade(Exception):
    """There is no claim yet for an entry of a pod; the text is the one users are told."""


def entries(pod: Stored) -> list[Document]:
    """What the pod says about the claims it uses."""
    found: list[Document] = pod.spec.get("resourceClaims") or []
    return found


def claim_name(pod: Stored, entry: Document) -> str | None:
    """The claim that an entry stands for; None if it was found that none is needed. Raises NotMade."""
    name: str | None = entry.get("resourceClaimName")
    if name is not None:
        return name
    if not is_generated(entry):
        which = f'pod "{"/".join(pod.key)}", spec.resourceClaim "{entry.get("name", "")}"'
        raise NotMade(f"{which}: none of the supported fields are set")
    for status in pod.status.get("resourceClaimStatuses") or ():
        if status.get("name") == entry.get("name"):
            made: str | None = status.get("resourceClaimName")
            return made
    raise NotMade(f'pod "{"/".join(pod.key)}": ResourceClaim not created yet')


def is_generated(entry: Document) -> bool:
    """Whether the claim of an entry is made for the pod, so that it must be the pod's own."""
    return entry.get("resourceClaimName") is None and entry.get("resourceClaimTemplateName") is not None


def named_claims(pod: Stored) -> Iterator[Key]:
    """The claims that a pod names, as far as they are known."""
    for entry in entries(pod):
        try:
            name = claim_name(pod, entry)
        except NotMade:
            continue
        if name is not None:
            yield pod.namespace, name


def claim_for_resources(pod: Stored) -> str:
    """The claim that the scheduler made for the extended resources of a pod; "" if there is none."""
    status: Document = pod.status.get("extendedResourceClaimStatus") or {}
    return status.get("resourceClaimName") or ""


def owner_problem(pod: Stored, claim: Stored) -> str:
    """What is wrong with a claim that should have been made for a pod; "" if nothing is."""
    if is_controlled_by(claim, pod):
        return ""
    place, owner = "/".join(claim.key), "/".join(pod.key)
    return f"ResourceClaim {place} was not created for Pod {owner} (Pod is not owner)"


def owning_pod(claim: Stored) -> Document | None:
    """The reference to the pod that a claim was made for."""
    owner = controller_of(claim)
    is_pod = owner is not None and (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Pod")
    return owner if is_pod else None


def consumers(claim: Stored) -> list[Document]:
    """Those that a claim is reserved for."""
    found: list[Document] = claim.status.get("reservedFor") or []
    return found


def is_allocated(claim: Stored) -> bool:
    return claim.status.get("allocation") is not None


def is_reserved_for(claim: Stored, pod: Stored) -> bool:
    return any(consumer.get("uid") == pod.uid for consumer in consumers(claim))


def is_done(pod: Stored) -> bool:
    """Whether it is certain that no container of a pod runs, or ever will."""
    return is_finished(pod) or (pod.is_deleted and not pod.spec.get("nodeName"))
