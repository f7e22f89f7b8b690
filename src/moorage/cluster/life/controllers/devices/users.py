"""Which pods use a claim or a template, and which claims were made or are reserved for a pod."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

from moorage.cluster.base.store import Change, Store, Stored
from moorage.cluster.life.controllers.devices.claims import (
    CLAIMS,
    ENTRY_ANNOTATION,
    consumers,
    entries,
    named_claims,
    owning_group,
    owning_pod,
)
from moorage.cluster.life.controllers.objects import Groups, Key, pods_of


class DeviceUsers:
    """Kept up to date from `start` to `stop`."""

    def __init__(self, store: Store, *, heeds_groups: bool = False) -> None:
        self.heeds_groups = heeds_groups
        """Whether PodGroups have claims, too."""
        self._store = store
        self._by_claim: Groups[Key, Key] = Groups()
        self._by_template: Groups[Key, Key] = Groups()
        self._made_for: Groups[str, Key] = Groups()
        self._reserved_for: Groups[str, Key] = Groups()
        self._heard = ExitStack()

    def start(self) -> None:
        for pod in self._store.iterate("pods"):
            self._note_pod(pod)
        for claim in self._store.iterate(CLAIMS):
            self._note_claim(claim)
        self._heard.callback(self._store.listen("pods", self._pod_changed))
        self._heard.callback(self._store.listen(CLAIMS, self._claim_changed))

    def stop(self) -> None:
        self._heard.close()

    def of_claim(self, claim: Key) -> list[Stored]:
        """The pods that name a claim, or for which it was made."""
        return pods_of(self._store, sorted(self._by_claim.get(claim, ())))

    def of_template(self, template: Key) -> list[Stored]:
        """The pods that have claims made from a template."""
        return pods_of(self._store, sorted(self._by_template.get(template, ())))

    def made_for(self, owner: Stored, entry_name: str) -> Stored | None:
        """The claim that was made for an entry of a pod, whether or not the pod's status tells of it.

        The same for a PodGroup.
        """
        for key in sorted(self._made_for.get(owner.uid, ())):
            claim = self._store.get(CLAIMS, *key)
            if claim is not None and claim.annotations.get(ENTRY_ANNOTATION) == entry_name:
                return claim
        return None

    def concerned_by(self, pod: Stored) -> list[Key]:
        """The claims for which it matters when a pod is gone or done."""
        made, reserved = self._made_for.get(pod.uid, set()), self._reserved_for.get(pod.uid, set())
        return sorted(made | reserved)

    def _pod_changed(self, change: Change) -> None:
        if not entries(change.new):
            return
        if change.old is not None:
            if change.type != "DELETED" and _same_claims(change.old, change.new):
                return
            for claim in named_claims(change.old):
                self._by_claim.discard(claim, change.old.key)
            for template in _templates(change.old):
                self._by_template.discard(template, change.old.key)
        if change.type != "DELETED":
            self._note_pod(change.new)

    def _note_pod(self, pod: Stored) -> None:
        for claim in named_claims(pod):
            self._by_claim.add(claim, pod.key)
        for template in _templates(pod):
            self._by_template.add(template, pod.key)

    def _claim_changed(self, change: Change) -> None:
        old = change.old
        if old is not None:
            for group, uid in self._pods_of(old):
                group.discard(uid, old.key)
        if change.type != "DELETED":
            self._note_claim(change.new)

    def _note_claim(self, claim: Stored) -> None:
        for group, uid in self._pods_of(claim):
            group.add(uid, claim.key)

    def _pods_of(self, claim: Stored) -> Iterator[tuple[Groups[str, Key], str]]:
        """Under which uids a claim is to be found, and where."""
        if (owner := owning_pod(claim) or owning_group(claim)) is not None:
            yield self._made_for, owner.get("uid", "")
        for consumer in consumers(claim):
            yield self._reserved_for, consumer.get("uid", "")


def _same_claims(old: Stored, new: Stored) -> bool:
    """Which claims a pod names is in its spec, where it never changes, and in this part of its status."""
    return old.status.get("resourceClaimStatuses") == new.status.get("resourceClaimStatuses")


def _templates(pod: Stored) -> set[Key]:
    names = (entry.get("resourceClaimTemplateName") for entry in entries(pod))
    return {(pod.namespace, name) for name in names if name is not None}
