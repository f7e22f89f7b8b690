"""Claims that the pods of a PodGroup share: kube-scheduler and Moorage reserve them for the group."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.controlplane.programs import programs_for
from tests.controlplane.schedulers import Api, Document, moorage, node, pod
from tests.controlplane.servers import ControlPlane, wait_for
from tests.plugins.devices.device_objects import cel, exactly, resource_slice

GATES = "GenericWorkload=true,GangScheduling=true,DRAWorkloadResourceClaims=true"
SCHEDULERS = {"kube": "default-scheduler", "ours": "moorage"}
GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
DEVICES = "/apis/resource.k8s.io/v1"
CLAIMS = f"{DEVICES}/namespaces/default/resourceclaims"
PLACE = "example.com/place"
NAMES = ("shared", "own")
"""Two groups: one that names the claim of its pods, and one that does not."""


@pytest.fixture(scope="module")
def api(pytestconfig: pytest.Config) -> Iterator[Api]:
    switched = f"--feature-gates={GATES}"
    flags = (switched, "--runtime-config=scheduling.k8s.io/v1alpha2=true")
    with contextlib.ExitStack() as stack:
        plane = stack.enter_context(ControlPlane(programs_for(pytestconfig), apiserver_flags=flags))
        api = Api(plane)
        spec = {"selectors": cel('device.driver == "gpu.example.com"')}
        api.request("POST", f"{DEVICES}/deviceclasses", _object("DeviceClass", "gpu", spec))
        for who in SCHEDULERS:
            for name in NAMES:
                _create(api, name, who)
        programs = [
            stack.enter_context(plane.kube_scheduler(switched)),
            stack.enter_context(moorage(plane, switched, ready=False)),
        ]
        wait_for("all pods to be bound", lambda: len(api.bound()) == 3 * 2 * 2, seconds=60.0)
        for program in programs:
            program.check_running()
        yield api


def _object(kind: str, name: str, spec: Document) -> Document:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def _create(api: Api, name: str, who: str) -> None:
    """A node with one device, and three pods that may only go there and share its claim."""
    whole = f"{name}-{who}"
    api.create([node(whole, cpu="3", labels={PLACE: whole})])
    made = resource_slice(whole, ["gpu-0"], pool=whole, nodeName=whole)
    api.request("POST", f"{DEVICES}/resourceslices", _object("ResourceSlice", whole, made["spec"]))
    asked = {"devices": {"requests": [exactly()]}}
    api.request("POST", CLAIMS, _object("ResourceClaim", whole, asked))
    entry = {"name": "gpus", "resourceClaimName": whole}
    spec: Document = {"schedulingPolicy": {"gang": {"minCount": 3}}}
    if name == "shared":
        spec["resourceClaims"] = [entry]
    group = {**_object("PodGroup", whole, spec), "apiVersion": "scheduling.k8s.io/v1alpha2"}
    api.request("POST", GROUPS, group)
    api.create(
        pod(
            f"{whole}-{place}",
            requests={"cpu": "1"},
            scheduler=SCHEDULERS[who],
            nodeSelector={PLACE: whole},
            schedulingGroup={"podGroupName": whole},
            resourceClaims=[entry],
        )
        for place in range(3)
    )


def _claim(api: Api, name: str, who: str) -> Document:
    """The claim without what differs from one to the other."""
    whole = f"{name}-{who}"
    claim = api.request("GET", f"{CLAIMS}/{whole}")
    status: dict[str, Any] = claim["status"]
    del status["allocation"]["allocationTimestamp"]
    for consumer in status["reservedFor"]:
        assert consumer.pop("uid")
    status["reservedFor"].sort(key=lambda each: str(each["name"]))
    found: Document = {"status": status, "finalizers": claim["metadata"]["finalizers"]}
    renamed: Document = _renamed(found, whole, name)
    return renamed


def _renamed(value: Any, old: str, new: str) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(each, old, new) for key, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each, old, new) for each in value]
    return value.replace(old, new) if isinstance(value, str) else value


@pytest.mark.parametrize("name", NAMES)
def test_both_do_the_same(api: Api, name: str) -> None:
    assert _claim(api, name, "ours") == _claim(api, name, "kube")


def test_a_claim_of_the_group_is_reserved_for_it(api: Api) -> None:
    kind = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups"}
    assert _claim(api, "shared", "ours")["status"]["reservedFor"] == [{**kind, "name": "shared"}]
    own = _claim(api, "own", "ours")["status"]["reservedFor"]
    assert own == [{"resource": "pods", "name": f"own-{place}"} for place in range(3)]
