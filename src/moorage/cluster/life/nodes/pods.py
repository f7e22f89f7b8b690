"""The life of simulated pods: bound, running after a moment, and gone soon after they are deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.life.controllers.devices.claims import CLAIMS, consumers
from moorage.cluster.life.controllers.objects import Key, is_finished, same_object, write_status
from moorage.cluster.life.nodes import course as courses
from moorage.cluster.life.nodes import pod_annotations as wishes
from moorage.cluster.life.nodes import pod_status as statuses
from moorage.cluster.life.nodes.claimed_devices import FAILED, problem_with_devices
from moorage.cluster.life.nodes.course import Course
from moorage.cluster.life.nodes.finishing import KILLED, killed_status
from moorage.cluster.life.nodes.held_pods import hold, refuse
from moorage.cluster.life.nodes.machine import Machine
from moorage.cluster.life.nodes.pacing import Paced
from moorage.cluster.life.nodes.pod_annotations import NEVER

START_AFTER = 0.5  # seconds
END_AFTER = 0.3
CHANGE_AFTER = 0.1

_NEEDED = {"name", "state", "image", "ready", "restartCount"}
_Item = tuple[Key, str]  # key and uid of a pod


class Pods:
    """The part of all kubelets that concerns pods whose containers are not run for real.

    Whatever a container's command is, `true` and `sleep 5` included, it counts as running until the pod is
    deleted, or `course.py` or `finishing.py` say otherwise.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._writer = machine.writer
        self._store = machine.writer.store
        self._starts = _Work("starting pods", START_AFTER, self._start)
        self._changes = _Work("changing pods", CHANGE_AFTER, self._change)
        self._ends = _Work("ending pods", END_AFTER, self._end)
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._complaints: dict[str, list[str]] = {}

    def start(self) -> None:
        for pod in self._store.iterate("pods"):
            if address := pod.status.get("podIP"):
                self._machine.addresses.note(pod.uid, address)
        self._machine.bound.tell(self._look, self._gone)
        self._machine.bound.listen(CLAIMS, self._claim_changed)
        for work in (self._starts, self._changes, self._ends):
            work.start()
        for pod in self._store.iterate("pods"):
            # It may have run before the cluster was started again.
            if pod.spec.get("nodeName") and self._machine.programs.refusal(pod) is not None:
                self._changes.add(pod)

    async def stop(self) -> None:
        for work in (self._starts, self._changes, self._ends):
            await work.stop()
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    # What there is to be done

    def _gone(self, pod: Stored) -> None:
        self._machine.addresses.release(pod.uid)
        self._complaints.pop(pod.uid, None)
        for work in (self._starts, self._changes, self._ends):
            work.forget(pod.uid)
        self._look_after(pod, NEVER)

    def _look(self, pod: Stored) -> None:
        """Sees what there is to be done for a pod."""
        if not pod.spec.get("nodeName"):
            return
        if not pod.is_deleted and not _is_pending(pod) and not _may_change(pod):
            return
        if self._machine.programs.runs_pod(pod):
            return
        if pod.is_deleted:
            self._look_at_end(pod)
        else:
            (self._starts if _is_pending(pod) else self._changes).add(pod)

    def _claim_changed(self, change: Change) -> None:
        """A pod that waits for its devices may have been allowed to use them."""
        for consumer in consumers(change.new):
            key = (change.new.namespace, consumer.get("name", ""))
            pod = self._find((key, consumer.get("uid", "")))
            if pod is not None and _is_pending(pod):
                self._look(pod)

    def _look_at_end(self, pod: Stored) -> None:
        rest = courses.rest_of_end(pod.document, self._machine.clock())
        self._look_after(pod, rest or NEVER)
        if not rest:
            self._ends.add(pod)
        elif not _is_observed(pod):
            self._changes.add(pod)

    def _look_after(self, pod: Stored, seconds: float) -> None:
        """Looks at a pod again later, and not at the time that was set before."""
        timer = self._timers.pop(pod.uid, None)
        if timer is not None:
            timer.cancel()
        if seconds != NEVER:
            loop = asyncio.get_running_loop()
            self._timers[pod.uid] = loop.call_later(seconds, self._wake, (pod.key, pod.uid))

    def _wake(self, item: _Item) -> None:
        self._timers.pop(item[1], None)
        if (pod := self._find(item)) is not None:
            self._look(pod)

    def _find(self, item: _Item) -> Stored | None:
        return same_object(self._store, "pods", *item)

    # What is done

    def _start(self, item: _Item, crowded: bool) -> None:
        self._starts.forget(item[1])
        pod = self._find(item)
        if pod is not None and not pod.is_deleted and _is_pending(pod):
            self._go_on(pod, crowded)

    def _change(self, item: _Item, crowded: bool) -> None:
        self._changes.forget(item[1])
        pod = self._find(item)
        if pod is None or _is_pending(pod) or is_finished(pod):
            return
        if pod.is_deleted and not _is_observed(pod) and not crowded:
            self._tell_end(pod)
        self._go_on(pod, crowded)

    def _go_on(self, pod: Stored, crowded: bool) -> None:
        """Writes what has become of a pod that is to run, and sees when something happens next."""
        node = self._store.get("nodes", "", pod.spec.get("nodeName", ""))
        if node is None:
            return
        now, course = self._machine.clock(), courses.course_of(pod.document)
        age = courses.age_of(pod.document, now)
        refusal = self._machine.programs.refusal(pod)
        if (refusal or not _is_pending(pod)) and age >= course.deadline:
            self._end_overdue(pod, now, crowded)
            return
        if refusal is not None:
            refuse(self._machine, pod, node.document, refusal)
            self._look_after(pod, course.deadline - age)
            return
        if _is_pending(pod) and (problem := problem_with_devices(self._store, pod)):
            hold(self._machine, pod, node.document, statuses.first_state(pod.document))
            if not crowded:
                self._machine.tell(pod, FAILED, problem, warning=True)
            return
        status = statuses.pod_status(
            pod.document,
            node.document,
            phase=statuses.RUNNING,
            address=self._machine.addresses.take(pod.uid, node.document),
            containers=_containers(pod, "containers", course, age, now),
            init_containers=_containers(pod, "initContainers", course, age, now),
            now=now,
        )
        changed = write_status(self._writer, "pods", pod, status)
        if changed is not None and changed is not pod and not crowded:
            self._tell_starts(changed, pod)
        if not pod.is_deleted:
            if not crowded:
                self._complain(pod)
            self._look_after(pod, course.next_after(age) - age)

    def _end_overdue(self, pod: Stored, now: float, crowded: bool) -> None:
        status = statuses.ended_status(pod.document, now, statuses.FAILED, KILLED)
        status |= {"reason": courses.DEADLINE_REASON, "message": courses.DEADLINE_MESSAGE}
        if not crowded:
            self._machine.tell(pod, courses.DEADLINE_REASON, courses.DEADLINE_MESSAGE)
            self._tell_end(pod)
        write_status(self._writer, "pods", pod, status)

    def _end(self, item: _Item, crowded: bool) -> None:
        pod = self._find(item)
        if pod is None:
            return
        current: Stored | None = pod
        if not is_finished(pod):
            if not crowded and not _is_pending(pod) and not _is_observed(pod):
                self._tell_end(pod)
            status = killed_status(pod, self._machine.clock())
            current = write_status(self._writer, "pods", pod, status) or self._find(item)
        if current is not None and self._find(item) is current:
            self._writer.delete("pods", current, grace_seconds=0)

    # What is told

    def _tell_starts(self, pod: Stored, before: Stored) -> None:
        """Tells of containers that were started, or started again."""
        for field, place in (
            ("initContainerStatuses", "initContainers"),
            ("containerStatuses", "containers"),
        ):
            known = {each.get("name"): each.get("restartCount") for each in before.status.get(field) or ()}
            for each in pod.status.get(field) or ():
                name = each["name"]
                if known.get(name) == each["restartCount"]:
                    continue
                path = f"spec.{place}{{{name}}}"
                if name in known:
                    text = f"Container {name} definition changed, will be restarted"
                    self._machine.tell(pod, "Killing", text, path)
                image = f'Container image "{each["image"]}" already present on machine'
                self._machine.tell(pod, "Pulled", image, path)
                self._machine.tell(pod, "Created", "Container created", path)
                self._machine.tell(pod, "Started", "Container started", path)

    def _tell_end(self, pod: Stored) -> None:
        for place, each in courses.running_containers(pod.spec):
            name = each.get("name", "")
            self._machine.tell(pod, "Killing", f"Stopping container {name}", f"spec.{place}{{{name}}}")

    def _complain(self, pod: Stored) -> None:
        """Says what a user has misspelt, once."""
        problems = wishes.misunderstood(pod)
        if problems != self._complaints.get(pod.uid, []):
            self._complaints[pod.uid] = problems
            for text in problems:
                self._machine.tell(pod, "InvalidAnnotation", text, warning=True)


