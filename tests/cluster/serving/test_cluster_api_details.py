"""Details of answers that kubectl shows, or that clients rely on; the words are kube-apiserver's."""

import asyncio
from typing import Any

import pytest

from moorage.cluster.access.requests import Answer, Request
from moorage.cluster.embedded import ADMIN
from tests.cluster.api_worlds import CONFIG_MAPS, PODS, World
from tests.embedded.api_samples import crd

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


@pytest.fixture
def world() -> World:
    return World().prepared()


def pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "main", "image": "nginx"}]
    return {"metadata": {"name": "one"}, "spec": {"containers": containers, **spec}}


def deployment() -> dict[str, Any]:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    return {"metadata": {"name": "web"}, "spec": spec}


def test_a_pod_is_seen_to_be_deleted_even_if_it_goes_at_once(world: World) -> None:
    world.create(PODS, pod(nodeName="somewhere"))
    before = world.store.revision
    world.done("DELETE", f"{PODS}/one", {"gracePeriodSeconds": 0})
    changed, deleted = world.store.since("pods", before)
    assert (changed.type, deleted.type) == ("MODIFIED", "DELETED")
    metadata = deleted.new.document["metadata"]
    assert metadata["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert metadata["deletionGracePeriodSeconds"] == 0
    assert metadata["generation"] == 2


def test_a_pod_may_have_no_time_to_end(world: World) -> None:
    world.create(PODS, pod(nodeName="somewhere", terminationGracePeriodSeconds=0))
    assert world.get(f"{PODS}/one")["spec"]["terminationGracePeriodSeconds"] == 0
    template = deployment()["spec"]["template"]
    template["spec"]["terminationGracePeriodSeconds"] = 0
    created = world.create(
        DEPLOYMENTS, {**deployment(), "spec": {**deployment()["spec"], "template": template}}
    )
    assert created["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == 0
    world.done("DELETE", f"{PODS}/one")
    assert world.ask("GET", f"{PODS}/one").code == 404


def test_the_time_a_pod_has_left_can_only_become_shorter(world: World) -> None:
    world.create(PODS, pod(nodeName="somewhere"))
    world.done("DELETE", f"{PODS}/one", {"gracePeriodSeconds": 30})
    world.now += 5
    for seconds, left in ((100, 30), (10, 10), (20, 10)):
        metadata = world.done("DELETE", f"{PODS}/one", {"gracePeriodSeconds": seconds})["metadata"]
        assert metadata["deletionGracePeriodSeconds"] == left
        assert metadata["deletionTimestamp"] == f"2026-01-01T00:00:{left}Z", "counted from the first request"
        assert metadata["generation"] == 2


def test_who_scales_has_the_replicas(world: World) -> None:
    world.create(DEPLOYMENTS, deployment(), fieldManager="maker")
    scale = {"spec": {"replicas": 3}}
    world.done("PATCH", f"{DEPLOYMENTS}/web/scale", scale, content_type=MERGE, fieldManager="scaler")
    found = world.get(f"{DEPLOYMENTS}/web")
    assert found["metadata"]["generation"] == 2
    first, second = found["metadata"]["managedFields"]
    assert first == {
        "manager": "scaler",
        "operation": "Update",
        "apiVersion": "apps/v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:replicas": {}}},
        "subresource": "scale",
    }
    assert "f:replicas" not in second["fieldsV1"]["f:spec"]


def test_a_status_is_completed(world: World) -> None:
    world.create("/api/v1/nodes", {"metadata": {"name": "machine"}})
    status = {"status": {"capacity": {"cpu": "4"}}}
    node = world.done("PATCH", "/api/v1/nodes/machine/status", status, content_type=MERGE)
    assert node["status"]["allocatable"] == {"cpu": "4"}


def test_warnings_come_with_refusals_too(world: World) -> None:
    path = "/api/v1/namespaces/default/endpoints"
    warning = '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
    for method, where, body in (
        ("GET", path, b""),
        ("POST", path, {"metadata": {"name": "one"}}),
        ("POST", path, {"metadata": {"name": "one"}}),
        ("GET", f"{path}/nothing", b""),
    ):
        assert world.ask(method, where, body).headers["Warning"] == warning


def test_a_certificate_that_is_none_is_warned_of(world: World) -> None:
    data = {"tls.crt": "Y2VydA==", "tls.key": "a2V5"}
    secret = {"metadata": {"name": "one"}, "type": "kubernetes.io/tls", "data": data}
    reply = world.ask("POST", "/api/v1/namespaces/default/secrets", secret)
    assert reply.code == 201
    assert reply.headers["Warning"] == '299 - "tls: failed to find any PEM data in certificate input"'


def test_a_patch_that_leaves_a_wrong_type(world: World) -> None:
    world.create(CONFIG_MAPS, {"metadata": {"name": "one"}})
    reply = world.ask("PATCH", f"{CONFIG_MAPS}/one", {"data": {"a": 1}}, content_type=STRATEGIC)
    assert reply.code == 422
    assert reply.message == (
        ' "" is invalid: patch: Invalid value: "map[data:map[a:1]]": cannot convert int64 to string'
    )
    reply = world.ask("PATCH", f"{CONFIG_MAPS}/one", {"data": {"a": 1}}, content_type=MERGE)
    assert reply.code == 422
    assert reply.message.endswith(
        "json: cannot unmarshal number into Go struct field ConfigMap.data of type string"
    )
    assert "managedFields" not in reply.message


