"""Jobs: pods until as many have succeeded as are to, or too many have failed."""

from __future__ import annotations

from collections import Counter

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.parts import condition, selector_of
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.base.times import Clock, seconds_of
from moorage.cluster.kinds.batch.job_spec import is_indexed
from moorage.cluster.kinds.batch.job_status import COMPLETE, FAILED
from moorage.cluster.life.controllers import objects
from moorage.cluster.life.controllers.controller import Breaks, Controller
from moorage.cluster.life.controllers.objects import Groups, Key
from moorage.cluster.life.controllers.workloads import job_pods
from moorage.cluster.life.controllers.workloads.job_policies import Backoff, judge, remaining
from moorage.cluster.life.controllers.workloads.job_progress import Progress, is_finished
from moorage.cluster.life.controllers.workloads.job_tracking import Tracking, set_count
from moorage.cluster.life.controllers.workloads.owned_pods import create_pod, worth
from moorage.cluster.life.controllers.workloads.replica_pods import ReplicaPods
from moorage.cluster.objects.writes import InternalWriter

JOBS = "jobs.batch"
OWN_NAME = "kubernetes.io/job-controller"
BURST = 500  # pods that are made, deleted or counted before everything is looked at again
_STRAYS = ("", "pods without a Job")


class _Outdated(Exception):
    """The Job has changed meanwhile, and is in the queue again."""