class _Work:
    """Work on pods; what waits for it already is not added again until it is forgotten."""

    def __init__(self, name: str, delay: float, do: Callable[[_Item, bool], None]) -> None:
        self._known: set[str] = set()
        self._paced: Paced[_Item] = Paced(name, delay, do)
        self.start = self._paced.start
        self.stop = self._paced.stop

    def add(self, pod: Stored) -> None:
        if pod.uid not in self._known:
            self._known.add(pod.uid)
            self._paced.add((pod.key, pod.uid))

    def forget(self, uid: str) -> None:
        self._known.discard(uid)


def _containers(pod: Stored, field: str, course: Course, age: float, now: float) -> list[Document]:
    """The statuses of the containers of a pod that runs."""
    statuses_field = "containerStatuses" if field == "containers" else "initContainerStatuses"
    known = {} if _is_pending(pod) else _known(pod.status.get(statuses_field) or ())
    made = []
    for container in pod.spec.get(field) or ():
        name = container.get("name", "")
        status = known.get(name)
        if status is None and field == "containers":
            status = statuses.running(pod.uid, container, now)
        elif status is None:
            status = statuses.simulated_init(pod.uid, container, now)
        elif "running" in status["state"] and status["image"] != container.get("image"):
            status = statuses.restarted(pod.uid, container, status, now)
        if "running" in status["state"] and status["ready"] != (ready := course.is_ready(name, age)):
            status = {**status, "ready": ready}
        made.append(status)
    return made


def _known(statuses: Iterable[Document]) -> dict[str, Document]:
    """By name; what somebody else has written there may lack something, and is made anew."""
    return {each["name"]: each for each in statuses if each.keys() >= _NEEDED and each["state"]}


def _is_pending(pod: Stored) -> bool:
    return (pod.status.get("phase") or statuses.PENDING) == statuses.PENDING


def _is_observed(pod: Stored) -> bool:
    """Whether the status is that of the pod as it is wanted now; its deletion counts, too."""
    return bool(pod.status.get("observedGeneration", 0) == pod.generation)


def _is_ready(pod: Stored) -> bool:
    for each in pod.status.get("conditions") or ():
        if each.get("type") == "Ready":
            return bool(each.get("status") == "True")
    return False


def _may_change(pod: Stored) -> bool:
    """Whether there may be something to do for a pod that has been started."""
    if is_finished(pod):
        return False
    spec, notes = pod.spec, pod.annotations
    return bool(
        not _is_observed(pod)
        or "activeDeadlineSeconds" in spec
        or "readinessGates" in spec
        or (notes and not notes.keys().isdisjoint(wishes.ALL))
        or not _is_ready(pod)
    )
