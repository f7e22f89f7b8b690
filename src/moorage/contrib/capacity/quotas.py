"""The quotas of all namespaces as they are now, and as they would be in one attempt."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from moorage.api.pods import Pod
from moorage.api.requests import Resources
from moorage.contrib.capacity.quota_arithmetic import Quota, quota_of, request_of, together
from moorage.contrib.objects import ElasticQuota
from moorage.framework.eviction import Evictions
from moorage.framework.handle import Handle

log = logging.getLogger(__name__)

SYNC_SECONDS = 30.0
"""So long may the first list of quotas take; after that the scheduler ends and says what it misses."""


class QuotaBooks:
    """Quotas by namespace, and all of them together."""

    def __init__(self, quotas: dict[str, Quota], total: Quota) -> None:
        self._quotas = quotas
        self.total = total
        """Of all quotas that can be read."""

    def of(self, namespace: str) -> Quota | None:
        return self._quotas.get(namespace)

    def borrowers(self) -> set[str]:
        """The namespaces that use more than their min."""
        return {name for name, quota in self._quotas.items() if not quota.problem and quota.is_over_min}

    def use(self, namespace: str, request: Mapping[str, int]) -> None:
        quota = self._quotas.get(namespace)
        if quota is not None:
            self._quotas[namespace] = quota.using(request)
            self.total = self.total if quota.problem else self.total.using(request)

    def release(self, namespace: str, request: Mapping[str, int]) -> None:
        quota = self._quotas.get(namespace)
        if quota is not None:
            self._quotas[namespace] = quota.not_using(request)
            self.total = self.total if quota.problem else self.total.not_using(request)


class QuotaSnapshot(QuotaBooks):
    """The quotas in one attempt: pods may be added and removed as if they came and went."""

    def __init__(
        self,
        quotas: dict[str, Quota],
        total: Quota,
        counted: Mapping[str, Resources],
        changed: dict[str, Resources | None] | None = None,
    ) -> None:
        super().__init__(dict(quotas), total)
        self._counted = counted
        """What the pods count for that are really there, by uid."""
        self._changed = dict(changed or {})
        """What those count for that came here, None for those that went."""

    def clone(self) -> QuotaSnapshot:
        return QuotaSnapshot(self._quotas, self.total, self._counted, self._changed)

    def add(self, pod: Pod) -> None:
        """As if the pod had come; nothing happens if it is counted already."""
        if self._request(pod) is None:
            request = self._changed[pod.uid] = request_of(pod)
            self.use(pod.namespace, request)

    def remove(self, pod: Pod) -> None:
        """As if the pod had gone; nothing happens if it is not counted."""
        request = self._request(pod)
        if request is not None:
            self._changed[pod.uid] = None
            self.release(pod.namespace, request)

    def has(self, pod: Pod) -> bool:
        """Whether the pod is counted."""
        return self._request(pod) is not None

    def _request(self, pod: Pod) -> Resources | None:
        return self._changed[pod.uid] if pod.uid in self._changed else self._counted.get(pod.uid)


class Quotas:
    """The quotas as they are now, for all profiles: ask for them with `handle.shared(Quotas)`.

    Counted are the pods that have a node, and those for which one is reserved, in every namespace: so it does
    not matter whether a quota or its pods come first.
    """

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._quotas: dict[str, Quota] = {}
        self._books = QuotaBooks(self._quotas, Quota())
        self._total_is_old = False
        self._counted: dict[str, Resources] = {}
        self._used: dict[str, Resources] = {}
        """By namespace, of those without a quota, too."""
        self._uids: dict[str, set[str]] = {}
        self._ending: set[str] = set()
        """The uids of those that are being deleted."""
        self._warned: dict[str, str] = {}
        """What is wrong with quotas, by uid."""
        self._untold: list[tuple[ElasticQuota, str]] = []
        for pod in handle.pods:
            self._pod_changed(pod)
        pods = handle.lister_of(Pod)
        pods.on_change(
            added=self._pod_changed, updated=lambda old, new: self._pod_changed(new), deleted=self._uncount
        )
        self._objects = handle.lister_of(ElasticQuota, sync_timeout=SYNC_SECONDS)
        self._objects.on_change(
            added=self._quota_changed,
            updated=lambda old, new: self._quota_changed(new),
            deleted=self._quota_deleted,
        )
        for namespace in {quota.namespace for quota in self._objects}:
            self._read(namespace)

    def snapshot(self) -> QuotaSnapshot:
        """The quotas as they are; it is for this attempt only."""
        if self._total_is_old:
            # Many quotas come one after the other at the start.
            self._books.total = together(self._quotas.values())
            self._total_is_old = False
        found = QuotaSnapshot(self._quotas, self._books.total, self._counted)
        for pod in self._handle.state.away.values():
            found.remove(pod)
        return found

    def of(self, namespace: str) -> Quota | None:
        return self._quotas.get(namespace)

    def uids_of(self, namespace: str) -> Collection[str]:
        """The uids of the pods of a namespace that are counted."""
        return self._uids.get(namespace, ())

    def going(self) -> list[Pod]:
        """The pods that are counted and on their way out: what they use is as good as given back."""
        told = self._handle.shared(Evictions).going
        found = map(self._handle.state.pod, {*self._ending, *(uid for uid in told if uid in self._counted)})
        return [pod for pod in found if pod is not None]

    # Pods

    def reserve(self, pod: Pod) -> None:
        """A node was chosen for the pod; once is enough."""
        if pod.uid not in self._counted:
            self._count(pod)

    def unreserve(self, pod: Pod) -> None:
        """The node was given back, unless the pod has got there all the same."""
        placement = self._handle.state.placement(pod.uid)
        if placement is None or placement.assumed:
            self._uncount(pod)

    def _pod_changed(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self._count(pod)
            if pod.deleting and pod.uid:
                self._ending.add(pod.uid)

    def _count(self, pod: Pod) -> None:
        """Counts a pod for what it asks for now."""
        if not pod.uid:
            return
        request, before = request_of(pod), self._counted.get(pod.uid)
        if request == before:
            return
        if before is not None:
            self._uncount(pod)
        namespace = pod.namespace
        self._counted[pod.uid] = request
        self._used[namespace] = self._used.get(namespace, Resources()) + request
        self._uids.setdefault(namespace, set()).add(pod.uid)
        self._books.use(namespace, request)

    def _uncount(self, pod: Pod) -> None:
        request = self._counted.pop(pod.uid, None)
        self._ending.discard(pod.uid)
        if request is None:
            return
        namespace = pod.namespace
        self._used[namespace] -= request
        self._uids[namespace].discard(pod.uid)
        if not self._uids[namespace]:
            del self._used[namespace], self._uids[namespace]
        self._books.release(namespace, request)

    # Quotas

    def tell(self) -> None:
        """Writes the events that had to wait until this process leads."""
        if self._untold and self._handle.services.may_bind():
            untold, self._untold = self._untold, []
            for quota, note in untold:
                self._handle.recorder.event(quota, None, "Warning", "InvalidQuota", "Counting", note)

    def _quota_changed(self, quota: ElasticQuota) -> None:
        self._read(quota.namespace)

    def _quota_deleted(self, quota: ElasticQuota) -> None:
        self._warned.pop(quota.uid, None)
        self._read(quota.namespace)

    def _read(self, namespace: str) -> None:
        """Finds the quota of a namespace: the oldest counts."""
        found = sorted(
            self._objects.list(namespace=namespace),
            key=lambda quota: (quota.metadata.creation_timestamp or "", quota.name),
        )
        if found:
            counts, *others = found
            quota = quota_of(counts, self._used.get(namespace, Resources()))
            self._quotas[namespace] = quota
            self._warn(counts, f"pods of namespace {namespace} have to wait: {quota.problem}", quota.problem)
            for other in others:
                note = f"does not count: ElasticQuota {counts.name} of the same namespace is older"
                self._warn(other, note, note)
        else:
            self._quotas.pop(namespace, None)
        self._total_is_old = True

    def _warn(self, quota: ElasticQuota, note: str, problem: str) -> None:
        """Tells what is wrong with a quota, if anything is, once for as long as it is."""
        if not problem:
            self._warned.pop(quota.uid, None)
        elif self._warned.get(quota.uid) != note:
            self._warned[quota.uid] = note
            log.warning("ElasticQuota %s: %s", quota.key, note)
            self._untold.append((quota, note))
            self.tell()
