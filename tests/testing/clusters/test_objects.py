"""Reading, writing and waiting on an API server in the process of the test."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import kubernetes
import msgspec
import pytest
from kubernetes import client as official

from moorage import Node, Object, ObjectMeta, Pod
from moorage.client.errors import ApiError, BadRequest, Invalid, NotFound
from moorage.testing import ApiServer, Cluster, NotInTime, make_node, make_pod
from tests.controlplane.programs import programs_for
from tests.embedded.api_samples import crd

SETTINGS: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"colour": "blue"},
}


class GadgetSpec(msgspec.Struct, omit_defaults=True):
    integer: int = 0


class Gadget(Object, kw_only=True):
    group: ClassVar[str] = "shop.example.com"
    version: ClassVar[str] = "v1"
    resource: ClassVar[str] = "gadgets"
    kind: ClassVar[str] = "Gadget"

    spec: GadgetSpec = msgspec.field(default_factory=GadgetSpec)


def test_documents_by_the_name_of_their_kind(api: ApiServer) -> None:
    assert api.create(SETTINGS)["metadata"]["namespace"] == "default"
    for kind in ("ConfigMap", "configmaps", "cm"):
        assert api.get(kind, "settings")["data"] == {"colour": "blue"}
    assert api.get(SETTINGS)["metadata"]["uid"]
    assert api.patch("configmap", {"data": {"size": "3"}}, "settings")["data"]["size"] == "3"
    change = [{"op": "remove", "path": "/data/colour"}]
    assert api.patch(SETTINGS, change, kind="json")["data"] == {"size": "3"}
    assert [each["metadata"]["name"] for each in api.list("cm", namespace="default")] == [
        "kube-root-ca.crt",
        "settings",
    ]
    api.delete("cm", "settings")
    with pytest.raises(NotFound, match='configmaps "settings" not found'):
        api.get("cm", "settings")


def test_objects_of_classes(api: ApiServer) -> None:
    made = api.create(make_pod("web", labels={"app": "web"}))
    assert isinstance(made, Pod)
    assert made.uid != "pod-default-web"
    assert api.get(Pod, "web").uid == api.get(made).uid == made.uid
    assert [each.key for each in api.list(Pod, label_selector="app=web")] == ["default/web"]
    assert api.list(Pod, label_selector="app=other") == []
    assert api.patch(made, {"metadata": {"labels": {"app": "new"}}}).labels == {"app": "new"}
    assert (
        api.patch(Pod, {"status": {"phase": "Failed"}}, "web", subresource="status").status.phase == "Failed"
    )
    node = api.create(make_node("n", cpu="7"))
    assert api.get(Node, "n").status.allocatable["cpu"] == "7"
    api.delete(node)
    api.wait_deleted(node)


def test_apply_takes_objects_documents_texts_and_files(api: ApiServer, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n")
    (tmp_path / "b.json").write_bytes(
        msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": [SETTINGS]})
    )
    text = "\n---\n".join(
        f"apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: shop}}"
        for name in ("one", "two")
    )
    applied = api.apply(tmp_path, text, [make_pod("web", namespace="shop")], tmp_path / "a.yaml")
    assert [each["kind"] for each in applied] == [
        "Namespace",
        "ConfigMap",
        "Secret",
        "Secret",
        "Pod",
        "Namespace",
    ]
    changed = {**SETTINGS, "data": {"colour": "red"}}
    [again] = api.apply(changed)
    assert again["data"] == {"colour": "red"}
    assert api.get("cm", "settings")["metadata"]["uid"] == again["metadata"]["uid"]


def test_a_definition_and_its_objects_in_one_go(api: ApiServer) -> None:
    gadget: dict[str, Any] = {
        "apiVersion": "shop.example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "g"},
    }
    api.apply(crd(), gadget | {"spec": {"integer": 3}})
    assert api.get(Gadget, "g").spec.integer == 3
    made = api.create(Gadget(metadata=ObjectMeta(name="h"), spec=GadgetSpec(integer=4)))
    assert (made.spec.integer, made.namespace) == (4, "default")
    assert api.patch(made, {"spec": {"integer": 5}}).spec.integer == 5
    assert [each["spec"]["integer"] for each in api.list("gadgets.shop.example.com")] == [3, 5]


def test_a_class_stands_for_its_definition(api: ApiServer) -> None:
    class Approved(Gadget):
        group: ClassVar[str] = "shop.k8s.io"

    api.apply(Gadget, [Approved])
    assert [each["metadata"]["name"] for each in api.list("crd")] == [
        "gadgets.shop.example.com",
        "gadgets.shop.k8s.io",
    ]
    assert api.create(Approved(metadata=ObjectMeta(name="g"))).namespace == "default"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("kind: [", "the YAML text: not YAML"),
        ("", "the YAML text: holds no object"),
        ("manifests/pod.yaml", "a file is given as a pathlib.Path"),
        ({"kind": "Pod"}, "give it an `apiVersion` and a `kind`"),
        ({"apiVersion": "v1", "kind": "Pod"}, "Pod: which one"),
    ],
)
def test_what_is_no_object_is_refused(api: ApiServer, given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        api.apply(given)


def test_an_object_has_to_have_a_name(api: ApiServer) -> None:
    for unclear in (
        lambda: api.get("pods", ""),
        lambda: api.patch("pods", {}),
        lambda: api.delete("pods"),
        lambda: api.wait_until("pods", bool),
        lambda: api.wait_deleted(Pod),
    ):
        with pytest.raises(ValueError, match=r"^Pod: which one\? Give its name$"):
            unclear()


def test_what_the_server_refuses_is_raised(api: ApiServer) -> None:
    with pytest.raises(LookupError, match="gadgets: the API server serves no such kind"):
        api.get("gadgets", "g")
    with pytest.raises(LookupError, match=r"Gadget of shop.example.com/v1: .*is its definition applied"):
        api.apply({"apiVersion": "shop.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}})
    with pytest.raises(BadRequest, match='unknown field "dta"'):
        api.create({**SETTINGS, "dta": {}})
    with pytest.raises(Invalid, match=r"metadata.name: Invalid value"):
        api.create(make_pod("Not_A_Name"))


def test_waiting_for_what_an_object_becomes(api: ApiServer) -> None:
    api.apply(SETTINGS)
    api.patch("cm", {"data": {"colour": "red"}}, "settings")
    found = api.wait_until(SETTINGS, lambda settings: settings["data"]["colour"] == "red")
    assert found["data"] == {"colour": "red"}
    assert api.wait_until("sa", lambda account: True, "default")["metadata"]["name"] == "default"
    with pytest.raises(ZeroDivisionError):
        api.wait_until(SETTINGS, lambda settings: 1 / 0)
    with pytest.raises(NotInTime, match=r"^ConfigMap default/settings is not as it should be after 0.02 s\n"):
        api.wait_until(SETTINGS, lambda settings: settings["data"]["colour"] == "green", timeout=0.02)
    with pytest.raises(NotInTime, match=r"Pod default/none .*\nit does not exist"):
        api.wait_until(Pod, lambda pod: True, "none", timeout=0.02)


def test_who_waits_does_not_ask_again(api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    api.apply(SETTINGS)
    asked: list[str] = []
    client = api._parts.client
    send = client.send

    async def counted(method: str, path: str, *rest: Any, **more: Any) -> bytes:
        asked.append(path.rpartition("/")[2])
        return await send(method, path, *rest, **more)

    monkeypatch.setattr(client, "send", counted)
    with pytest.raises(NotInTime):
        api.wait_until(SETTINGS, lambda settings: False, timeout=0.3)
    assert asked == ["configmaps", "settings", "events"]  # the last two for what NotInTime says


def test_waiting_for_an_end(api: ApiServer) -> None:
    api.wait_deleted("cm", "settings")
    kept = api.create({**SETTINGS, "metadata": {"name": "kept", "finalizers": ["example.com/mine"]}})
    api.delete(kept)
    with pytest.raises(
        NotInTime, match=r"is not gone after 0.02 s\nit is being deleted; its finalizers are example"
    ):
        api.wait_deleted(kept, timeout=0.02)
    api.patch(kept, {"metadata": {"finalizers": None}})
    api.wait_deleted(kept)


def test_waiting_for_an_event() -> None:
    with Cluster(nodes=1) as cluster:
        pod = cluster.create(make_pod())
        event = cluster.wait_event("Scheduled", pod)
        assert (event.type, event.regarding.name) == ("Normal", "pod")
        assert cluster.wait_event("Scheduled").name == event.name
        with pytest.raises(NotInTime, match="Pod default/pod has no event Evicted"):
            cluster.wait_event("Evicted", pod, timeout=0.02)
        with pytest.raises(NotInTime, match=r"there is no event Evicted after 0.02 s$"):
            cluster.wait_event("Evicted", timeout=0.02)


def test_a_namespace_of_its_own() -> None:
    with Cluster(nodes=[make_node("n", pods=1)]) as cluster:
        names = []
        for _ in range(2):
            with cluster.namespace() as name:
                names.append(name)
                assert cluster.schedule(make_pod(namespace=name)).node == "n"
        assert len(set(names)) == 2
        assert not set(names) & {each["metadata"]["name"] for each in cluster.list("ns")}
        assert cluster.list(Pod) == []


def test_the_official_client(api: ApiServer, tmp_path: Path) -> None:
    with kubernetes.config.new_client_from_config(str(api.kubeconfig)) as connected:
        core = official.CoreV1Api(connected)
        core.create_namespaced_config_map("default", SETTINGS)
        assert core.list_node().items == []
        assert core.read_namespaced_config_map("settings", "default").data == {"colour": "blue"}
    assert api.get("cm", "settings")["data"] == {"colour": "blue"}
    authority = tmp_path / "ca.crt"
    authority.write_text(api.ca)
    settings = official.Configuration(
        host=api.url, api_key={"authorization": f"Bearer {api.token}"}, ssl_ca_cert=str(authority)
    )
    with official.ApiClient(settings) as connected:
        assert official.CoreV1Api(connected).read_namespaced_config_map("settings", "default").data


def test_controllers_work(api: ApiServer) -> None:
    """As operators rely on it: what an object owns goes with it."""
    owner = api.create(SETTINGS)
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "settings", "uid": owner["metadata"]["uid"]}
    owned = api.create({**SETTINGS, "metadata": {"name": "owned", "ownerReferences": [reference]}})
    api.delete(owner)
    api.wait_deleted(owned)


def test_kubectl(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    programs = programs_for(pytestconfig)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="kubectl is not on the PATH"):
        api.kubectl("get", "nodes")
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{tmp_path}")
    manifest = msgspec.json.encode(SETTINGS).decode()
    assert api.kubectl("apply", "-f", "-", input=manifest) == "configmap/settings created\n"
    with pytest.raises(RuntimeError, match=r'kubectl get cm none: .*configmaps "none" not found'):
        api.kubectl("get", "cm", "none")


def test_an_error_says_what_the_server_said(api: ApiServer) -> None:
    with pytest.raises(ApiError) as caught:
        api.create({**SETTINGS, "metadata": {"name": "x", "namespace": "nowhere"}})
    assert str(caught.value) == 'namespaces "nowhere" not found'
