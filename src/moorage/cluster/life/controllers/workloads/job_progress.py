"""How far a Job is: its pods counted, and whether it has failed, succeeded or has to go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from moorage.cluster.base.parts import condition, is_true
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.base.times import seconds_of, timestamp
from moorage.cluster.kinds.batch.job_spec import is_indexed
from moorage.cluster.kinds.batch.job_status import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
)
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.workloads import job_pods as pods_of_jobs
from moorage.cluster.life.controllers.workloads.job_policies import judge, parse_indexes, success_message


def is_finished(job: Stored) -> bool:
    return is_true(job.document, COMPLETE) or is_true(job.document, FAILED)


def job_condition(type_: str, reason: str, message: str, now: float, value: str = "True") -> Document:
    times = {"lastProbeTime": timestamp(now), "lastTransitionTime": timestamp(now)}
    return {"type": type_, "status": value, **times, "reason": reason, "message": message}


@dataclass
class Progress:
    """All that is known about a Job in one look at it; `status` is what is going to be written."""

    job: Stored
    pods: Sequence[Stored]
    now: float
    status: Document = field(init=False)
    active: list[Stored] = field(init=False)
    ready: int = field(init=False)
    terminating: int = field(init=False)
    new_succeeded: list[Stored] = field(init=False)
    new_failed: list[Stored] = field(init=False)
    succeeded: int = field(init=False)
    failed: int = field(init=False)
    succeeded_indexes: set[int] = field(init=False, default_factory=set)
    failed_indexes: set[int] = field(init=False, default_factory=set)
    awaited: dict[int, Stored] = field(init=False, default_factory=dict)
    """By index the failed pod that is kept until its successor has taken over its count of failures."""
    end: Document | None = field(init=False, default=None)
    """The condition that tells how the Job ends."""

    def __post_init__(self) -> None:
        job, spec = self.job, self.job.spec
        self.status = {**job.status}
        self.status["conditions"] = list(self.status.get("conditions") or ())
        uncounted = self.status.get("uncountedTerminatedPods") or {}
        self.uncounted = {kind: list(uncounted.get(kind) or ()) for kind in ("succeeded", "failed")}
        self.active = [pod for pod in self.pods if objects.is_active(pod)]
        self.ready = sum(objects.ready_condition(pod) is not None for pod in self.active)
        self.terminating = sum(pods_of_jobs.is_terminating(pod) for pod in self.pods)
        countable = [pod for pod in self.pods if self._is_countable(pod)]
        self.new_succeeded = [
            pod
            for pod in countable
            if pod.status.get("phase") == "Succeeded" and pod.uid not in self.uncounted["succeeded"]
        ]
        self.new_failed = [
            pod
            for pod in countable
            if pods_of_jobs.is_failed(pod, job) and pod.uid not in self.uncounted["failed"]
        ]
        counted = [pod for pod in self.new_failed if judge(job, pod).counts]
        self.succeeded = (
            job.status.get("succeeded", 0) + len(self.new_succeeded) + len(self.uncounted["succeeded"])
        )
        self.failed = job.status.get("failed", 0) + len(counted) + len(self.uncounted["failed"])
        if "startTime" not in self.status and not self.is_suspended:
            self.status["startTime"] = timestamp(self.now)
        if is_indexed(spec):
            self._count_indexes(countable)

    @property
    def completions(self) -> int | None:
        count: int | None = self.job.spec.get("completions")
        return count

    @property
    def is_suspended(self) -> bool:
        return bool(self.job.spec.get("suspend"))

    @property
    def limit_per_index(self) -> int | None:
        limit: int | None = self.job.spec.get("backoffLimitPerIndex")
        return limit

    def _is_countable(self, pod: Stored) -> bool:
        """Whether a pod is still to be counted and, in an Indexed Job, has an index that there is."""
        if not pods_of_jobs.is_tracked(pod):
            return False
        index = pods_of_jobs.index_of(pod)
        return not is_indexed(self.job.spec) or (index is not None and index < (self.completions or 0))

    def _count_indexes(self, countable: list[Stored]) -> None:
        total = self.completions or 0
        done = [pod for pod in countable if pod.status.get("phase") == "Succeeded"]
        known = parse_indexes(self.status.get("completedIndexes", ""), total)
        self.succeeded_indexes = known | pods_of_jobs.indexes_of(done)
        self.succeeded = len(self.succeeded_indexes)
        if self.limit_per_index is None:
            return
        failed = [pod for pod in countable if self._fails_index(pod)]
        known = parse_indexes(self.status.get("failedIndexes") or "", total)
        self.failed_indexes = known | pods_of_jobs.indexes_of(failed)
        settled = self.succeeded_indexes | self.failed_indexes | pods_of_jobs.indexes_of(self.active)
        for pod in countable:
            index = pods_of_jobs.index_of(pod)
            if index is None or index in settled or not pods_of_jobs.is_failed(pod, self.job):
                continue
            last = self.awaited.get(index)
            if last is None or _rank(pod) >= _rank(last):
                self.awaited[index] = pod

    def _fails_index(self, pod: Stored) -> bool:
        if not pods_of_jobs.is_failed(pod, self.job):
            return False
        verdict = judge(self.job, pod)
        if verdict.action == "FailIndex":
            return True
        return verdict.counts and pods_of_jobs.failures_of(pod) >= (self.limit_per_index or 0)

    # How it ends

    def find_end(self) -> None:
        """Sees whether the Job has failed, or fulfils its success policy; what was seen before holds."""
        self.end = self._known_end() or self._failure() or self._index_failure() or self._success()

    def _known_end(self) -> Document | None:
        met = condition(self.status, SUCCESS_CRITERIA_MET)
        if met is not None and met.get("status") == "True":
            return met
        target = condition(self.status, FAILURE_TARGET)
        if target is not None and target.get("status") == "True":
            return job_condition(FAILED, target.get("reason", ""), target.get("message", ""), self.now)
        for pod in self.pods:
            if pods_of_jobs.is_failed(pod, self.job) and (message := judge(self.job, pod).message):
                return job_condition(FAILURE_TARGET, "PodFailurePolicy", message, self.now)
        return None

    def _failure(self) -> Document | None:
        limit = self.job.spec.get("backoffLimit", 6)
        if self.failed > limit or self._restarted_too_often(limit):
            text = "Job has reached the specified backoff limit"
            return job_condition(FAILURE_TARGET, "BackoffLimitExceeded", text, self.now)
        left = self.seconds_to_deadline()
        if left is not None and left <= 0:
            text = "Job was active longer than specified deadline"
            return job_condition(FAILURE_TARGET, "DeadlineExceeded", text, self.now)
        return None

    def _restarted_too_often(self, limit: int) -> bool:
        template = self.job.spec.get("template") or {}
        if (template.get("spec") or {}).get("restartPolicy") != "OnFailure":
            return False
        return pods_of_jobs.restarts_of(self.pods) >= max(limit, 1)

    def seconds_to_deadline(self) -> float | None:
        deadline, start = self.job.spec.get("activeDeadlineSeconds"), self.status.get("startTime")
        if deadline is None or start is None or self.is_suspended:
            return None
        return seconds_of(start) + float(deadline) - self.now

    def _index_failure(self) -> Document | None:
        failed = len(self.failed_indexes)
        if self.limit_per_index is None or not failed:
            return None
        most = self.job.spec.get("maxFailedIndexes")
        if most is not None and failed > most:
            text = "Job has exceeded the specified maximal number of failed indexes"
            return job_condition(FAILURE_TARGET, "MaxFailedIndexesExceeded", text, self.now)
        if failed + len(self.succeeded_indexes) >= (self.completions or 0):
            return job_condition(FAILURE_TARGET, "FailedIndexes", "Job has failed indexes", self.now)
        return None

    def _success(self) -> Document | None:
        message = success_message(self.job, self.succeeded_indexes)
        return job_condition(SUCCESS_CRITERIA_MET, "SuccessPolicy", message, self.now) if message else None

    def find_completion(self, active: int) -> None:
        """Sees whether as many pods have succeeded as are to."""
        least = 1 if self.completions is None else self.completions
        if self.succeeded >= least and active == 0:
            text = "Reached expected number of succeeded pods"
            self.end = job_condition(SUCCESS_CRITERIA_MET, "CompletionsReached", text, self.now)

    def wanted_active(self) -> int:
        parallelism: int = self.job.spec.get("parallelism", 1)
        if self.completions is None:
            return len(self.active) if self.succeeded > 0 else parallelism
        return max(min(self.completions - self.succeeded, parallelism), 0)

    def free_indexes(self, count: int) -> list[int]:
        """The lowest indexes that need a pod."""
        taken = self.succeeded_indexes | self.failed_indexes | pods_of_jobs.indexes_of(self.active)
        if pods_of_jobs.only_replaces_failed(self.job):
            taken |= pods_of_jobs.indexes_of(pod for pod in self.pods if pods_of_jobs.is_terminating(pod))
        found: list[int] = []
        for index in range(self.completions or 0):
            if len(found) >= count:
                break
            if index not in taken:
                found.append(index)
        return found

    # What the conditions tell

    def ensure_condition(self, type_: str, value: str, reason: str, message: str) -> bool:
        """Has a condition say this; one that was never there need not be false. Says whether it changed."""
        conditions = self.status["conditions"]
        for place, each in enumerate(conditions):
            if each.get("type") == type_:
                same = (each.get("status"), each.get("reason"), each.get("message"))
                if same == (value, reason, message):
                    return False
                conditions[place] = job_condition(type_, reason, message, self.now, value)
                return True
        if value == "True":
            conditions.append(job_condition(type_, reason, message, self.now))
        return value == "True"

    def note_suspension(self) -> str:
        """Tells whether the Job is suspended; returns the event to be told, if that has changed."""
        if self.is_suspended:
            if self.ensure_condition(SUSPENDED, "True", "JobSuspended", "Job suspended"):
                self.status.pop("startTime", None)
                return "Suspended"
        elif self.ensure_condition(SUSPENDED, "False", "JobResumed", "Job resumed"):
            self.status["startTime"] = timestamp(self.now)
            return "Resumed"
        return ""


def _rank(pod: Stored) -> tuple[int, float]:
    return pods_of_jobs.all_failures_of(pod), pods_of_jobs.finished_at(pod)
