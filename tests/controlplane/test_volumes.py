"""Pods with volume claims under `moorage run`: volumes that exist, are made, or are bound already."""

from collections.abc import Iterator

import pytest

from tests.controlplane.schedulers import Api, Document, Moorage, condition, configuration, moorage, node, pod
from tests.controlplane.servers import ControlPlane
from tests.controlplane.volume_controller import (
    BOUND_BY,
    COMPLETED,
    SELECTED,
    VolumeController,
    claim,
    mount,
    storage_class,
    volume,
)

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
DRIVER = "csi.example.com"


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    opened = Api(control_plane)
    opened.create(node(f"n{number}") for number in (1, 2, 3))
    opened.create(
        [
            storage_class("local"),
            storage_class("made", DRIVER),
            storage_class("ready", DRIVER, immediate=True),
        ]
    )
    return opened


@pytest.fixture(scope="module")
def controller(api: Api) -> Iterator[VolumeController]:
    with VolumeController(api).running() as running:
        yield running


@pytest.fixture(scope="module")
def scheduler(control_plane: ControlPlane, api: Api) -> Iterator[Moorage]:
    with moorage(control_plane) as running:
        yield running


def read(api: Api, name: str) -> Document:
    return api.request("GET", f"{CLAIMS}/{name}")


def test_a_volume_that_exists(api: Api, controller: VolumeController, scheduler: Moorage) -> None:
    unknown: Document = {"mountOptions": ["noatime"], "persistentVolumeReclaimPolicy": "Retain"}
    api.create([claim("static", "local"), volume("disk", "local", node="n2", **unknown)])
    api.create([pod("static", volumes=mount("static"))])
    scheduler.wait_until("a bind", lambda: api.bound().get("static") == "n2")
    found, owner = api.request("GET", f"{VOLUMES}/disk"), read(api, "static")
    assert found["spec"]["claimRef"]["uid"] == owner["metadata"]["uid"]
    assert found["metadata"]["annotations"] == {BOUND_BY: "yes"}
    assert {key: found["spec"][key] for key in unknown} == unknown
    assert owner["spec"]["volumeName"] == "disk" and COMPLETED in owner["metadata"]["annotations"]


def test_a_volume_that_is_made(api: Api, controller: VolumeController, scheduler: Moorage) -> None:
    api.create([claim("made", "made")])
    api.create([pod("made", volumes=mount("made"), nodeSelector={"kubernetes.io/hostname": "n3"})])
    scheduler.wait_until("a bind", lambda: api.bound().get("made") == "n3")
    assert read(api, "made")["metadata"]["annotations"][SELECTED] == "n3"


def test_a_claim_that_is_bound(api: Api, controller: VolumeController, scheduler: Moorage) -> None:
    api.create([claim("bound", "ready"), pod("bound", volumes=mount("bound"))])
    scheduler.wait_until("a bind", lambda: "bound" in api.bound())


def test_a_claim_of_the_pod_itself(api: Api, controller: VolumeController, scheduler: Moorage) -> None:
    template = {"spec": claim("", "made")["spec"]}
    ephemeral = [{"name": "own", "ephemeral": {"volumeClaimTemplate": template}}]
    [made] = api.create([pod("owner", volumes=ephemeral)])
    said = scheduler.wait_until("a condition", lambda: condition(api.pod("owner")).get("message"))
    waits = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "owner-own"'
    assert waits in said
    own = claim("owner-own", "made")
    controls = {"controller": True, "uid": made["metadata"]["uid"], "name": "owner"}
    own["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Pod", **controls}]
    api.create([own])
    scheduler.wait_until("a bind", lambda: "owner" in api.bound())


def test_who_is_killed_while_waiting_goes_on_where_it_was(
    control_plane: ControlPlane, api: Api, controller: VolumeController
) -> None:
    controller.held |= {"slow", "slow-static"}
    api.create([claim("slow", "made"), claim("slow-static", "local"), volume("slow", "local", node="n1")])
    config = configuration(control_plane, "second")
    pods = [pod(name, scheduler="second", volumes=mount(name)) for name in ("slow", "slow-static")]
    with moorage(control_plane, config=config) as process:
        api.create(pods)
        process.wait_until(
            "what it writes",
            lambda: (
                SELECTED in read(api, "slow")["metadata"].get("annotations", {})
                and "claimRef" in api.request("GET", f"{VOLUMES}/slow")["spec"]
            ),
        )
        process.send(9)
    chosen = read(api, "slow")["metadata"]["annotations"][SELECTED]
    assert not {"slow", "slow-static"} & api.bound().keys()
    with moorage(control_plane, config=config) as process:
        controller.held.clear()
        process.wait_until("two binds", lambda: {"slow", "slow-static"} <= api.bound().keys())
    assert {api.bound()[name] for name in ("slow", "slow-static")} == {chosen, "n1"}
