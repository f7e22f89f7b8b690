"""The life of simulated pods: bound, running after a moment, and gone soon after they are deleted."""

from __future__ import annotations

from moorage.cluster.base.store import Stored
from moorage.cluster.life.controllers.objects import Key, is_finished, same_object, write_status
from moorage.cluster.life.nodes import pod_status as statuses
from moorage.cluster.life.nodes.finishing import killed_status
from moorage.cluster.life.nodes.machine import Machine
from moorage.cluster.life.nodes.pacing import Paced

START_AFTER = 0.5  # seconds
END_AFTER = 0.3

_Item = tuple[Key, str]  # key and uid of a pod


class Pods:
    """The part of all kubelets that concerns pods whose containers are not run for real.

    Whatever a container's command is, `true` and `sleep 5` included, it counts as running until the pod is
    deleted or `finishing.py` ends it.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._writer = machine.writer
        self._store = machine.writer.store
        self._starting: set[str] = set()
        self._ending: set[str] = set()
        self._starts: Paced[_Item] = Paced("starting pods", START_AFTER, self._start)
        self._ends: Paced[_Item] = Paced("ending pods", END_AFTER, self._end)

    def start(self) -> None:
        for pod in self._store.iterate("pods"):
            if address := pod.status.get("podIP"):
                self._machine.addresses.note(pod.uid, address)
        self._machine.bound.tell(self._look, self._gone)
        self._starts.start()
        self._ends.start()

    async def stop(self) -> None:
        await self._starts.stop()
        await self._ends.stop()

    def _gone(self, pod: Stored) -> None:
        self._machine.addresses.release(pod.uid)
        self._starting.discard(pod.uid)
        self._ending.discard(pod.uid)

    def _look(self, pod: Stored) -> None:
        """Sees what there is to be done for a pod."""
        if not pod.spec.get("nodeName"):
            return
        if not pod.is_deleted and not _is_pending(pod) and not _gates_differ(pod):
            return
        known, work = (self._ending, self._ends) if pod.is_deleted else (self._starting, self._starts)
        if pod.uid not in known and not self._machine.programs.runs_pod(pod.document):
            known.add(pod.uid)
            work.add((pod.key, pod.uid))

    def _find(self, item: _Item) -> Stored | None:
        return same_object(self._store, "pods", *item)

    def _start(self, item: _Item, crowded: bool) -> None:
        uid = item[1]
        self._starting.discard(uid)
        pod = self._find(item)
        if pod is None or pod.is_deleted:
            return
        node = self._store.get("nodes", "", pod.spec.get("nodeName", ""))
        if node is None:
            return
        now = self._machine.clock()
        if first := _is_pending(pod):
            containers = [statuses.running(uid, each, now) for each in pod.spec.get("containers") or ()]
            inits = [statuses.simulated_init(uid, each, now) for each in pod.spec.get("initContainers") or ()]
        else:
            containers = pod.status.get("containerStatuses") or []
            inits = pod.status.get("initContainerStatuses") or []
        status = statuses.pod_status(
            pod.document,
            node.document,
            phase=statuses.RUNNING,
            address=self._machine.addresses.take(uid, node.document),
            containers=containers,
            init_containers=inits,
            now=now,
        )
        changed = write_status(self._writer, "pods", pod, status)
        if changed is not None and first and not crowded:
            self._tell_start(changed)

    def _tell_start(self, pod: Stored) -> None:
        for field in ("initContainers", "containers"):
            for each in pod.spec.get(field) or ():
                path = f"spec.{field}{{{each.get('name', '')}}}"
                for reason, message in (
                    ("Pulled", f'Container image "{each.get("image", "")}" already present on machine'),
                    ("Created", "Container created"),
                    ("Started", "Container started"),
                ):
                    self._machine.tell(pod, reason, message, path)

    def _end(self, item: _Item, crowded: bool) -> None:
        pod = self._find(item)
        if pod is None:
            return
        if not crowded and pod.status.get("phase") == statuses.RUNNING:
            for each in pod.spec.get("containers") or ():
                name = each.get("name", "")
                self._machine.tell(pod, "Killing", f"Stopping container {name}", f"spec.containers{{{name}}}")
        current: Stored | None = pod
        if not is_finished(pod):
            status = killed_status(pod, self._machine.clock())
            current = write_status(self._writer, "pods", pod, status) or self._find(item)
        if current is not None and self._find(item) is current:
            self._writer.delete("pods", current, grace_seconds=0)


def _is_pending(pod: Stored) -> bool:
    return (pod.status.get("phase") or statuses.PENDING) == statuses.PENDING


def _gates_differ(pod: Stored) -> bool:
    """Whether a running pod's readiness gates say another thing than its Ready condition."""
    gates = pod.spec.get("readinessGates")
    if not gates or pod.status.get("phase") != statuses.RUNNING:
        return False
    values = {each.get("type"): each.get("status") for each in pod.status.get("conditions") or ()}
    open_gates = all(values.get(gate.get("conditionType")) == "True" for gate in gates)
    return open_gates != (values.get("Ready") == "True")
