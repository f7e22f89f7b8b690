"""Counts the pods of a Job that have ended.

Every pod has a finalizer until it is counted. It is first noted in the status as one that is to be counted,
then loses its finalizer, and is then added to the counts: whatever is interrupted, and when, no pod is
counted twice and none is missed.
"""

from __future__ import annotations

from moorage.cluster.base.parts import condition
from moorage.cluster.base.store import Document, Store, Stored
from moorage.cluster.base.times import timestamp
from moorage.cluster.kinds.batch.job_spec import is_indexed
from moorage.cluster.kinds.batch.job_status import COMPLETE, FAILED, FAILURE_TARGET, SUCCESS_CRITERIA_MET
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.workloads import job_pods
from moorage.cluster.life.controllers.workloads.job_policies import judge, shown_indexes
from moorage.cluster.life.controllers.workloads.job_progress import Progress, job_condition

MOST = 500  # uids in a status


class Tracking:
    """What is done to the status in `progress`; to write it is the caller's."""

    def __init__(self, store: Store, progress: Progress) -> None:
        self._store = store
        self._progress = progress
        self._left = 0
        self.ended: list[Stored] = []
        """Pods whose finalizers can go once the status is written."""

    def note_ended(self) -> Document | None:
        """Notes pods that have ended, and says how the Job is going to end; returns its last condition."""
        self._add_released()
        self._note_pods()
        self._tell_indexes()
        return self._announce()

    def count_released(self) -> bool:
        """Adds pods without finalizers to the counts; says whether nothing is left to wait for."""
        self._add_released()
        return (
            not self._left and not any(self._progress.uncounted.values()) and not self._progress.terminating
        )

    def close(self, end: Document) -> None:
        status = self._progress.status
        status["conditions"].append(end)
        if end["type"] == COMPLETE:
            status["completionTime"] = timestamp(self._progress.now)

    def _tracked(self) -> dict[str, Stored]:
        """The pods that are still to be counted, as they are now, by uid."""
        found = objects.pods_of(self._store, [pod.key for pod in self._progress.pods])
        return {pod.uid: pod for pod in found if job_pods.is_tracked(pod)}

    def _add_released(self) -> None:
        progress = self._progress
        tracked = self._tracked()
        for kind, uids in progress.uncounted.items():
            left = [uid for uid in uids if uid in tracked]
            set_count(progress.status, kind, progress.status.get(kind, 0) + len(uids) - len(left))
            progress.uncounted[kind] = left
        self._tell_uncounted()

    def _note_pods(self) -> None:
        progress = self._progress
        tracked = self._tracked()
        # What counts is how they were found: those that were deleted because of that have not failed.
        for pod in progress.pods:
            if pod.uid not in tracked or not self._may_release(pod):
                continue
            self.ended.append(tracked[pod.uid])
            self._note(pod)
            if sum(map(len, progress.uncounted.values())) >= MOST:
                break
        self._left = len(tracked) - len(self.ended)
        self._tell_uncounted()

    def _note(self, pod: Stored) -> None:
        job, uncounted = self._progress.job, self._progress.uncounted
        end = self._progress.end
        if pod.status.get("phase") == "Succeeded" and pod.uid not in uncounted["failed"]:
            # In an Indexed Job the index alone tells what is counted.
            if not is_indexed(job.spec) and pod.uid not in uncounted["succeeded"]:
                uncounted["succeeded"].append(pod.uid)
        elif job_pods.is_failed(pod, job) or (end is not None and end["type"] != SUCCESS_CRITERIA_MET):
            index = job_pods.index_of(pod)
            is_known = index is not None and index < (self._progress.completions or 0)
            counts = (is_known or not is_indexed(job.spec)) and judge(job, pod).counts
            if counts and pod.uid not in uncounted["failed"]:
                uncounted["failed"].append(pod.uid)

    def _may_release(self, pod: Stored) -> bool:
        progress = self._progress
        if progress.job.is_deleted or progress.end is not None or pod.status.get("phase") == "Succeeded":
            return True
        if not job_pods.is_failed(pod, progress.job):
            return False
        index = job_pods.index_of(pod)
        last = progress.awaited.get(index) if index is not None else None
        return last is None or last.uid != pod.uid

    def _tell_uncounted(self) -> None:
        noted = {kind: list(uids) for kind, uids in self._progress.uncounted.items() if uids}
        self._progress.status["uncountedTerminatedPods"] = noted

    def _tell_indexes(self) -> None:
        progress, status = self._progress, self._progress.status
        if not is_indexed(progress.job.spec):
            return
        set_count(status, "succeeded", len(progress.succeeded_indexes))
        status["completedIndexes"] = shown_indexes(progress.succeeded_indexes)
        if not status["completedIndexes"]:
            del status["completedIndexes"]
        if progress.limit_per_index is not None:
            status["failedIndexes"] = shown_indexes(progress.failed_indexes)

    def _announce(self) -> Document | None:
        end, status = self._progress.end, self._progress.status
        if end is None or end["type"] not in (FAILURE_TARGET, SUCCESS_CRITERIA_MET):
            return end
        if condition(status, end["type"]) is None:
            status["conditions"].append(end)
        type_ = FAILED if end["type"] == FAILURE_TARGET else COMPLETE
        return job_condition(type_, end.get("reason", ""), end.get("message", ""), self._progress.now)


def set_count(status: Document, name: str, count: int) -> None:
    """A count of none is not told."""
    status[name] = count
    if not count:
        del status[name]
