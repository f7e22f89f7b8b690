"""Keeps the status of ElasticQuotas up to date."""

from __future__ import annotations

from moorage.api.pods import Pod
from moorage.client.http import HttpClient
from moorage.contrib.controllers.quota_status import Usage, first_of, quota_status
from moorage.contrib.controllers.status_writer import StatusWriter
from moorage.contrib.controllers.work_queue import WorkQueue
from moorage.contrib.objects import ElasticQuota
from moorage.framework.handle import NoRecorder, Recorder
from moorage.framework.listers import Listers


class ElasticQuotaController:
    """Writes into the quota of each namespace what the pods there use."""

    source = "ElasticQuotaController"
    kind = ElasticQuota

    def __init__(self, listers: Listers, client: HttpClient) -> None:
        """To be made before the listers are filled."""
        self._quotas = listers.get(
            ElasticQuota.group, ElasticQuota.version, ElasticQuota.resource, ElasticQuota
        )
        self._writer = StatusWriter(client, ElasticQuota)
        self._queue = WorkQueue("an ElasticQuota", self._look)
        self._recorder: Recorder = NoRecorder()
        self._usage: dict[str, Usage] = {}
        self._quotas.on_change(
            added=lambda quota: self._queue.add(quota.namespace),
            updated=lambda old, new: self._queue.add(new.namespace),
            deleted=self._remove_quota,
        )
        pods = listers.get(Pod.group, Pod.version, Pod.resource, Pod)
        pods.on_change(added=self._put, updated=lambda old, new: self._put(new), deleted=self._remove)

    async def run(self, recorder: Recorder) -> None:
        """Works until it is cancelled; it can be run again then."""
        self._recorder = recorder
        await self._queue.run(quota.namespace for quota in self._quotas)

    def _put(self, pod: Pod) -> None:
        # Kept for all namespaces: to sum it up when a quota comes would hold up the scheduler.
        usage = self._usage.setdefault(pod.namespace, Usage())
        if usage.put(pod):
            self._note(pod.namespace)

    def _remove(self, pod: Pod) -> None:
        usage = self._usage.get(pod.namespace)
        if usage is not None and usage.remove(pod):
            if not usage.pods:
                del self._usage[pod.namespace]
            self._note(pod.namespace)

    def _remove_quota(self, quota: ElasticQuota) -> None:
        self._writer.forget(quota.key)
        self._queue.add(quota.namespace)  # another may count now

    def _note(self, namespace: str) -> None:
        if self._quotas.list(namespace=namespace):
            self._queue.add(namespace)

    async def _look(self, namespace: str) -> None:
        listed = first_of(self._quotas.list(namespace=namespace))
        if listed is None or listed.deleting:
            return
        quota = self._writer.newest(listed)
        status = quota_status(quota, self._usage.get(namespace) or Usage())
        if status is quota.status:
            return
        await self._writer.write(quota, quota.status, status)
        note = f"Elastic Quota {quota.key} synced successfully"
        self._recorder.event(quota, None, "Normal", "Synced", "Syncing", note)
