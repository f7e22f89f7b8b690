"""A plugin that decides by a custom resource, which is watched for it."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.controlplane.schedulers import Api, Document, condition, configuration, moorage, node, pod
from tests.controlplane.servers import ControlPlane

GROUP = "shop.example.com"

PLUGIN = '''
import msgspec

from moorage import Action, ClusterEvent, Object, PreFilterPlugin, Status


class LicenseSpec(msgspec.Struct, rename="camel", frozen=True):
    seats: int = 0


class License(Object, kw_only=True):
    spec: LicenseSpec = LicenseSpec()


class Licensed(PreFilterPlugin):
    """Lets pods run for which there is a license with a seat."""

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.licenses = handle.lister("shop.example.com", "v1", "licenses", type=License)

    def pre_filter(self, cycle, pod):
        wanted = pod.labels.get("license")
        if wanted is None:
            return None
        found = self.licenses.get(wanted, namespace=pod.namespace)
        if found is None:
            known = "there is no" if self.licenses.has_synced else "nobody knows of a"
            return Status.unschedulable(f"{known} license {wanted}")
        if not found.spec.seats:
            return Status.unschedulable(f"no seat is left in license {wanted}")
        return None

    def events(self):
        return [ClusterEvent("licenses.v1.shop.example.com", Action.ADD | Action.UPDATE)]
'''


def definition() -> Document:
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"seats": {"type": "integer"}}}},
    }
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "licenses", "singular": "license", "kind": "License", "listKind": "LicenseList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"licenses.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
LICENSES = f"/apis/{GROUP}/v1/namespaces/default/licenses"


@pytest.fixture(scope="module")
def api(control_plane: ControlPlane) -> Api:
    opened = Api(control_plane)
    opened.create([node("node-1")])
    return opened


@pytest.fixture(autouse=True)
def nothing_left(api: Api) -> Iterator[None]:
    yield
    api.delete_all("pods")


@pytest.fixture
def plugin_file(tmp_path: Path) -> Path:
    file = tmp_path / "licensed.py"
    file.write_text(PLUGIN)
    return file


def config(plane: ControlPlane) -> Document:
    content = configuration(plane)
    content["profiles"][0]["plugins"] = {"multiPoint": {"enabled": [{"name": "Licensed"}]}}
    return content


def a_license(name: str, seats: int) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": f"{GROUP}/v1", "kind": "License", "metadata": meta, "spec": {"seats": seats}}


def wanting(name: str) -> Document:
    return pod(f"wants-{name}", labels={"license": name})


def message(api: Api, name: str) -> str:
    found: str = condition(api.pod(name)).get("message", "")
    return found


def test_a_resource_that_the_server_learns_of_later(
    control_plane: ControlPlane, api: Api, plugin_file: Path
) -> None:
    """Nothing waits for it, and it is watched as soon as it is served."""
    with moorage(control_plane, f"--plugin={plugin_file}", config=config(control_plane)) as process:
        api.create([pod("other"), wanting("late")])
        process.wait_until("the bind of the other", lambda: "other" in api.bound())
        process.wait_until(
            "the refusal", lambda: "nobody knows of a license late" in message(api, "wants-late")
        )
        api.request("POST", DEFINITIONS, definition())
        control_plane.kubectl("wait", "--for=condition=Established", f"crd/licenses.{GROUP}", "--timeout=20s")
        api.request("POST", LICENSES, a_license("late", 1))
        process.wait_until("the bind", lambda: "wants-late" in api.bound())


def test_a_new_object_wakes_the_pod_that_waits_for_it(
    control_plane: ControlPlane, api: Api, plugin_file: Path
) -> None:
    with moorage(control_plane, f"--plugin={plugin_file}", config=config(control_plane)) as process:
        api.create([wanting("fresh"), wanting("used-up"), wanting("never")])
        names = ["wants-fresh", "wants-used-up", "wants-never"]
        process.wait_until("the refusals", lambda: all(message(api, name) for name in names))
        assert message(api, "wants-fresh").startswith("0/1 nodes are available: there is no license fresh.")

        began = time.monotonic()
        api.request("POST", LICENSES, a_license("fresh", 1))
        process.wait_until("the bind", lambda: "wants-fresh" in api.bound())
        # A second of backoff is all that may stand in between.
        assert time.monotonic() - began < 3

        api.request("POST", LICENSES, a_license("used-up", 0))
        process.wait_until("the other reason", lambda: "no seat is left" in message(api, "wants-used-up"))
        used_up = api.request("GET", f"{LICENSES}/used-up")
        used_up["spec"]["seats"] = 2
        api.request("PUT", f"{LICENSES}/used-up", used_up)
        process.wait_until("the bind after a change", lambda: "wants-used-up" in api.bound())
        assert "wants-never" not in api.bound()
