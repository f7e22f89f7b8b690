"""Claims for devices: whose they are, who uses them, and which of them a pod has."""

from __future__ import annotations

from collections.abc import Iterator

from moorage.cluster.base.parts import part
from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.life.controllers.objects import Key, controller_of, is_controlled_by, is_finished
from moorage.cluster.objects.admission.pod_groups import GROUPS

CLAIMS = "resourceclaims.resource.k8s.io"
TEMPLATES = "resourceclaimtemplates.resource.k8s.io"

FINALIZER = "resource.kubernetes.io/delete-protection"
"""Keeps a claim that has devices from vanishing; whoever allocates them adds it."""
ENTRY_ANNOTATION = "resource.kubernetes.io/pod-claim-name"
"""On a claim that was made for a pod, or a PodGroup: for which of its entries."""
GROUP_API = "scheduling.k8s.io"


class NotMade(Exception):
    """There is no claim yet for an entry of a pod; the text is the one users are told."""


def entries(user: Stored) -> list[Document]:
    """What a pod, or a PodGroup, says about the claims it uses."""
    found: list[Document] = user.spec.get("resourceClaims") or []
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


def group_name(pod: Stored) -> str:
    """The PodGroup of a pod; "" if it is in none."""
    name: str = part(pod.spec, "schedulingGroup").get("podGroupName") or ""
    return name


def group_with(store: Store, pod: Stored, entry: Document) -> Stored | None:
    """The PodGroup of a pod, if the group has the same entry, so that the claim is the group's.

    Raises NotMade if the pod names a group that does not exist, so that this is not known yet.
    """
    name = group_name(pod)
    if not name:
        return None
    group = store.get(GROUPS, pod.namespace, name)
    if group is None:
        raise NotMade(f'{GROUPS} "{name}" not found')
    return group if entry in entries(group) else None


def owner_problem(pod: Stored, claim: Stored) -> str:
    """What is wrong with a claim that should have been made for a pod, or its group; "" if nothing is."""
    group = owning_group(claim)
    if is_controlled_by(claim, pod) or (group is not None and group.get("name") == group_name(pod)):
        return ""
    place, owner = "/".join(claim.key), "/".join(pod.key)
    return f"ResourceClaim {place} was not created for Pod {owner} (Pod is not owner)"


def owning_pod(claim: Stored) -> Document | None:
    """The reference to the pod that a claim was made for."""
    owner = controller_of(claim)
    is_pod = owner is not None and (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Pod")
    return owner if is_pod else None


def owning_group(claim: Stored) -> Document | None:
    """The reference to the PodGroup that a claim was made for."""
    owner = controller_of(claim)
    if owner is None or owner.get("kind") != "PodGroup":
        return None
    return owner if owner.get("apiVersion", "").startswith(f"{GROUP_API}/") else None


def consumers(claim: Stored) -> list[Document]:
    """Those that a claim is reserved for."""
    found: list[Document] = claim.status.get("reservedFor") or []
    return found


def is_allocated(claim: Stored) -> bool:
    return claim.status.get("allocation") is not None


def is_reserved_for(claim: Stored, pod: Stored) -> bool:
    """Whether a pod may use a claim, be it as one of its PodGroup."""
    return any(
        consumer.get("uid") == pod.uid or (is_group(consumer) and consumer.get("name") == group_name(pod))
        for consumer in consumers(claim)
    )


def is_group(consumer: Document) -> bool:
    return (consumer.get("apiGroup"), consumer.get("resource")) == (GROUP_API, "podgroups")


def is_done(pod: Stored) -> bool:
    """Whether it is certain that no container of a pod runs, or ever will."""
    return is_finished(pod) or (pod.is_deleted and not pod.spec.get("nodeName"))
