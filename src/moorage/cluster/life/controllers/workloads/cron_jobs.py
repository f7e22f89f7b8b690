"""CronJobs: a Job whenever one is due."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import NamedTuple

from moorage.cluster.base.cron import Schedule, ScheduleError, parse_schedule, zone_of, zone_problem
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.parts import is_true, part
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock, seconds_of, timestamp
from moorage.cluster.kinds.batch.job_status import COMPLETE, FAILED
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Controller
from moorage.cluster.life.controllers.objects import Groups, Key
from moorage.cluster.life.controllers.workloads.job_progress import is_finished
from moorage.cluster.life.controllers.workloads.jobs import JOBS
from moorage.cluster.objects.writes import InternalWriter

CRON_JOBS = "cronjobs.batch"
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MARGIN = 0.1  # seconds after which a Job that is due is looked for
MANY = 100  # missed times that are worth a warning


class _InvalidSchedule(Exception):
    """A schedule that can be read but makes no sense."""


class Timetable(NamedTuple):
    """When the Jobs of a CronJob are due."""

    schedule: Schedule
    zone: tzinfo

    def next(self, after: float) -> float:
        due = self.schedule.next(after, self.zone)
        if due is None:
            raise _InvalidSchedule("time difference between two schedules is less than 1 second")
        return due

    def last_due(self, since: float, now: float) -> tuple[float | None, int]:
        """The last time after `since` that has come, and about how many have come since then."""
        first = self.next(since)
        if now < first:
            return None, 0
        second = self.next(first)
        if now < second:
            return first, 0
        step = second - first
        missed = int((now - first) // step) + 1
        last: float | None = None
        due = self.next(first + (missed - 2) * step)
        while due <= now:
            last, due = due, self.next(due)
        return last, missed


class CronJobs(Controller):
    name = "cronjob"

    def __init__(self, writer: InternalWriter, clock: Clock) -> None:
        super().__init__(writer, clock)
        self._jobs: Groups[str, Key] = Groups()

    def _begin(self) -> None:
        for job in self._store.iterate(JOBS):
            self._note(job)
        self._listen(JOBS, self._job_changed)
        self._listen(CRON_JOBS, self._cron_job_changed)
        self._add_all(CRON_JOBS)

    def _note(self, job: Stored) -> None:
        owner = objects.controller_of(job)
        if owner is not None and owner.get("kind") == "CronJob":
            self._jobs.add(owner.get("uid", ""), job.key)
            self._queue.add((job.namespace, owner.get("name", "")))

    def _job_changed(self, change: Change) -> None:
        for job in filter(None, (change.old, change.new)):
            owner = objects.controller_of(job)
            if owner is not None and owner.get("kind") == "CronJob":
                self._jobs.discard(owner.get("uid", ""), job.key)
                self._queue.add((job.namespace, owner.get("name", "")))
        if change.type != "DELETED":
            self._note(change.new)

    def _cron_job_changed(self, change: Change) -> None:
        """Another schedule holds from its next time on, and not for times that it would have had before."""
        old, new = change.old, change.new
        fields = ("schedule", "timeZone")
        if change.type == "MODIFIED" and old and any(old.spec.get(f) != new.spec.get(f) for f in fields):
            timetable = self._timetable(new)
            if timetable is not None:
                self._queue.add_after(new.key, self._until_next(new, timetable))
                return
        self._queue.add(new.key)

    async def _reconcile(self, key: Key) -> float | None:
        cron_job = self._store.get(CRON_JOBS, *key)
        if cron_job is None:
            return None
        jobs = self._jobs_of(cron_job)
        status = {**cron_job.status, "active": list(cron_job.status.get("active") or ())}
        again: float | None = None
        try:
            self._forget_oldest(cron_job, status, jobs)
            self._see_jobs(cron_job, status, jobs)
            if not cron_job.is_deleted and not cron_job.spec.get("suspend"):
                again = self._start_due(cron_job, status)
        finally:
            if not status["active"]:
                del status["active"]
            objects.write_status(self._writer, CRON_JOBS, cron_job, status)
        return again

    def _jobs_of(self, cron_job: Stored) -> list[Stored]:
        found = (self._store.get(JOBS, *key) for key in self._jobs.get(cron_job.uid, ()))
        return sorted((job for job in found if job is not None), key=lambda job: (job.created, job.name))

    # What became of the Jobs

    def _see_jobs(self, cron_job: Stored, status: Document, jobs: list[Stored]) -> None:
        active = {each.get("uid", "") for each in status["active"]}
        for job in jobs:
            if not is_finished(job):
                if job.uid not in active:
                    text = f"Saw a job that the controller did not create or forgot: {job.name}"
                    self._recorder.tell(cron_job, "UnexpectedJob", text, warning=True)
                continue
            if job.uid in active:
                end = COMPLETE if is_true(job.document, COMPLETE) else FAILED
                text = f"Saw completed job: {job.name}, condition: {end}"
                self._recorder.tell(cron_job, "SawCompletedJob", text)
                _drop(status, job.uid)
            completed = job.status.get("completionTime")
            if completed and completed > status.get("lastSuccessfulTime", ""):
                status["lastSuccessfulTime"] = completed
        present = {job.uid for job in jobs}
        for each in list(status["active"]):
            if each.get("uid") not in present:
                text = f"Active job went missing: {each.get('name', '')}"
                self._recorder.tell(cron_job, "MissingJob", text)
                _drop(status, each.get("uid", ""))

    def _forget_oldest(self, cron_job: Stored, status: Document, jobs: list[Stored]) -> None:
        limits = ((COMPLETE, "successfulJobsHistoryLimit"), (FAILED, "failedJobsHistoryLimit"))
        for end, field in limits:
            limit = cron_job.spec.get(field)
            done = [job for job in jobs if is_true(job.document, end)]
            done.sort(key=lambda job: (job.status.get("startTime") or "~", job.name))
            if limit is not None:
                for job in done[: max(len(done) - limit, 0)]:
                    self._delete(cron_job, status, job)

    def _delete(self, cron_job: Stored, status: Document, job: Stored) -> None:
        if not job.is_deleted:
            self._writer.delete(JOBS, job)
            self._recorder.tell(cron_job, "SuccessfulDelete", f"Deleted job {job.name}")
        _drop(status, job.uid)

    # What is due

    def _timetable(self, cron_job: Stored) -> Timetable | None:
        spec = cron_job.spec
        zone = zone_of(spec.get("timeZone"))
        if zone is None:
            name = spec["timeZone"]
            text = f"invalid timeZone: {quoted(name)}: {zone_problem(name)}"
            self._recorder.tell(cron_job, "UnknownTimeZone", text, warning=True)
            return None
        try:
            return Timetable(parse_schedule(spec.get("schedule", "")), zone)
        except ScheduleError as problem:
            text = f"unparseable schedule: {quoted(spec.get('schedule', ''))} : {problem}"
            self._recorder.tell(cron_job, "UnparseableSchedule", text, warning=True)
            return None

    def _start_due(self, cron_job: Stored, status: Document) -> float | None:
        timetable = self._timetable(cron_job)
        if timetable is None:
            return None
        now = self._clock()
        since = _last_time(cron_job)
        deadline = cron_job.spec.get("startingDeadlineSeconds")
        try:
            earliest = since if deadline is None else max(since, now - deadline)
            due, missed = timetable.last_due(earliest, now)
            if due is not None:
                if missed > MANY:
                    text = (
                        "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check "
                        "clock skew"
                    )
                    self._recorder.tell(cron_job, "TooManyMissedTimes", text, warning=True)
                if self._may_start(cron_job, status, due, now):
                    self._start(cron_job, status, due, timetable.zone)
                    since = due
            return self._until_next(cron_job, timetable, since)
        except _InvalidSchedule as problem:
            text = f"invalid schedule: {cron_job.spec.get('schedule', '')} : {problem}"
            self._recorder.tell(cron_job, "InvalidSchedule", text, warning=True)
            return None

    def _until_next(self, cron_job: Stored, timetable: Timetable, since: float | None = None) -> float:
        """Seconds until the next time comes."""
        now = self._clock()
        since = _last_time(cron_job) if since is None else since
        due, missed = timetable.last_due(since, now)
        last = due if due is not None else now if missed else since
        return timetable.next(last) + MARGIN - now

    def _may_start(self, cron_job: Stored, status: Document, due: float, now: float) -> bool:
        deadline = cron_job.spec.get("startingDeadlineSeconds")
        if deadline is not None and due + deadline < now:
            when = datetime.fromtimestamp(due, UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")
            text = f"Missed scheduled time to start a job: {when}"
            self._recorder.tell(cron_job, "MissSchedule", text, warning=True)
            return False
        names = {each.get("name") for each in status["active"]}
        if _job_name(cron_job, due) in names or status.get("lastScheduleTime") == timestamp(due):
            return False
        policy = cron_job.spec.get("concurrencyPolicy")
        if policy == "Forbid" and status["active"]:
            text = "Not starting job because prior execution is running and concurrency policy is Forbid"
            self._recorder.tell(cron_job, "JobAlreadyActive", text)
            return False
        if policy == "Replace":
            for job in self._jobs_of(cron_job):
                if any(each.get("uid") == job.uid for each in status["active"]):
                    self._delete(cron_job, status, job)
        return True

    def _start(self, cron_job: Stored, status: Document, due: float, zone: tzinfo) -> None:
        name = _job_name(cron_job, due)
        job = self._store.get(JOBS, cron_job.namespace, name)
        if job is None:
            try:
                job = self._writer.create(JOBS, _new_job(cron_job, name, due, zone))
            except Refusal as refusal:
                if not objects.is_ending(self._store, cron_job.namespace):
                    text = f"Error creating job: {refusal.message}"
                    self._recorder.tell(cron_job, "FailedCreate", text, warning=True)
                raise
            self._recorder.tell(cron_job, "SuccessfulCreate", f"Created job {name}")
        elif not objects.is_controlled_by(job, cron_job):
            return
        reference = {"kind": "Job", "apiVersion": "batch/v1", "namespace": job.namespace, "name": name}
        reference |= {"uid": job.uid, "resourceVersion": str(job.revision)}
        status["active"].append(reference)
        status["lastScheduleTime"] = timestamp(due)


def _last_time(cron_job: Stored) -> float:
    """When a Job was last made or, before the first one, when the CronJob was."""
    return seconds_of(cron_job.status.get("lastScheduleTime") or cron_job.created)


def _drop(status: Document, uid: str) -> None:
    status["active"] = [each for each in status["active"] if each.get("uid") != uid]


def _job_name(cron_job: Stored, due: float) -> str:
    """One name for each minute, so that no Job is made twice."""
    return f"{cron_job.name}-{int(due) // 60}"


def _new_job(cron_job: Stored, name: str, due: float, zone: tzinfo) -> Document:
    template = cron_job.spec.get("jobTemplate") or {}
    given = part(template, "metadata")
    when = datetime.fromtimestamp(due, zone).isoformat().replace("+00:00", "Z")
    metadata: Document = {
        "name": name,
        "namespace": cron_job.namespace,
        "annotations": {**part(given, "annotations"), SCHEDULED_AT: when},
        "ownerReferences": [objects.controller_reference(cron_job, "batch/v1", "CronJob")],
    }
    if given.get("labels"):
        metadata["labels"] = given["labels"]
    return objects.copied({"metadata": metadata, "spec": template.get("spec") or {}})
