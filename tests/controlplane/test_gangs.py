"""Gangs on a real API server: never in part, also when the scheduler is killed while it binds them."""

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.devices.device_cluster import kubeconfig_behind
from tests.controlplane.gang_crowd import (
    GROUPS,
    Crowd,
    clean,
    define_pod_groups,
    group,
    members,
    with_coscheduling,
)
from tests.controlplane.schedulers import (
    Api,
    Document,
    condition,
    configuration,
    moorage,
    node,
)
from tests.controlplane.servers import ControlPlane, wait_for
from tests.faults.gateway import Gateway, hang


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    opened = Api(control_plane)
    define_pod_groups(opened)
    return opened


@pytest.fixture
def gateway(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(control_plane.url, control_plane.ca_file, tmp_path) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_left(api: Api) -> Iterator[None]:
    yield from clean(api)


def config(plane: ControlPlane, kubeconfig: Path | None = None) -> Document:
    return with_coscheduling(configuration(plane, kubeconfig=kubeconfig))


def test_members_wait_as_one_and_are_bound_together(control_plane: ControlPlane, api: Api) -> None:
    api.create([node("n1", cpu="2")])
    with moorage(control_plane, config=config(control_plane)) as process:
        api.request("POST", GROUPS, group("train", 3))
        api.create(members("train", 3))
        process.wait_until(
            "the reason", lambda: all("members fit" in _why(each) for each in api.pods().values())
        )
        [message] = {condition(each)["message"] for each in api.pods().values()}
        assert re.sub("train-[0-2]", "train-N", message) == (
            "pod group default/train: 2 of 3 members fit; default/train-N does not: 0/1 nodes are available: "
            "1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: "
            "1 No preemption victims found for incoming pod."
        )
        assert api.bound() == {}
        api.create([node("n2", cpu="1")])
        process.wait_until("the binds", lambda: len(api.bound()) == 3)


def test_another_scheduler_finishes_a_gang_before_anything_else(
    control_plane: ControlPlane, api: Api, gateway: Gateway, tmp_path: Path
) -> None:
    """Of four members two are bound when the scheduler is killed; others wait for the room of the rest."""
    api.create([node("n1", cpu="4")])
    api.request("POST", GROUPS, group("b", 2))  # the older one, whose pods come later
    created = int(time.time())
    wait_for("the next second, since times of creation have whole ones", lambda: int(time.time()) > created)
    api.request("POST", GROUPS, group("a", 4))
    through = kubeconfig_behind(control_plane, gateway, tmp_path)
    with (
        moorage(control_plane, config=config(control_plane, through)) as process,
        gateway.fault(hang, method="POST", path="/pods/a-[23]/binding"),
    ):
        api.create(members("a", 4))
        process.wait_until("half of the gang", lambda: len(api.bound()) == 2 and len(gateway.hanging) == 2)
        process.send(signal.SIGKILL)
        process.exit_code(10)
    api.create(members("b", 2))
    with moorage(control_plane, config=config(control_plane)) as process:
        process.wait_until("the rest of the gang", lambda: len(api.bound()) == 4)
    assert sorted(api.bound()) == ["a-0", "a-1", "a-2", "a-3"]


@pytest.mark.soak
@pytest.mark.parametrize("seed", [1, 2])
def test_gangs_take_turns(control_plane: ControlPlane, api: Api, soak: bool, seed: int) -> None:
    Crowd(control_plane, api, 40 if soak else 4, seed).run()


def _why(found: Document) -> str:
    message: str = condition(found).get("message", "")
    return message
