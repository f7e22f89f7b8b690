"""Which run of a container `kubectl logs` shows, and what it says of one that has not run."""

from __future__ import annotations

import pytest

from moorage.cluster.access.requests import Answer, Query
from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.store import Document
from moorage.cluster.life.nodes.logs import Logs, log_answer

ENDED = {"terminated": {"exitCode": 1}}
WAITING = {"waiting": {"reason": "CrashLoopBackOff"}}


def pod(state: Document | None = None, last: Document | None = None, **spec: object) -> Document:
    status = {"containerStatuses": [{"name": "c", "state": state, "lastState": last or {}}]} if state else {}
    return {
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"nodeName": "n", "containers": [{"name": "c"}], **spec},
        "status": status,
    }


def shown(document: Document, *runs: bytes, previous: bool = False) -> bytes | str:
    """What is answered, or the words of the refusal."""
    logs = Logs(lambda: 0.0)
    for text in runs:
        logs.open("default", "p", "uid", "c").write(text)
    try:
        answer = log_answer(logs, document, Query("previous=true" if previous else ""))
    except Refusal as refusal:
        assert refusal.code == 400
        return refusal.message
    assert isinstance(answer, Answer)
    return answer.body


def test_between_two_runs_the_last_one_is_the_previous_one_too() -> None:
    waiting = pod(WAITING, ENDED)
    assert shown(waiting, b"1\n", b"2\n") == b"2\n"
    assert shown(waiting, b"1\n", b"2\n", previous=True) == b"2\n"
    assert shown(waiting, b"1\n", previous=True) == b"1\n"


def test_while_it_runs_the_previous_one_is_the_run_before() -> None:
    running = pod({"running": {}}, ENDED)
    assert shown(running, b"1\n", b"2\n") == b"2\n"
    assert shown(running, b"1\n", b"2\n", previous=True) == b"1\n"


@pytest.mark.parametrize(
    "state", [{"running": {}}, ENDED, {"waiting": {"reason": "ContainerCreating"}}, None]
)
def test_without_a_run_that_has_ended_there_is_no_previous_one(state: Document | None) -> None:
    assert (
        shown(pod(state), b"1\n", previous=True) == 'previous terminated container "c" in pod "p" not found'
    )


def test_what_has_not_run_says_what_it_waits_for() -> None:
    missing = pod({"waiting": {"reason": "CreateContainerConfigError"}})
    assert shown(missing) == 'container "c" in pod "p" is waiting to start: CreateContainerConfigError'
    assert shown(pod()) == 'container "c" in pod "p" is waiting to start: ContainerCreating'
    behind = pod(initContainers=[{"name": "i"}])
    assert shown(behind) == 'container "c" in pod "p" is waiting to start: PodInitializing'
