"""Nodes and pods with amounts at the edge of 64 bits, once under kube-scheduler and once under Moorage."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest

from tests.controlplane.schedulers import Api, Document, condition, configuration, moorage, node, pod
from tests.controlplane.servers import ControlPlane, Program, wait_for

LARGEST = "9223372036854775807"
NODES = [
    # Has less than no cpu: 64 bits do not hold its millicores.
    node("edge", cpu=LARGEST, memory="16Ei"),
    node("large", cpu="9223372036854775", memory="7Ei", labels={"group": "large"}),
    node("normal", cpu="32", memory="64Gi", labels={"group": "odd"}),
    node("small", cpu="4", memory="8Gi", labels={"group": "large"}),
    # A hundred times its memory does not fit 64 bits.
    node("odd", cpu="4", memory="93000000000000000", labels={"group": "odd"}),
]
ODD, LARGE = ({"nodeSelector": {"group": group}} for group in ("odd", "large"))
PODS: dict[str, Document] = {
    "nothing": {},
    "ordinary": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    "memory-only": {"requests": {"memory": "1Gi"}},
    "fits-the-edge": {"requests": {"memory": "8Ei"}},
    "more-than-64-bits": {"requests": {"memory": "18446744073709551617"}, **LARGE},
    "comes-to-nothing": {"requests": {"memory": "100E"}, **LARGE},
    "largest-cpu": {"requests": {"cpu": LARGEST}, **LARGE},
    "largest-millicores": {"requests": {"cpu": f"{LARGEST}m"}},
    "much": {"requests": {"cpu": "9223372036854", "memory": "4Ei"}},
    "much-more": {"requests": {"memory": "6Ei"}},
    "a-bad-score": {"requests": {"cpu": "1"}, **ODD},
}


class Fate(NamedTuple):
    """Where a pod went; or why it waits, as its condition and its event say."""

    node: str = ""
    reason: str = ""
    message: str = ""
    event: str = ""


def fate(api: Api, name: str) -> Fate | None:
    """None while it is not decided, or not told."""
    found = api.pod(name)
    if "nodeName" in found["spec"]:
        return Fate(found["spec"]["nodeName"])
    said, events = condition(found), api.events("FailedScheduling", name)
    return Fate("", said["reason"], said["message"], events[0]["message"]) if said and events else None


@pytest.fixture(scope="module")
def fates(control_plane: ControlPlane) -> dict[str, dict[str, Fate]]:
    """Of both schedulers, one after the other on one cluster; a pod comes when the last one is decided."""
    api = Api(control_plane)
    config = configuration(control_plane, "default-scheduler")
    schedulers: dict[str, Callable[[], Any]] = {
        "kube": control_plane.kube_scheduler,
        "moorage": lambda: moorage(control_plane, config=config),
    }
    found: dict[str, dict[str, Fate]] = {}
    for scheduler, start in schedulers.items():
        api.create(NODES)
        found[scheduler] = {}
        with start() as process:
            assert isinstance(process, Program)
            for name, form in PODS.items():
                api.create([pod(name, scheduler="default-scheduler", **form)])
                decided = wait_for(f"the decision about {name}", partial(fate, api, name), seconds=60)
                assert decided is not None
                found[scheduler][name] = decided
            process.check_running()
        api.delete_all("pods", "nodes", "events")
    return found


def test_every_pod_has_the_same_fate(fates: dict[str, dict[str, Fate]]) -> None:
    assert fates["moorage"] == fates["kube"]


def test_scores_out_of_range_stop_a_pod_and_wrapped_amounts_do_not(fates: dict[str, dict[str, Fate]]) -> None:
    decided = fates["moorage"]
    assert decided["a-bad-score"].reason == "SchedulerError"
    assert "invalid score -" in decided["a-bad-score"].event
    assert decided["fits-the-edge"].node == "edge"
    assert decided["more-than-64-bits"].node
    assert decided["comes-to-nothing"].node
