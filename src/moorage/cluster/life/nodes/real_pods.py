"""Pods with containers that are really run, as processes on this machine."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Change, Document, Stored
from moorage.cluster.life.controllers.controller import cancel
from moorage.cluster.life.controllers.objects import FINISHED, Key, is_finished, same_object, write_status
from moorage.cluster.life.controllers.volumes.claims import VOLUMES
from moorage.cluster.life.nodes import course as courses
from moorage.cluster.life.nodes import pod_status as statuses
from moorage.cluster.life.nodes.addresses import local_address
from moorage.cluster.life.nodes.claimed_devices import FAILED, problem_with_devices
from moorage.cluster.life.nodes.containers import Container
from moorage.cluster.life.nodes.environment import Unavailable, base_environment
from moorage.cluster.life.nodes.machine import Machine
from moorage.cluster.life.nodes.pod_annotations import NEVER
from moorage.cluster.life.nodes.processes import LAST_OUTPUT, Process
from moorage.cluster.life.nodes.programs import prepare
from moorage.cluster.life.nodes.volumes import Volumes, folder_name, referenced

RETRY_VOLUMES = 1.0  # seconds until volumes that lack something are tried again
RETRY_DEVICES = 1.0
RENEW_VOLUMES = 600.0  # seconds after which volumes are written again, for their tokens
LEAST_GRACE = 2  # seconds a process gets in any case
SHUTDOWN_GRACE = 5.0  # seconds processes get to end when the cluster stops
REFRESH_AFTER = 0.2  # seconds in which changes of a ConfigMap or a Secret are gathered

log = logging.getLogger(__name__)


class RealPod:
    """One such pod, from its binding until its end. Its sidecars are never run, only its other containers."""

    def __init__(self, machine: Machine, pod: Stored) -> None:
        self._machine = machine
        self._store = machine.writer.store
        self.namespace = pod.namespace
        self._key: Key = pod.key
        self._uid = pod.uid
        self._folder = machine.folder / folder_name(self._uid)
        self._first_state = statuses.first_state(pod.document)
        self._volumes = Volumes(self._folder, self._store, machine.token_for, machine.claimed)
        self._containers = [self._container(pod, each) for each in pod.spec.get("containers") or ()]
        self._inits = [self._container(pod, each) for each in pod.spec.get("initContainers") or ()]
        self._began = machine.clock()
        self._started = False
        self._silent = False
        self._expired = False
        self.references = referenced(pod.document)
        """The ConfigMaps and Secrets that its volumes are made of."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"pod {'/'.join(self._key)}")
        self._ending: asyncio.Task[None] | None = None
        self._grace = float("inf")
        self._sleeping = False
        self._hurried = asyncio.Event()
        self._hurrying: asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._expiring: asyncio.Task[None] | None = None

    # What others ask of it

    def look(self, pod: Stored) -> None:
        """It is there or has changed."""
        if pod.is_deleted:
            self._hurry(pod.document["metadata"].get("deletionGracePeriodSeconds") or 0)
            self.end()
        elif not is_finished(pod) and pod.status.get("startTime"):
            age = courses.age_of(pod.document, self._machine.clock())
            self._set_deadline(courses.deadline_of(pod.document) - age)
        if self._started and pod.status.get("observedGeneration") != pod.generation:
            asyncio.get_running_loop().call_soon(self._write)

    def gone(self) -> asyncio.Task[None]:
        """It was deleted without being waited for."""
        self._hurry(0)
        return self.end()

    def refresh(self) -> None:
        """Something its volumes are made of has changed."""
        if not self._started or (found := self._pod_and_node()) is None:
            return
        try:
            self._volumes.write(*found)
        except Unavailable as problem:
            self._tell("FailedMount", str(problem), True)

    def end(self) -> asyncio.Task[None]:
        """Its deletion has begun, or it is gone already."""
        if self._ending is None:
            self._set_deadline(NEVER)
            self._ending = asyncio.get_running_loop().create_task(self._end())
        return self._ending

    async def stop(self) -> None:
        """Ends the processes without a word: the cluster itself stops, and may go on with the pod later."""
        self._silent = True
        self._set_deadline(NEVER)
        for task in (self._ending, self._hurrying, self._expiring):
            await cancel(task)
        await self._stop_all(SHUTDOWN_GRACE)
        self._clean_up()

    # Its life

    async def _run(self) -> None:
        try:
            await self._mount()
            await self._get_devices()
            self._started = True
            self._write()
            for container in self._real(self._inits):
                await container.run()
                if container.exit_code != 0:
                    return
            renewing = asyncio.get_running_loop().create_task(self._renew())
            try:
                await asyncio.gather(*(each.run() for each in self._real(self._containers)))
            finally:
                renewing.cancel()
        except Exception:
            log.warning("The pod %s could not be run", "/".join(self._key), exc_info=True)

    async def _mount(self) -> None:
        while True:
            if (found := self._pod_and_node()) is not None:
                try:
                    self._write()
                    self._volumes.write(*found)
                    return
                except Unavailable as problem:
                    self._tell("FailedMount", str(problem), True)
            await asyncio.sleep(RETRY_VOLUMES)

    async def _get_devices(self) -> None:
        while (pod := self._find()) is not None and (problem := problem_with_devices(self._store, pod)):
            self._tell(FAILED, problem, True)
            await asyncio.sleep(RETRY_DEVICES)

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_VOLUMES)
            self.refresh()

    def _hurry(self, grace: float) -> None:
        """Gives it less time to end, should it be ending already."""
        if grace < self._grace and self._ending is not None:
            self._hurried.set()
            if not self._sleeping:
                loop = asyncio.get_running_loop()
                self._hurrying = loop.create_task(self._stop_containers(grace or LEAST_GRACE))
        self._grace = min(grace, self._grace)

    async def _end(self) -> None:
        began = self._machine.clock()
        await self._sleep()
        rest = self._grace - (self._machine.clock() - began)
        await self._stop_all(rest if rest > 0 else LEAST_GRACE)
        self._write(ended=True)
        pod = self._find()
        if pod is not None:
            self._machine.writer.delete("pods", pod, grace_seconds=0)
        self._clean_up()

    async def _sleep(self) -> None:
        """Waits as long as the preStop hooks of its containers do."""
        self._sleeping = True
        while (pod := self._find()) and (rest := courses.rest_of_end(pod.document, self._machine.clock())):
            self._hurried.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._hurried.wait()
        self._sleeping = False

    def _set_deadline(self, seconds: float) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if seconds != NEVER:
            self._deadline = asyncio.get_running_loop().call_later(max(seconds, 0), self._expire)

    def _expire(self) -> None:
        if self._expiring is None and self._ending is None:
            self._expiring = asyncio.get_running_loop().create_task(self._fail())

    async def _fail(self) -> None:
        """It has been active for too long."""
        pod = self._find()
        self._tell(courses.DEADLINE_REASON, courses.DEADLINE_MESSAGE, False)
        grace = pod.spec.get("terminationGracePeriodSeconds") if pod is not None else 0
        await self._stop_all(grace or LEAST_GRACE)
        self._expired = True
        self._write()

    async def _stop_all(self, grace: float) -> None:
        if not self._started:
            self._task.cancel()
        await self._stop_containers(grace)
        await asyncio.wait((self._task,), timeout=2 * LAST_OUTPUT)
        await cancel(self._task)

    async def _stop_containers(self, grace: float) -> None:
        await asyncio.gather(*(each.stop(grace) for each in self._real()))

    def _clean_up(self) -> None:
        self._machine.logs.drop(*self._key, self._uid)
        self._volumes.remove()

    # Containers

    def _container(self, pod: Stored, spec: Document) -> Container | Document:
        """A container that is run, or the spec of one that is not."""
        machine = self._machine
        is_init = spec in (pod.spec.get("initContainers") or ())
        is_sidecar = is_init and spec.get("restartPolicy") == "Always"
        if is_sidecar or not machine.programs.is_run(spec):
            return spec
        field = "initContainer" if is_init else "container"
        known = {each.get("name"): each for each in pod.status.get(f"{field}Statuses") or ()}
        status = known.get(spec.get("name"), {})
        policy = pod.spec.get("restartPolicy", "Always")
        if is_init and policy == "Always":
            policy = "OnFailure"
        path = f"spec.{field}s{{{spec.get('name', '')}}}"
        return Container(
            uid=self._uid,
            spec=spec,
            restarts=status.get("restartCount", 0) + ("running" in status.get("state", {})),
            policy=policy,
            state=self._first_state,
            pod_name=f"{pod.name}_{pod.namespace}({self._uid})",
            address=local_address(pod.document),
            start=lambda: self._start(spec),
            changed=self._write,
            tell=lambda reason, message, warning: self._tell(reason, message, warning, path),
            clock=machine.clock,
        )

    async def _start(self, spec: Document) -> Process:
        """Starts the program of a container."""
        if (found := self._pod_and_node()) is None:
            raise Unavailable("the pod or its node is gone")
        pod, node = found
        machine = self._machine
        name = spec.get("name", "")
        home = self._folder / "containers" / folder_name(name)
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        given = base_environment(machine.server, str(home), pod)
        launch = prepare(pod, spec, node, self._volumes, given)
        output = machine.logs.open(*self._key, self._uid, name)
        return await Process.start(launch, output, machine.guard)

    def _real(self, containers: Iterable[Container | Document] | None = None) -> list[Container]:
        every = [*self._inits, *self._containers] if containers is None else containers
        return [each for each in every if isinstance(each, Container)]

    # What it tells

    def _write(self, *, ended: bool = False) -> None:
        """Writes the status as it is now."""
        pod, found = self._find(), self._pod_and_node()
        if pod is None or found is None:
            return
        machine = self._machine
        phase = self._phase(ended)
        status = statuses.pod_status(
            *found,
            phase=phase,
            address=machine.addresses.take(self._uid, found[1]),
            containers=[self._status(each, phase, init=False) for each in self._containers],
            init_containers=[self._status(each, phase, init=True) for each in self._inits],
            now=machine.clock(),
        )
        if self._expiring is not None and phase == statuses.FAILED:
            status |= {"reason": courses.DEADLINE_REASON, "message": courses.DEADLINE_MESSAGE}
        if status == pod.status or self._silent:
            return
        try:
            write_status(machine.writer, "pods", pod, status)
        except Refusal:
            log.warning("The status of the pod %s was refused", "/".join(self._key), exc_info=True)

    def _status(self, container: Container | Document, phase: str, *, init: bool) -> Document:
        if isinstance(container, Container):
            status = container.status()
            if init:  # ready means done here
                status["ready"] = (status["state"].get("terminated") or {}).get("exitCode") == 0
            return status
        if not self._started:
            return statuses.container_status(self._uid, container, self._first_state, ready=False)
        if init:
            return statuses.simulated_init(self._uid, container, self._began)
        return statuses.running(self._uid, container, self._began, ready=phase not in FINISHED)

    def _phase(self, ended: bool) -> str:
        real = self._real(self._containers)
        failed_init = any(each.over and each.exit_code != 0 for each in self._real(self._inits))
        if self._expiring is not None:
            return statuses.FAILED if self._expired or ended else statuses.RUNNING
        if ended or failed_init or (len(real) == len(self._containers) and all(each.over for each in real)):
            codes = [each.exit_code for each in (*real, *self._real(self._inits))]
            return statuses.FAILED if failed_init or any(codes) else statuses.SUCCEEDED
        inits_done = all(each.over for each in self._real(self._inits))
        return statuses.RUNNING if self._started and inits_done else statuses.PENDING

    def _tell(self, reason: str, message: str, warning: bool, path: str = "") -> None:
        pod = self._find()
        if pod is not None and not self._silent:
            self._machine.tell(pod, reason, message, path, warning=warning)

    def _find(self) -> Stored | None:
        return same_object(self._store, "pods", self._key, self._uid)

    def _pod_and_node(self) -> tuple[Document, Document] | None:
        """As they are now, if both are there."""
        pod = self._find()
        node = self._store.get("nodes", "", pod.spec.get("nodeName", "")) if pod is not None else None
        return (pod.document, node.document) if pod is not None and node is not None else None