class Jobs(Controller):
    name = "job"

    def __init__(self, writer: InternalWriter, clock: Clock) -> None:
        super().__init__(writer, clock)
        self._pods = ReplicaPods(self._store, self._queue.add, JOBS, "Job")
        self._owners: Groups[Key, str] = Groups()
        self._strays: set[Key] = set()
        self._backoffs: dict[str, Backoff] = {}

    def _begin(self) -> None:
        for pod in self._store.iterate("pods"):
            self._note(pod)
        self._pods.start()
        self._listen("pods", self._pod_changed)
        self._listen(JOBS, self._job_changed)
        self._add_all(JOBS)

    def _pod_changed(self, change: Change) -> None:
        if change.type != "DELETED":
            self._note(change.new)
        self._pods.pod_changed(change)

    def _note(self, pod: Stored) -> None:
        """Remembers whose pods there are, so that none keeps its finalizer when its Job is gone."""
        owner = objects.controller_of(pod)
        if owner is not None:
            if owner.get("kind") == "Job":
                self._owners.add((pod.namespace, owner.get("name", "")), owner.get("uid", ""))
        elif job_pods.is_tracked(pod):
            self._strays.add(pod.key)
            self._queue.add(_STRAYS)

    def _job_changed(self, change: Change) -> None:
        if change.type == "DELETED":
            self._backoffs.pop(change.new.uid, None)
        self._pods.set_changed(change)

    async def _reconcile(self, key: Key) -> float | None:
        if key == _STRAYS:
            for pod in objects.pods_of(self._store, list(self._strays)):
                if objects.controller_of(pod) is None and job_pods.is_tracked(pod):
                    objects.drop_finalizer(self._writer, "pods", pod, job_pods.FINALIZER)
            self._strays.clear()
            return None
        job = self._store.get(JOBS, *key)
        self._release_others(key, job)
        if job is None:
            return None
        if is_finished(job):
            self._backoffs.pop(job.uid, None)
            return self._clean_up(job)
        if job.spec.get("managedBy") not in (None, OWN_NAME):
            return None
        try:
            return await self._go_on(job)
        except _Outdated:
            return None

    def _release_others(self, key: Key, job: Stored | None) -> None:
        """Lets pods go whose Job is gone or finished: nobody counts them any more."""
        for uid in list(self._owners.get(key, ())):
            if job is not None and job.uid == uid and not is_finished(job):
                continue
            pods = self._pods.owned(uid)
            for pod in pods:
                if job_pods.is_tracked(pod):
                    objects.drop_finalizer(self._writer, "pods", pod, job_pods.FINALIZER)
            if not pods:
                self._owners.discard(key, uid)

    def _clean_up(self, job: Stored) -> float | None:
        """Deletes a finished Job when its time is over."""
        seconds = job.spec.get("ttlSecondsAfterFinished")
        if seconds is None or job.is_deleted:
            return None
        found = [condition(job.status, type_) for type_ in (COMPLETE, FAILED)]
        ends = [each["lastTransitionTime"] for each in found if each and each.get("status") == "True"]
        left = max(map(seconds_of, ends)) + float(seconds) - self._clock()
        if left > 0:
            return left
        objects.delete_if_there(self._writer, JOBS, job, "Foreground")
        return None

    # One look at a Job

    async def _go_on(self, job: Stored) -> float | None:
        progress = Progress(job, self._claim(job), self._clock())
        backoff = self._backoffs.get(job.uid, Backoff())
        backoff = backoff.after(progress.new_succeeded, progress.new_failed)
        progress.find_end()
        refusal: Refusal | None = None
        again: float | None = None
        active = len(progress.active)
        if progress.end is not None:
            await self._delete(job, progress.active)
            progress.terminating += active
            active = progress.ready = 0
        else:
            if not job.is_deleted:
                try:
                    active, again = await self._manage(progress, backoff)
                except Refusal as refused:
                    if objects.is_ending(self._store, job.namespace):
                        return None
                    refusal = refused
                    active = sum(objects.is_active(pod) for pod in self._pods.owned(job.uid))
            progress.find_completion(active)
            if progress.end is None and not job.is_deleted and refusal is None:
                told = progress.note_suspension()
                if told:
                    self._recorder.tell(job, told, f"Job {told.lower()}")
        progress.status |= {"ready": progress.ready, "terminating": progress.terminating}
        set_count(progress.status, "active", active)
        self._track(progress, backoff)
        if refusal is not None:
            raise refusal
        left = progress.seconds_to_deadline() if progress.end is None else None
        return min((each for each in (again, left) if each is not None), default=None)

    def _claim(self, job: Stored) -> list[Stored]:
        """The pods of a Job, after fitting ones were adopted and others let go."""
        selector = selector_of(job.spec.get("selector"))
        pods = []
        for pod in self._pods.owned(job.uid):
            if selector.matches(pod.labels):
                pods.append(pod)
            elif not job.is_deleted:
                objects.drop_owners(self._writer, "pods", pod, {job.uid})
        if not job.is_deleted:
            reference = objects.controller_reference(job, "batch/v1", "Job")

            def adopt(document: Document) -> None:
                metadata = document["metadata"]
                metadata.setdefault("ownerReferences", []).append(reference)
                if job_pods.FINALIZER not in metadata.setdefault("finalizers", []):
                    metadata["finalizers"].append(job_pods.FINALIZER)

            fitting = [pod for pod in self._pods.take_adoptable(job.key) if selector.matches(pod.labels)]
            adopted = [self._writer.change("pods", pod, adopt) for pod in fitting]
            pods += [pod for pod in adopted if pod is not None]
        return sorted(pods, key=lambda pod: (job_pods.index_of(pod) or 0, pod.created, pod.name))

    async def _manage(self, progress: Progress, backoff: Backoff) -> tuple[int, float | None]:
        """Makes and deletes pods; says how many are active then, and after how many seconds to look again."""
        job, active = progress.job, len(progress.active)
        if progress.is_suspended:
            surplus, wanted = progress.active, 0
        else:
            wanted = progress.wanted_active()
            surplus = _surplus(progress, max(active - wanted, 0))[:BURST]
        if surplus:
            progress.ready -= sum(objects.ready_condition(pod) is not None for pod in surplus)
            await self._delete(job, surplus, counted=False)
            progress.terminating += sum(
                objects.same_object(self._store, "pods", pod.key, pod.uid) is not None for pod in surplus
            )
            return active - len(surplus), None
        ending = progress.terminating if job_pods.only_replaces_failed(job) else 0
        missing = min(wanted - ending - active, BURST)
        if missing <= 0:
            return active, None
        if progress.limit_per_index is None and (wait := backoff.remaining(progress.now)) > 0:
            return active, wait
        indexes: list[int | None] = [None] * missing
        if is_indexed(job.spec):
            waits = {index: self._index_wait(progress, index) for index in progress.free_indexes(missing)}
            indexes = [index for index, wait in waits.items() if wait <= 0]
            if waits and not indexes:
                return active, min(waits.values())
        made = await self._create(progress, indexes)
        return active + made, None

    def _index_wait(self, progress: Progress, index: int) -> float:
        last = progress.awaited.get(index)
        if last is None:
            return 0.0
        return remaining(job_pods.all_failures_of(last) + 1, job_pods.finished_at(last), progress.now)

    async def _create(self, progress: Progress, indexes: list[int | None]) -> int:
        job = progress.job
        template = job_pods.job_template(job)
        breaks = Breaks()
        for number, index in enumerate(indexes):
            notes = self._failure_notes(progress, index)
            create_pod(self._writer, self._recorder, job, job_pods.job_pod(job, template, index, notes))
            await breaks.take()
            if not self._is_as_it_was(job):
                return number + 1
        return len(indexes)

    def _failure_notes(self, progress: Progress, index: int | None) -> dict[str, str]:
        """What a pod has to know of those that failed at its index before."""
        if progress.limit_per_index is None or index is None:
            return {}
        failures = ignored = 0
        last = progress.awaited.get(index)
        if last is not None:
            failures = job_pods.failures_of(last)
            ignored = job_pods.all_failures_of(last) - failures
            counts = judge(progress.job, last).counts
            failures, ignored = failures + counts, ignored + (not counts)
        notes = {job_pods.FAILURES: str(failures)}
        return notes | {job_pods.IGNORED_FAILURES: str(ignored)} if ignored else notes

    async def _delete(self, job: Stored, pods: list[Stored], *, counted: bool = True) -> None:
        """Deletes pods; those that are not to be counted lose their finalizer first."""
        breaks = Breaks()
        for pod in pods:
            if not counted and job_pods.is_tracked(pod):
                objects.drop_finalizer(self._writer, "pods", pod, job_pods.FINALIZER)
            found = objects.same_object(self._store, "pods", pod.key, pod.uid)
            if found is not None and not found.is_deleted:
                self._writer.delete("pods", found)
                self._recorder.tell(job, "SuccessfulDelete", f"Deleted pod: {pod.name}")
            await breaks.take()

    def _is_as_it_was(self, job: Stored) -> bool:
        """Whether the wishes are still those that are being carried out."""
        found = objects.same_object(self._store, JOBS, job.key, job.uid)
        return found is not None and not found.is_deleted and found.generation == job.generation

    def _track(self, progress: Progress, backoff: Backoff) -> None:
        """Counts pods that have ended, and ends the Job when all are counted."""
        tracking = Tracking(self._store, progress)
        end = tracking.note_ended()
        job = self._write(progress.job, progress.status)
        self._backoffs[job.uid] = backoff
        for pod in tracking.ended:
            objects.drop_finalizer(self._writer, "pods", pod, job_pods.FINALIZER)
        has_ended = tracking.count_released() and end is not None
        if has_ended and end is not None:
            tracking.close(end)
        job = self._write(job, progress.status)
        if has_ended and end is not None:
            self._tell_end(job, end)

    def _tell_end(self, job: Stored, end: Document) -> None:
        if end["type"] == FAILED:
            self._recorder.tell(job, end["reason"], end["message"], warning=True)
            return
        completions = job.spec.get("completions")
        if completions is not None and job.status.get("succeeded", 0) > completions:
            text = "Too many succeeded pods running after completion count reached"
            self._recorder.tell(job, "TooManySucceededPods", text, warning=True)
        self._recorder.tell(job, "Completed", "Job completed")

    def _write(self, job: Stored, status: Document) -> Stored:
        told = {name: value for name, value in status.items() if value or name != "conditions"}
        written = objects.write_status(self._writer, JOBS, job, objects.copied(told))
        if written is None:
            raise _Outdated
        return written


def _surplus(progress: Progress, least: int) -> list[Stored]:
    """Pods that are not needed: those whose index another one has, and those whose end does least harm."""
    first = sorted(progress.active, key=lambda pod: worth(pod, Counter()))
    if not is_indexed(progress.job.spec):
        return first[:least]
    surplus: list[Stored] = []
    left: list[Stored] = []
    seen: set[int] = set()
    for pod in reversed(first):
        index = job_pods.index_of(pod)
        if index is None or index >= (progress.completions or 0) or index in seen:
            surplus.append(pod)
        else:
            seen.add(index)
            left.append(pod)
    more = max(least - len(surplus), 0)
    return [*surplus, *list(reversed(left))[:more]]
