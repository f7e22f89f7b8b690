"""The cells of pods; every expectation is what kube-apiserver v1.36 shows for the same object."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.serving.tables.builtin import columns_of
from moorage.cluster.serving.tables.durations import seconds_since_epoch

NOW = seconds_since_epoch("2026-11-15T23:15:00Z") or 0.0
STARTED = "2026-11-15T20:00:00Z"
LATER = "2026-11-15T21:00:00Z"
READY = [{"type": "Ready", "status": "True"}]
INITIALIZED = [*READY, {"type": "Initialized", "status": "True"}]


def pod(
    status: dict[str, Any] | None = None, spec: dict[str, Any] | None = None, **metadata: Any
) -> dict[str, Any]:
    containers = [{"name": "a", "image": "nginx"}, {"name": "b", "image": "redis"}]
    return {
        "metadata": {"name": "p", "creationTimestamp": "2026-11-15T23:14:57Z", **metadata},
        "spec": {"containers": containers, **(spec or {})},
        "status": {"phase": "Pending", **(status or {})},
    }


def container(
    name: str, state: dict[str, Any], ready: bool = False, restarts: int = 0, ended: str = "", **more: Any
) -> dict[str, Any]:
    last = {"lastState": {"terminated": {"exitCode": 1, "finishedAt": ended}}} if ended else {}
    return {"name": name, "ready": ready, "restartCount": restarts, "state": state, **last, **more}


def running(name: str, ready: bool = True, restarts: int = 0, ended: str = "", **more: Any) -> dict[str, Any]:
    return container(name, {"running": {"startedAt": STARTED}}, ready, restarts, ended, **more)


def waiting(name: str, reason: str, restarts: int = 0, ended: str = "") -> dict[str, Any]:
    return container(name, {"waiting": {"reason": reason} if reason else {}}, False, restarts, ended)


def terminated(name: str, code: int, restarts: int = 0, ended: str = "", **how: Any) -> dict[str, Any]:
    return container(name, {"terminated": {"exitCode": code, **how}}, False, restarts, ended)


def completed(name: str, restarts: int = 0, ended: str = "") -> dict[str, Any]:
    return terminated(name, 0, restarts, ended, reason="Completed")


def statuses(*containers: dict[str, Any], phase: str = "Running", **more: Any) -> dict[str, Any]:
    return {"phase": phase, "containerStatuses": list(containers), **more}


def initial(*containers: dict[str, Any], phase: str = "Pending", **more: Any) -> dict[str, Any]:
    return {"phase": phase, "initContainerStatuses": list(containers), **more}


INIT = {"initContainers": [{"name": "i1"}, {"name": "i2"}]}
SIDECAR = {"initContainers": [{"name": "i1"}, {"name": "s", "restartPolicy": "Always"}]}
GONE: dict[str, Any] = {"deletionTimestamp": "2026-11-15T23:15:27Z"}

SHOWN = [
    ("pending", pod(), "0/2", "Pending", "0"),
    (
        "gated",
        pod({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}),
        "0/2",
        "SchedulingGated",
        "0",
    ),
    (
        "creating",
        pod(statuses(*(waiting(name, "ContainerCreating") for name in "ab"), phase="Pending")),
        "0/2",
        "ContainerCreating",
        "0",
    ),
    ("running", pod(statuses(running("a"), running("b"))), "2/2", "Running", "0"),
    ("one not ready", pod(statuses(running("a"), running("b", ready=False))), "1/2", "Running", "0"),
    (
        "crashing",
        pod(
            statuses(
                waiting("a", "CrashLoopBackOff", 4, "2026-11-15T22:00:00Z"),
                running("b", restarts=1, ended="2026-11-15T22:30:00Z"),
            )
        ),
        "1/2",
        "CrashLoopBackOff",
        "5 (45m ago)",
    ),
    (
        "second cannot pull",
        pod(statuses(running("a"), waiting("b", "ImagePullBackOff"))),
        "1/2",
        "ImagePullBackOff",
        "0",
    ),
    ("restarted at some time", pod(statuses(running("a", restarts=3), running("b"))), "2/2", "Running", "3"),
    (
        "completed",
        pod(statuses(completed("a"), completed("b"), phase="Succeeded")),
        "0/2",
        "Completed",
        "0",
    ),
    (
        "first failed",
        pod(statuses(terminated("a", 1, reason="Error"), completed("b"), phase="Failed")),
        "0/2",
        "Error",
        "0",
    ),
    (
        "second failed",
        pod(statuses(completed("a"), terminated("b", 1, reason="Error"), phase="Failed")),
        "0/2",
        "Error",
        "0",
    ),
    ("evicted", pod({"phase": "Failed", "reason": "Evicted"}), "0/2", "Evicted", "0"),
    (
        "exit code",
        pod(statuses(terminated("a", 3), terminated("b", 0), phase="Failed")),
        "0/2",
        "ExitCode:3",
        "0",
    ),
    (
        "signal",
        pod(statuses(terminated("a", 137, signal=9), terminated("b", 0), phase="Failed")),
        "0/2",
        "Signal:9",
        "0",
    ),
    (
        "out of memory",
        pod(statuses(terminated("a", 137, reason="OOMKilled"), running("b"))),
        "1/2",
        "OOMKilled",
        "0",
    ),
    (
        "one done, ready",
        pod(statuses(completed("a"), running("b"), conditions=READY)),
        "1/2",
        "Running",
        "0",
    ),
    ("one done, not ready", pod(statuses(completed("a"), running("b"))), "1/2", "NotReady", "0"),
    (
        "one done without a reason",
        pod(statuses(terminated("a", 0), running("b"))),
        "1/2",
        "ExitCode:0",
        "0",
    ),
    ("waiting for no reason", pod(statuses(waiting("a", ""), phase="Pending")), "0/2", "Pending", "0"),
    (
        "first init container",
        pod(initial(waiting("i1", "PodInitializing"), waiting("i2", "PodInitializing")), INIT),
        "0/2",
        "Init:0/2",
        "0",
    ),
    (
        "second init container",
        pod(initial(completed("i1", 2, LATER), running("i2", restarts=1)), INIT),
        "0/2",
        "Init:1/2",
        "3 (135m ago)",
    ),
    (
        "init container failed",
        pod(
            initial(terminated("i1", 1, 2, LATER, reason="Error"), waiting("i2", "PodInitializing", 5)), INIT
        ),
        "0/2",
        "Init:Error",
        "2 (135m ago)",
    ),
    ("init exit code", pod(initial(terminated("i1", 7)), INIT), "0/2", "Init:ExitCode:7", "0"),
    ("init signal", pod(initial(terminated("i1", 7, signal=15)), INIT), "0/2", "Init:Signal:15", "0"),
    (
        "init container crashing",
        pod(initial(waiting("i1", "CrashLoopBackOff", 7, LATER)), INIT),
        "0/2",
        "Init:CrashLoopBackOff",
        "7 (135m ago)",
    ),
    (
        "restarts of init containers are forgotten",
        pod(
            initial(
                completed("i1", 9, LATER),
                completed("i2"),
                phase="Running",
                conditions=INITIALIZED,
                containerStatuses=[running("a"), running("b")],
            ),
            INIT,
        ),
        "2/2",
        "Running",
        "0",
    ),
    (
        "initialized in spite of an init container",
        pod(
            initial(
                waiting("i1", "Odd", 9),
                phase="Running",
                conditions=INITIALIZED,
                containerStatuses=[running("a"), running("b", restarts=2)],
            ),
            INIT,
        ),
        "2/2",
        "Init:Odd",
        "2",
    ),
    (
        "sidecar starting",
        pod(initial(completed("i1"), running("s", ready=False, started=False)), SIDECAR),
        "0/3",
        "Init:1/2",
        "0",
    ),
    (
        "sidecar running",
        pod(
            initial(
                completed("i1", 1),
                running("s", restarts=3, ended=LATER, started=True),
                phase="Running",
                containerStatuses=[running("a", restarts=1, ended=STARTED), running("b")],
            ),
            SIDECAR,
        ),
        "3/3",
        "Running",
        "4 (135m ago)",
    ),
    (
        "sidecar not ready",
        pod(
            initial(
                completed("i1"),
                running("s", ready=False, started=True),
                phase="Running",
                containerStatuses=[running("a"), running("b")],
            ),
            SIDECAR,
        ),
        "2/3",
        "Running",
        "0",
    ),
    (
        "only the sidecar runs",
        pod(
            initial(
                completed("i1"),
                running("s", started=True),
                phase="Running",
                conditions=READY,
                containerStatuses=[completed("a"), terminated("b", 2)],
            ),
            SIDECAR,
        ),
        "1/3",
        "ExitCode:2",
        "0",
    ),
    ("terminating", pod(statuses(running("a"), running("b")), **GONE), "2/2", "Terminating", "0"),
    (
        "succeeded and deleted",
        pod(statuses(completed("a"), completed("b"), phase="Succeeded"), **GONE),
        "0/2",
        "Completed",
        "0",
    ),
    (
        "node lost",
        pod(statuses(running("a"), running("b"), reason="NodeLost"), **GONE),
        "2/2",
        "Unknown",
        "0",
    ),
    ("unknown", pod({"phase": "Unknown"}), "0/2", "Unknown", "0"),
]


@pytest.mark.parametrize(
    ("document", "ready", "status", "restarts"), [row[1:] for row in SHOWN], ids=[row[0] for row in SHOWN]
)
def test_ready_status_and_restarts(document: dict[str, Any], ready: str, status: str, restarts: str) -> None:
    cells = columns_of("pods").cells(document, NOW)

    assert cells == ["p", ready, status, restarts, "3s", "<none>", "<none>", "<none>", "<none>"]


def test_where_a_pod_is() -> None:
    document = pod(
        {
            "podIP": "10.0.0.1",
            "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
            "nominatedNodeName": "n7",
            "conditions": [
                {"type": "example.com/a", "status": "True"},
                {"type": "example.com/b", "status": "False"},
            ],
        },
        {
            "nodeName": "n1",
            "readinessGates": [{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}],
        },
    )

    assert columns_of("pods").cells(document, NOW)[5:] == ["10.0.0.1", "n1", "n7", "1/2"]


@pytest.mark.parametrize(
    ("phase", "conditions"),
    [
        (
            "Succeeded",
            [
                {
                    "type": "Completed",
                    "status": "True",
                    "reason": "Succeeded",
                    "message": "The pod has completed successfully.",
                }
            ],
        ),
        (
            "Failed",
            [{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}],
        ),
        ("Running", []),
    ],
)
def test_rows_of_ended_pods_are_marked(phase: str, conditions: list[dict[str, Any]]) -> None:
    columns = columns_of("pods")

    assert columns.conditions is not None
    assert columns.conditions(pod({"phase": phase})) == conditions
