"""The official Python client on an embedded cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import kubernetes
import pytest
from kubernetes import client, dynamic, watch
from kubernetes.client.exceptions import ApiException

from tests.controlplane.servers import wait_for
from tests.embedded.api_samples import crd
from tests.embedded.clusters import Embedded

NAMESPACE = "default"
MERGE, STRATEGIC, JSON = "merge-patch", "strategic-merge-patch", "json-patch"


@pytest.fixture(scope="module")
def api() -> Iterator[client.ApiClient]:
    with (
        Embedded("--nodes=2") as cluster,
        kubernetes.config.new_client_from_config(str(cluster.kubeconfig)) as connected,
    ):
        yield connected


@pytest.fixture(scope="module")
def core(api: client.ApiClient) -> client.CoreV1Api:
    return client.CoreV1Api(api)


def pod(name: str) -> dict[str, Any]:
    container = {"name": "main", "image": "nginx", "resources": {"requests": {"cpu": "100m"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": [container]},
    }


def test_lists_and_reads(core: client.CoreV1Api, api: client.ApiClient) -> None:
    nodes = core.list_node()
    assert len(nodes.items) == 2
    assert all(
        condition.status == "True"
        for node in nodes.items
        for condition in node.status.conditions
        if condition.type == "Ready"
    )
    page = core.list_node(limit=1)
    rest = core.list_node(limit=1, _continue=page.metadata._continue)
    assert [page.items[0].metadata.name, rest.items[0].metadata.name] == [
        node.metadata.name for node in nodes.items
    ]
    assert client.VersionApi(api).get_code().git_version == "v1.36.4"
    with pytest.raises(ApiException) as info:
        core.read_namespaced_pod("none", NAMESPACE)
    assert (info.value.status, info.value.reason) == (404, "Not Found")


def test_a_pod_lives(core: client.CoreV1Api) -> None:
    created = core.create_namespaced_pod(NAMESPACE, pod("lives"))
    assert created.status.phase == "Pending"
    phases = []
    watching = watch.Watch()
    for event in watching.stream(
        core.list_namespaced_pod, NAMESPACE, label_selector="app=lives", timeout_seconds=30
    ):
        phases.append((event["type"], event["object"].status.phase))
        if event["object"].status.phase == "Running":
            core.delete_namespaced_pod("lives", NAMESPACE, grace_period_seconds=1)
        if event["type"] == "DELETED":
            watching.stop()
    assert phases[0] == ("ADDED", "Pending")
    assert ("MODIFIED", "Running") in phases
    assert phases[-1][0] == "DELETED"


def test_patches(core: client.CoreV1Api, api: client.ApiClient) -> None:
    apps = client.AppsV1Api(api)
    labels = {"app": "patched"}
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels=labels),
        spec=client.V1PodSpec(containers=[client.V1Container(name="main", image="one")]),
    )
    spec = client.V1DeploymentSpec(
        replicas=2, selector=client.V1LabelSelector(match_labels=labels), template=template
    )
    apps.create_namespaced_deployment(
        NAMESPACE, client.V1Deployment(metadata=client.V1ObjectMeta(name="patched"), spec=spec)
    )

    def patched(body: Any, kind: str) -> Any:
        return apps.patch_namespaced_deployment(
            "patched", NAMESPACE, body, _content_type=f"application/{kind}+json", field_manager="tests"
        )

    assert patched({"metadata": {"labels": {"x": "y"}}}, MERGE).metadata.labels == {"x": "y"}
    assert patched([{"op": "remove", "path": "/metadata/labels/x"}], JSON).metadata.labels is None
    container = {"name": "main", "env": [{"name": "A", "value": "b"}]}
    changed = patched({"spec": {"template": {"spec": {"containers": [container]}}}}, STRATEGIC)
    [found] = changed.spec.template.spec.containers
    assert (found.image, found.env[0].value) == ("one", "b")
    apps.patch_namespaced_deployment_scale("patched", NAMESPACE, {"spec": {"replicas": 3}})

    def three_ready() -> bool:
        status = apps.read_namespaced_deployment_status("patched", NAMESPACE).status
        return bool(status.ready_replicas == 3 and status.updated_replicas == 3)

    wait_for("three ready pods", three_ready, seconds=30)
    pods = core.list_namespaced_pod(
        NAMESPACE, label_selector="app=patched", field_selector="status.phase=Running"
    )
    assert isinstance(core.read_namespaced_pod_log(pods.items[0].metadata.name, NAMESPACE), str)
    apps.delete_namespaced_deployment("patched", NAMESPACE, propagation_policy="Foreground")


def test_conflicts_are_told_apart(core: client.CoreV1Api) -> None:
    made = core.create_namespaced_config_map(
        NAMESPACE, client.V1ConfigMap(metadata={"name": "shared"}, data={"a": "1"})
    )
    with pytest.raises(ApiException) as exists:
        core.create_namespaced_config_map(NAMESPACE, client.V1ConfigMap(metadata={"name": "shared"}))
    assert exists.value.status == 409
    made.data = {"a": "2"}
    core.replace_namespaced_config_map("shared", NAMESPACE, made)
    with pytest.raises(ApiException) as stale:
        core.replace_namespaced_config_map("shared", NAMESPACE, made)
    assert stale.value.status == 409
    core.delete_collection_namespaced_config_map(NAMESPACE, field_selector="metadata.name=shared")
    assert core.list_namespaced_config_map(NAMESPACE, field_selector="metadata.name=shared").items == []


def test_the_dynamic_client_on_a_custom_resource(api: client.ApiClient) -> None:
    definitions = client.ApiextensionsV1Api(api)
    definitions.create_custom_resource_definition(crd())
    gadgets = wait_for("the custom resource", lambda: _resource(api, "shop.example.com/v1", "Gadget"))
    body = {
        "apiVersion": "shop.example.com/v1",
        "kind": "Gadget",
        "metadata": {"name": "g"},
        "spec": {"integer": 3},
    }
    assert gadgets.create(body=body, namespace=NAMESPACE).spec.integer == 3
    applied = gadgets.server_side_apply(
        body={**body, "spec": {"integer": 4}},
        name="g",
        namespace=NAMESPACE,
        field_manager="tests",
        force_conflicts=True,
    )
    assert applied.spec.integer == 4
    merged = gadgets.patch(
        body={"spec": {"integer": 5}},
        name="g",
        namespace=NAMESPACE,
        content_type="application/merge-patch+json",
    )
    assert merged.spec.integer == 5
    assert [each.metadata.name for each in gadgets.get(namespace=NAMESPACE).items] == ["g"]
    with pytest.raises(ApiException) as info:
        gadgets.create(
            body={**body, "metadata": {"name": "h"}, "spec": {"integer": "x"}}, namespace=NAMESPACE
        )
    assert info.value.status == 422
    gadgets.delete(name="g", namespace=NAMESPACE)
    definitions.delete_custom_resource_definition("gadgets.shop.example.com")


def _resource(api: client.ApiClient, api_version: str, kind: str) -> Any:
    try:
        return dynamic.DynamicClient(api).resources.get(api_version=api_version, kind=kind)
    except dynamic.exceptions.ResourceNotFoundError:
        return None


def test_server_side_apply(core: client.CoreV1Api) -> None:
    def apply(manager: str, value: str, *, force: bool = False) -> Any:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "applied"},
            "data": {"a": value},
        }
        return core.patch_namespaced_config_map(
            "applied",
            NAMESPACE,
            body,
            field_manager=manager,
            force=force,
            _content_type="application/apply-patch+yaml",
        )

    assert apply("one", "1").data == {"a": "1"}
    with pytest.raises(ApiException) as info:
        apply("two", "2")
    assert info.value.status == 409
    assert 'conflict with \\"one\\": .data.a' in info.value.body
    forced = apply("two", "2", force=True)
    assert [each.manager for each in forced.metadata.managed_fields] == ["two"]
