"""The log of a pod's container, as `kubectl logs` asks for it."""

from __future__ import annotations

from typing import cast

from moorage.cluster.access.requests import Answer, Query, Stream
from moorage.cluster.base.errors import bad_request
from moorage.cluster.base.parts import records
from moorage.cluster.base.store import Document
from moorage.cluster.life.nodes.logs import Logs, Wanted
from moorage.cluster.life.nodes.pod_status import first_state

_TEXT = "text/plain"
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"


def log_answer(logs: Logs, pod: Document, query: Query) -> Answer | Stream:
    """What the container has written, or that and what it goes on to write."""
    metadata = pod["metadata"]
    container = _container(pod, query.text("container"))
    wanted = _wanted(query)
    if not pod["spec"].get("nodeName"):
        return Answer(200, b"", _TEXT)
    where = (metadata["namespace"], metadata["name"], container)
    wanted["previous"] = _is_run_before(pod, container, previous=query.flag("previous"))
    if query.flag("follow"):
        return Stream(logs.follow(*where, **wanted), _TEXT)
    return Answer(200, logs.read(*where, **wanted), _TEXT)


def _wanted(query: Query) -> Wanted:
    numbers = {
        "tail_lines": query.number("tailLines"),
        "limit_bytes": query.number("limitBytes"),
        "since_seconds": query.number("sinceSeconds"),
    }
    for name, number in numbers.items():
        if number is not None and number < 0:
            raise bad_request(f"{name}: must be greater than or equal to 0")
    wanted = {"since_time": query.text("sinceTime"), "timestamps": query.flag("timestamps")}
    return cast(Wanted, numbers | wanted)


def _is_run_before(pod: Document, container: str, *, previous: bool) -> bool:
    """Whether the run before the latest one is meant. Refuses, as a kubelet does, what has not run."""
    who = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    statuses = [
        status
        for part in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
        for status in records(pod, "status", part)
        if status.get("name") == container
    ]
    status = statuses[0] if statuses else {"state": first_state(pod)}
    waiting = (status.get("state") or {}).get("waiting")
    has_ended = "terminated" in (status.get("lastState") or {})
    if previous and not has_ended:
        raise bad_request(f"previous terminated {who} not found")
    if waiting and not has_ended:
        raise bad_request(f"{who} is waiting to start: {waiting.get('reason', '')}")
    # Between two runs, the latest one is the previous one already.
    return previous and not waiting


def _container(pod: Document, asked: str) -> str:
    spec, metadata = pod["spec"], pod["metadata"]
    containers = [each["name"] for each in spec.get("containers", [])]
    init_and_ephemeral = (*(spec.get("initContainers") or ()), *(spec.get("ephemeralContainers") or ()))
    others = [each["name"] for each in init_and_ephemeral]
    if asked and asked not in (*containers, *others):
        raise bad_request(f"container {asked} is not valid for pod {metadata['name']}")
    if asked:
        return asked
    if len(containers) == 1:
        return str(containers[0])
    default = (metadata.get("annotations") or {}).get(_DEFAULT_CONTAINER)
    if default in containers:
        return str(default)
    problem = f"a container name must be specified for pod {metadata['name']}, choose one of: "
    problem += f"[{' '.join(containers)}]"
    if others:
        problem += f" or one of the init containers: [{' '.join(others)}]"
    raise bad_request(problem)
