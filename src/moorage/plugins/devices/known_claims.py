"""The claims as the scheduler knows them: those of the watch, and in front of them what it wrote itself."""

from __future__ import annotations

from collections.abc import Callable

from moorage.api.devices import EXTENDED_RESOURCE_CLAIM, ResourceClaim
from moorage.api.pods import Pod
from moorage.framework.listers import Lister

Follow = Callable[[ResourceClaim | None, ResourceClaim | None], None]


class KnownClaims:
    """Claims by namespace and name; `follow` hears of every change, as (old or None, new or None)."""

    def __init__(self, lister: Lister[ResourceClaim], follow: Follow) -> None:
        self._lister = lister
        self._follow = follow
        self._shown: dict[str, ResourceClaim] = {}
        self._written: dict[str, ResourceClaim] = {}
        """What the API server answered to a write, until the watch has come so far."""
        self._for_resources: dict[str, ResourceClaim] = {}
        """By the uid of its pod: the claim that was made for the pod's extended resources."""
        lister.on_change(added=self._came, updated=lambda old, new: self._came(new), deleted=self._went)

    def get(self, name: str, namespace: str) -> ResourceClaim | None:
        return self._shown.get(f"{namespace}/{name}")

    def for_resources_of(self, pod: Pod) -> ResourceClaim | None:
        """The claim that an earlier attempt made for the extended resources of a pod."""
        found = self._for_resources.get(pod.uid)
        return None if found is None else self._shown.get(found.key)

    def wrote(self, claim: ResourceClaim) -> bool:
        """Shows what was written; False if the watch knows no such claim, or a newer version of it."""
        stored = self._lister.get(claim.name, namespace=claim.namespace)
        if stored is None or _version(stored) > _version(claim):
            return False
        if _version(stored) < _version(claim):
            self._written[claim.key] = claim
        self._show(claim)
        return True

    def forget_written(self, claim: ResourceClaim) -> None:
        """Shows again what the watch brought."""
        stored = self._lister.get(claim.name, namespace=claim.namespace)
        if self._written.pop(claim.key, None) is not None and stored is not None:
            self._show(stored)

    def _came(self, claim: ResourceClaim) -> None:
        written = self._written.get(claim.key)
        if written is not None:
            if written.uid == claim.uid and _version(written) > _version(claim):
                return
            del self._written[claim.key]
        self._show(claim)

    def _went(self, claim: ResourceClaim) -> None:
        self._written.pop(claim.key, None)
        old = self._shown.pop(claim.key, None)
        if old is not None:
            self._index(old, None)
            self._follow(old, None)

    def _show(self, claim: ResourceClaim) -> None:
        old = self._shown.get(claim.key)
        self._shown[claim.key] = claim
        self._index(old, claim)
        if old is not None and old.uid != claim.uid:
            self._follow(old, None)
            old = None
        self._follow(old, claim)

    def _index(self, old: ResourceClaim | None, new: ResourceClaim | None) -> None:
        if old is not None and (uid := _made_for(old)):
            self._for_resources.pop(uid, None)
        if new is not None and (uid := _made_for(new)):
            self._for_resources[uid] = new


def _made_for(claim: ResourceClaim) -> str:
    """The uid of the pod whose extended resources a claim stands for, or ""."""
    if claim.annotations.get(EXTENDED_RESOURCE_CLAIM) != "true":
        return ""
    return next((owner.uid for owner in claim.metadata.owner_references if owner.controller), "")


def _version(claim: ResourceClaim) -> int:
    try:
        return int(claim.metadata.resource_version)
    except ValueError:
        return 0
