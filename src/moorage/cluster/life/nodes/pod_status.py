"""What the kubelet says about pods."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256

from moorage.cluster.base.store import Document
from moorage.cluster.base.times import timestamp
from moorage.cluster.life.controllers.objects import FINISHED, since
from moorage.cluster.life.nodes.addresses import address_of

PENDING, RUNNING, SUCCEEDED, FAILED = "Pending", "Running", "Succeeded", "Failed"

_Condition = tuple[str, str, str, str]  # type, status, reason, message


def first_state(pod: Document) -> Document:
    """That of a container which has not been started yet."""
    has_inits = bool((pod.get("spec") or {}).get("initContainers"))
    return {"waiting": {"reason": "PodInitializing" if has_inits else "ContainerCreating"}}


def running_state(now: float) -> Document:
    return {"running": {"startedAt": timestamp(now)}}


def terminated_state(
    code: int, started: str, now: float, *, reason: str = "", message: str = "", container_id: str = ""
) -> Document:
    state = {
        "exitCode": code,
        "reason": reason or ("Completed" if code == 0 else "Error"),
        "startedAt": started,
        "finishedAt": timestamp(now),
        "message": message,
        "containerID": container_id,
    }
    return {"terminated": {name: value for name, value in state.items() if value != ""}}


def container_status(
    uid: str,
    container: Document,
    state: Document,
    *,
    ready: bool,
    restarts: int = 0,
    last_state: Document | None = None,
) -> Document:
    name, image = container.get("name", ""), container.get("image", "")
    waits_first = "waiting" in state and not restarts and not last_state
    return {
        "name": name,
        "state": state,
        "lastState": last_state or {},
        "ready": ready,
        "restartCount": restarts,
        "image": image,
        "imageID": "" if waits_first else _image_id(image),
        **({} if waits_first else {"containerID": container_id(uid, name, restarts)}),
        "started": "running" in state,
    }


def container_id(uid: str, name: str, restarts: int) -> str:
    return "moorage://" + sha256(f"{uid}/{name}/{restarts}".encode()).hexdigest()


def running(uid: str, container: Document, since: float, *, ready: bool = True) -> Document:
    return container_status(uid, container, running_state(since), ready=ready)


def simulated_init(uid: str, container: Document, now: float) -> Document:
    """An init container that has done its work, or a sidecar that runs."""
    if container.get("restartPolicy") == "Always":
        return running(uid, container, now)
    run = container_id(uid, container.get("name", ""), 0)
    state = terminated_state(0, timestamp(now), now, container_id=run)
    return container_status(uid, container, state, ready=True)


def pod_status(
    pod: Document,
    node: Document,
    *,
    phase: str,
    address: str,
    containers: list[Document],
    init_containers: list[Document],
    now: float,
) -> Document:
    """The whole status; what others have put there stays."""
    status: Document = dict(pod.get("status") or {})
    if generation := pod["metadata"].get("generation"):
        status["observedGeneration"] = generation
    status["phase"] = phase
    status["conditions"] = _conditions(pod, phase, containers, init_containers, now)
    host = address_of(node)
    own = host if (pod.get("spec") or {}).get("hostNetwork") else address
    for name, found in (("hostIP", host), ("podIP", own)):
        if found:
            status |= {name: found, f"{name}s": [{"ip": found}]}
    status.setdefault("startTime", timestamp(now))
    status["containerStatuses"] = containers
    if init_containers:
        status["initContainerStatuses"] = init_containers
    return status


def ended_status(pod: Document, now: float, phase: str = SUCCEEDED, code: int = 0) -> Document:
    """The last status of a simulated pod: all its containers have ended, with this exit code."""
    status = dict(pod.get("status") or {})
    containers = []
    for known in status.get("containerStatuses") or ():
        started = ((known.get("state") or {}).get("running") or {}).get("startedAt") or timestamp(now)
        state = terminated_state(code, started, now, container_id=known.get("containerID", ""))
        containers.append({**known, "state": state, "ready": False, "started": False})
    if containers:
        status["containerStatuses"] = containers
    status["phase"] = phase
    init_containers = status.get("initContainerStatuses") or []
    status["conditions"] = _conditions(pod, phase, containers, init_containers, now)
    return status


def _conditions(
    pod: Document, phase: str, containers: Sequence[Document], inits: Sequence[Document], now: float
) -> list[Document]:
    known = {each.get("type"): each for each in (pod.get("status") or {}).get("conditions") or ()}
    generation = pod["metadata"].get("generation")
    made = []
    for name, value, reason, message in (
        ("PodReadyToStartContainers", "False" if phase in FINISHED else "True", "", ""),
        _initialized(phase, inits),
        *_readiness(pod, known, phase, containers),
        ("PodScheduled", "True", "", ""),
    ):
        times = {"lastProbeTime": None, "lastTransitionTime": since(known.pop(name, None), value, now)}
        more = {"observedGeneration": generation, "reason": reason, "message": message}
        made.append({"type": name, "status": value, **times, **{key: of for key, of in more.items() if of}})
    return [*made, *known.values()]


def _initialized(phase: str, inits: Sequence[Document]) -> _Condition:
    if phase == SUCCEEDED:
        return "Initialized", "True", "PodCompleted", ""
    missing = [each["name"] for each in inits if not each["ready"]]
    if missing:
        message = f"containers with incomplete status: [{' '.join(missing)}]"
        return "Initialized", "False", "ContainersNotInitialized", message
    return "Initialized", "True", "", ""


def _readiness(
    pod: Document, known: dict[str, Document], phase: str, containers: Sequence[Document]
) -> tuple[_Condition, _Condition]:
    """Ready and ContainersReady."""
    ready, unready = ("True", "", ""), [each["name"] for each in containers if not each["ready"]]
    if phase in FINISHED:
        ready = ("False", "PodCompleted" if phase == SUCCEEDED else "PodFailed", "")
    elif unready:
        ready = ("False", "ContainersNotReady", f"containers with unready status: [{' '.join(unready)}]")
    if ready[0] == "False":
        return ("Ready", *ready), ("ContainersReady", *ready)
    lacking = []
    for gate in (pod.get("spec") or {}).get("readinessGates") or ():
        name = gate.get("conditionType", "")
        value = known[name].get("status") if name in known else None
        if value is None:
            lacking.append(f'corresponding condition of pod readiness gate "{name}" does not exist.')
        elif value != "True":
            lacking.append(f'the status of pod readiness gate "{name}" is not "True", but {value}')
    gates = ("False", "ReadinessGatesNotReady", ", ".join(lacking)) if lacking else ready
    return ("Ready", *gates), ("ContainersReady", *ready)


@lru_cache(maxsize=1024)
def _image_id(image: str) -> str:
    return f"{image.partition('@')[0]}@sha256:{sha256(image.encode()).hexdigest()}"