class RealPods:
    """Starts and ends the pods whose containers are run for real, and keeps their volumes up to date."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._store = machine.writer.store
        self._pods: dict[str, RealPod] = {}
        self._leaving: set[RealPod] = set()
        self._refreshing: dict[str, asyncio.TimerHandle] = {}

    def start(self) -> None:
        self._machine.bound.tell(self._look, self._gone)
        self._machine.bound.listen("configmaps", self._source_changed)
        self._machine.bound.listen("secrets", self._source_changed)
        self._machine.bound.listen(VOLUMES, self._machine.claimed.volume_changed)

    async def stop(self) -> None:
        for timer in self._refreshing.values():
            timer.cancel()
        await asyncio.gather(*(pod.stop() for pod in {*self._pods.values(), *self._leaving}))
        self._pods.clear()

    def _gone(self, pod: Stored) -> None:
        known = self._pods.pop(pod.uid, None)
        if known is not None:
            self._leaving.add(known)
            known.gone().add_done_callback(lambda _: self._leaving.discard(known))

    def _look(self, pod: Stored) -> None:
        node = pod.spec.get("nodeName")
        if not node or not self._machine.programs.runs_pod(pod):
            return
        if pod.uid not in self._pods:
            if is_finished(pod) or self._store.get("nodes", "", node) is None:
                return
            self._pods[pod.uid] = RealPod(self._machine, pod)
        # One that is to be deleted, from before a restart of the cluster, has only its end left.
        self._pods[pod.uid].look(pod)

    def _source_changed(self, change: Change) -> None:
        reference = (change.resource, change.new.name)
        for uid, pod in self._pods.items():
            concerned = pod.namespace == change.new.namespace and reference in pod.references
            if concerned and uid not in self._refreshing:
                loop = asyncio.get_running_loop()
                self._refreshing[uid] = loop.call_later(REFRESH_AFTER, self._refresh, uid)

    def _refresh(self, uid: str) -> None:
        del self._refreshing[uid]
        pod = self._pods.get(uid)
        if pod is not None:
            pod.refresh()