def test_an_apply_that_leaves_a_wrong_type_has_no_reason(world: World) -> None:
    metadata = {"name": "one"}
    applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "binaryData": {"a": "!"}}
    reply = world.ask("PATCH", f"{CONFIG_MAPS}/one", applied, content_type=APPLY, fieldManager="me")
    assert reply.code == 400
    assert "reason" not in reply.document
    assert reply.message == (
        "failed to convert new object (default/one; /v1, Kind=ConfigMap) to proper version: unable to"
        " convert unstructured object to /v1, Kind=ConfigMap: error decoding from json: illegal base64"
        " data at input byte 0"
    )


def test_another_uid_is_a_conflict_in_an_update_and_invalid_in_a_patch(world: World) -> None:
    world.create(CONFIG_MAPS, {"metadata": {"name": "one"}})
    other = {"metadata": {"name": "one", "uid": "other"}}
    assert world.ask("PUT", f"{CONFIG_MAPS}/one", other).code == 409
    reply = world.ask("PATCH", f"{CONFIG_MAPS}/one", other, content_type=MERGE)
    assert reply.message == (
        'ConfigMap "one" is invalid: metadata.uid: Invalid value: "other": field is immutable'
    )


@pytest.mark.parametrize(
    "path", ["/api/v2", "/apis/apps/v1/nothing", "/apis/apps/v1/namespaces/x/deployments/a/b/c"]
)
def test_paths_that_are_not_served_in_known_groups(world: World, path: str) -> None:
    reply = world.ask("GET", path)
    assert reply.code == 404
    assert reply.message == "the server could not find the requested resource"


@pytest.mark.parametrize("path", ["/nothing", "/apis/nothing/v1", "/apis/nothing/v1/things"])
def test_other_paths_that_are_not_served(world: World, path: str) -> None:
    reply = world.ask("GET", path)
    assert (reply.code, reply.document) == (404, "404 page not found\n")


def test_the_old_openapi_document_follows_the_custom_resources(world: World) -> None:
    gadget = "com.example.shop.v1.Gadget"

    async def test() -> None:
        assert gadget not in world.get("/openapi/v2")["definitions"]
        world.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd())
        await asyncio.sleep(0)
        assert gadget in world.get("/openapi/v2")["definitions"]

    asyncio.run(test())


def test_the_old_openapi_document_in_protobuf(world: World) -> None:
    wanted = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    answer = world.cluster.handle(Request("GET", "/openapi/v2", {"accept": [wanted]}, user=ADMIN))
    assert isinstance(answer, Answer)
    assert answer.content_type == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    assert answer.body.startswith(b"\x0a\x032.0")


def test_what_has_no_known_fields_has_one_manager(world: World) -> None:
    revision = {"metadata": {"name": "one"}, "revision": 1, "data": {"spec": {"any": "thing"}}}
    path = "/apis/apps/v1/namespaces/default/controllerrevisions"
    [managed] = world.create(path, revision)["metadata"]["managedFields"]
    assert managed["fieldsV1"] == {"f:data": {}, "f:revision": {}}


def test_the_template_generation_of_daemons_is_managed_by_who_makes_them(world: World) -> None:
    daemons = deployment()
    del daemons["spec"]["replicas"]
    metadata = world.create("/apis/apps/v1/namespaces/default/daemonsets", daemons)["metadata"]
    name = "deprecated.daemonset.template.generation"
    assert metadata["annotations"] == {name: "1"}
    [managed] = metadata["managedFields"]
    assert managed["fieldsV1"]["f:metadata"] == {"f:annotations": {".": {}, f"f:{name}": {}}}


def test_the_order_in_which_broken_rules_are_told(world: World) -> None:
    controller = {"metadata": {"name": "one"}, "spec": {"replicas": -1}}
    reply = world.ask("POST", "/api/v1/namespaces/default/replicationcontrollers", controller)
    assert reply.message == (
        'ReplicationController "one" is invalid: [spec.selector: Required value, spec.replicas:'
        " Invalid value: -1: must be greater than or equal to 0, spec.template: Required value]"
    )
    world.create(CONFIG_MAPS, {"metadata": {"name": "one"}, "immutable": True})
    reply = world.ask("PATCH", f"{CONFIG_MAPS}/one", {"data": {"a b": ""}}, content_type=MERGE)
    first, second = reply.document["details"]["causes"]
    assert (first["field"], second["field"]) == ("data", "data[a b]")


def test_an_address_that_is_taken_is_told_before_a_name_that_is(world: World) -> None:
    path = "/api/v1/namespaces/default/services"
    service = {"metadata": {"name": "one"}, "spec": {"clusterIP": "10.96.0.20", "ports": [{"port": 80}]}}
    world.create(path, service)
    reply = world.ask("POST", path, service)
    assert reply.code == 422
    assert reply.message.endswith("failed to allocate IP 10.96.0.20: provided IP is already allocated")


def test_a_scale_is_shown_as_a_table_too(world: World) -> None:
    world.create(DEPLOYMENTS, deployment())
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"

    shown = world.done("GET", f"{DEPLOYMENTS}/web/scale", accept=table)
    assert [column["name"] for column in shown["columnDefinitions"]] == [
        "Name",
        "Desired",
        "Available",
        "Age",
    ]
    assert shown["rows"][0]["cells"][:3] == ["web", 1, 0]


def test_a_scale_of_another_name(world: World) -> None:
    world.create(DEPLOYMENTS, deployment())
    scale = {"metadata": {"name": "other"}, "spec": {"replicas": 1}}
    reply = world.ask("PUT", f"{DEPLOYMENTS}/web/scale", scale)
    told = "the name of the object (other) does not match the name on the URL (web)"
    assert (reply.code, reply.message) == (400, told)


def test_the_checks_of_its_health_have_addresses(world: World) -> None:
    assert world.ask("GET", "/livez/ping").document == "ok"
    assert world.ask("GET", "/livez/other").code == 404
    assert world.ask("GET", "/readyz", verbose="").document == "[+]ping ok\nreadyz check passed\n"
