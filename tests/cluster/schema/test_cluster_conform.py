"""Documents in the form in which a real API server stores them, and what it says of those it cannot read."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moorage.cluster.base.errors import Refusal
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.conform import Conformed, conform
from moorage.cluster.schema.discovery_data import builtin_definitions

POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}


def conformed(document: Any, group: str = "", kind: str = "Pod") -> Conformed:
    api_version = f"{group}/v1" if group else "v1"
    return conform(schema_of(group, "v1", kind), document, kind=kind, api_version=api_version)


def refusal(document: Any, group: str = "", kind: str = "Pod") -> str:
    with pytest.raises(Refusal) as refused:
        conformed(document, group, kind)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    prefix = f'{kind} in version "v1" cannot be handled as a {kind}: '
    assert refused.value.message.startswith(prefix)
    return refused.value.message.removeprefix(prefix)


def pod(**spec: Any) -> dict[str, Any]:
    return {**POD, "spec": spec}


def container(**fields: Any) -> dict[str, Any]:
    return pod(containers=[{"name": "a", **fields}])


def crd(schema: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}


# What is stored


def test_a_pod_loses_what_means_nothing_and_gains_what_is_always_written() -> None:
    given_ = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {}, "creationTimestamp": None, "finalizers": []},
        "spec": {
            "hostNetwork": False,
            "terminationGracePeriodSeconds": 0,
            "nodeSelector": {},
            "tolerations": [],
            "affinity": {"nodeAffinity": {}, "podAffinity": None},
            "securityContext": {"runAsUser": 0, "sysctls": []},
            "imagePullSecrets": [{}, {"name": "x"}],
            "containers": [
                {
                    "name": "a",
                    "args": [],
                    "env": [{"name": "A", "value": ""}],
                    "ports": [{"containerPort": 80, "hostPort": 0}],
                    "resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}, "requests": {}},
                    "livenessProbe": {"httpGet": {"path": "", "port": "x"}, "periodSeconds": 0},
                    "startupProbe": {"grpc": {"port": 5}},
                    "stdin": False,
                    "securityContext": {"privileged": False},
                }
            ],
            "volumes": [
                {"name": "e", "emptyDir": {}},
                {"name": "h", "hostPath": {"path": "/x", "type": ""}},
            ],
        },
    }
    before = deepcopy(given_)
    result = conformed(given_)
    assert result.unknown == []
    assert given_ == before
    assert result.document == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {
            "terminationGracePeriodSeconds": 0,
            "affinity": {"nodeAffinity": {}},
            "securityContext": {"runAsUser": 0},
            "imagePullSecrets": [{}, {"name": "x"}],
            "containers": [
                {
                    "name": "a",
                    "env": [{"name": "A"}],
                    "ports": [{"containerPort": 80, "protocol": "TCP"}],
                    "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
                    "livenessProbe": {"httpGet": {"port": "x"}},
                    "startupProbe": {"grpc": {"port": 5, "service": ""}},
                    "securityContext": {"privileged": False},
                }
            ],
            "volumes": [
                {"name": "e", "emptyDir": {}},
                {"name": "h", "hostPath": {"path": "/x", "type": ""}},
            ],
        },
        "status": {},
    }


@pytest.mark.parametrize(
    ("group", "document", "stored"),
    [
        ("", {"kind": "Pod"}, {"metadata": {}, "spec": {"containers": None}, "status": {}}),
        ("rbac.authorization.k8s.io", {"kind": "Role", "rules": []}, {"metadata": {}, "rules": None}),
        (
            "rbac.authorization.k8s.io",
            {"kind": "Role", "rules": [{"verbs": ["get"], "apiGroups": ["", None]}]},
            {"metadata": {}, "rules": [{"verbs": ["get"], "apiGroups": ["", ""]}]},
        ),
        (
            "",
            {"kind": "ConfigMap", "data": {"a": None, "b": ""}, "binaryData": {}, "immutable": False},
            {"metadata": {}, "data": {"a": "", "b": ""}, "immutable": False},
        ),
        (
            "",
            {"kind": "Secret", "data": {"a": None, "b": "YR=="}},
            {"metadata": {}, "data": {"a": "", "b": "YQ=="}},
        ),
        ("apps", {"kind": "ControllerRevision"}, {"metadata": {}, "data": None, "revision": 0}),
        (
            "apps",
            {"kind": "ControllerRevision", "data": {"a": {"b": None, "c": [1.5, {}]}}},
            {"metadata": {}, "data": {"a": {"b": None, "c": [1.5, {}]}}, "revision": 0},
        ),
        (
            "coordination.k8s.io",
            {
                "kind": "Lease",
                "spec": {"acquireTime": "2020-01-01T02:00:00.000000+02:00", "holderIdentity": ""},
            },
            {"metadata": {}, "spec": {"acquireTime": "2020-01-01T00:00:00.000000Z", "holderIdentity": ""}},
        ),
        (
            "storage.k8s.io",
            {"kind": "CSINode", "spec": {"drivers": [{"name": "a", "nodeID": "b"}]}},
            {"metadata": {}, "spec": {"drivers": [{"name": "a", "nodeID": "b", "topologyKeys": None}]}},
        ),
    ],
)
def test_stored_forms(group: str, document: dict[str, Any], stored: dict[str, Any]) -> None:
    found = conformed(document, group, document["kind"]).document
    assert found == {"kind": document["kind"], **stored}


def test_a_node_shows_all_of_its_system_information() -> None:
    given_ = {
        "kind": "Node",
        "spec": {"taints": [{"key": "a", "timeAdded": "2020-01-01T02:00:00+02:00"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "images": [{"names": None}]},
    }
    found = conformed(given_, kind="Node").document
    assert found["spec"] == {"taints": [{"key": "a", "effect": "", "timeAdded": "2020-01-01T00:00:00Z"}]}
    assert found["status"].pop("nodeInfo") == {
        "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "",
        "architecture": "", "containerRuntimeVersion": "", "kubeletVersion": "", "kubeProxyVersion": "",
        "operatingSystem": "",
    }  # fmt: skip
    assert found["status"] == {
        "conditions": [
            {"type": "Ready", "status": "True", "lastHeartbeatTime": None, "lastTransitionTime": None}
        ],
        "images": [{"names": None}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
    }


def test_the_schema_in_a_custom_resource_definition() -> None:
    schema = {
        "type": "object",
        "description": "",
        "maximum": 5.0,
        "junk": 1,
        "properties": {
            "l": {"type": "array", "items": {"type": "string", "junk": 1, "nullable": False, "default": ""}},
            "m": {"type": "object", "additionalProperties": {"type": "string", "junk": 2}},
            "q": {"type": "object", "additionalProperties": True, "enum": ["", None, {"a": 1}]},
        },
    }
    result = conformed(crd(schema), "apiextensions.k8s.io", "CustomResourceDefinition")
    assert result.unknown == ["spec.versions[0].schema.openAPIV3Schema.junk"]
    assert result.document["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "type": "object",
        "maximum": 5,
        "properties": {
            "l": {"type": "array", "items": {"type": "string", "default": ""}},
            "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "q": {"type": "object", "additionalProperties": True, "enum": ["", None, {"a": 1}]},
        },
    }


def test_what_is_unknown_is_dropped_and_reported_by_its_path() -> None:
    result = conformed(
        pod(
            foo=1,
            containers=[{"name": "a", "bar": {"x": 1}}],
            affinity={"zz": 1},
            volumes=[{"name": "x", "emptyDir": {"q": None}}, {"name": "y", "w": 1}],
        )
        | {"metadata2": 1}
    )
    assert result.unknown == [
        "spec.foo",
        "spec.containers[0].bar",
        "spec.affinity.zz",
        "spec.volumes[0].emptyDir.q",
        "spec.volumes[1].w",
        "metadata2",
    ]
    assert result.document["spec"] == {
        "containers": [{"name": "a", "resources": {}}],
        "affinity": {},
        "volumes": [{"name": "x", "emptyDir": {}}, {"name": "y"}],
    }


# What is refused


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (pod(containers=5), "number into Go struct field PodSpec.spec.containers of type []v1.Container"),
        ({**POD, "spec": 5}, "number into Go struct field Pod.spec of type v1.PodSpec"),
        (pod(containers=[5]), "number into Go struct field PodSpec.spec.containers of type v1.Container"),
        (container(name=5), "number into Go struct field Container.spec.containers.name of type string"),
        (
            container(resources={"limits": 5}),
            "number into Go struct field ResourceRequirements.spec.containers.resources.limits"
            " of type v1.ResourceList",
        ),
        (
            pod(restartPolicy=[]),
            "array into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (pod(nodeSelector={"a": 1}), "number into Go struct field PodSpec.spec.nodeSelector of type string"),
        (
            pod(nodeSelector=[1]),
            "array into Go struct field PodSpec.spec.nodeSelector of type map[string]string",
        ),
        (pod(priority=1.5), "number 1.5 into Go struct field PodSpec.spec.priority of type int32"),
        (pod(priority=2**31), "number 2147483648 into Go struct field PodSpec.spec.priority of type int32"),
        (pod(priority=True), "bool into Go struct field PodSpec.spec.priority of type int32"),
        (pod(hostNetwork="true"), "string into Go struct field PodSpec.spec.hostNetwork of type bool"),
        (
            {**POD, "metadata": {"uid": {}}},
            "object into Go struct field ObjectMeta.metadata.uid of type types.UID",
        ),
        (
            {**POD, "metadata": {"creationTimestamp": 5}},
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            container(livenessProbe={"httpGet": {"port": True}}),
            "bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port"
            " of type int32",
        ),
        (
            pod(volumes=[{"emptyDir": 5}]),
            "number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir"
            " of type v1.EmptyDirVolumeSource",
        ),
        (
            container(securityContext={"capabilities": {"add": [1]}}),
            "number into Go struct field Capabilities.spec.containers.securityContext.capabilities.add"
            " of type v1.Capability",
        ),
        (5, "number into Go value of type v1.Pod"),
    ],
)
def test_wrong_types(document: Any, message: str) -> None:
    assert refusal(document) == f"json: cannot unmarshal {message}"


def test_the_first_wrong_type_is_reported_but_an_unreadable_text_before_all() -> None:
    both = {**POD, "metadata": {"name": 5}, "spec": {"containers": 7}}
    assert "ObjectMeta.metadata.name" in refusal(both)
    limits = {"limits": {"cpu": "zz"}}
    text = refusal({**POD, "metadata": {"name": 5}, "spec": {"containers": [{"resources": limits}]}})
    assert text.startswith("quantities must match the regular expression")


def test_unreadable_texts_elsewhere() -> None:
    assert refusal({"data": {"a": "x!"}}, kind="Secret") == "illegal base64 data at input byte 1"
    assert refusal({"data": {"a": 5}}, kind="Secret") == (
        "json: cannot unmarshal number into Go struct field Secret.data of type []uint8"
    )
    kind = "CustomResourceDefinition"
    assert refusal(crd({"additionalProperties": 5}), "apiextensions.k8s.io", kind) == (
        "boolean or JSON schema expected"
    )
    assert refusal(crd({"items": {"type": 5}}), "apiextensions.k8s.io", kind) == (
        "json: cannot unmarshal number into Go struct field"
        " JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.type of type string"
    )


def nested(depth: int, name: str) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {name: inner}
    return inner


def test_endless_nesting_is_refused() -> None:
    assert refusal({"data": nested(10_000, "a")}, "apps", "ControllerRevision") == "exceeded max depth"
    kind = "CustomResourceDefinition"
    assert refusal(crd(nested(10_000, "not")), "apiextensions.k8s.io", kind) == "exceeded max depth"
    assert refusal(crd({"type": 5, **nested(10_000, "items")}), "apiextensions.k8s.io", kind)


def test_huge_numbers_are_refused() -> None:
    for number in (2**63, -(10**5000), 1e300):
        assert "of type int64" in refusal(pod(activeDeadlineSeconds=number))
        assert "of type int32" in refusal(pod(priority=number))
    kind = "CustomResourceDefinition"
    assert "of type float64" in refusal(crd({"maximum": 10**400}), "apiextensions.k8s.io", kind)


# Everything at once

_DEFINITIONS = builtin_definitions({})
_NAMES = sorted(
    {name for each in _DEFINITIONS for name in (*each.schema.fields, "containers", "name", "items")}
)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("1Gi"),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES) | st.text(max_size=3), inner)
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(_JSON, st.sampled_from(_DEFINITIONS))
def test_anything_is_conformed_or_refused(document: Any, definition: Any) -> None:
    try:
        once = conform(
            definition.schema, document, kind=definition.kind, api_version=definition.api_version
        ).document
    except Refusal as refused:
        assert not refused.message.endswith(": ")
        return
    again = conform(definition.schema, once, kind=definition.kind, api_version=definition.api_version)
    assert again == (once, [])


def test_a_conformed_document_shares_nothing_with_what_was_given() -> None:
    metadata = {
        "labels": {"a": "b"},
        "finalizers": ["x"],
        "managedFields": [{"fieldsV1": {"f:a": {"f:b": {}}}}],
    }
    given_ = {**container(command=["x"]), "metadata": metadata}
    found = conformed(given_).document
    found["metadata"]["labels"]["a"] = "c"
    found["metadata"]["finalizers"].append("y")
    found["metadata"]["managedFields"][0]["fieldsV1"]["f:a"].clear()
    found["spec"]["containers"][0]["command"].clear()
    assert (
        conformed(given_).document == conformed({**container(command=["x"]), "metadata": metadata}).document
    )
    assert metadata["labels"] == {"a": "b"}
    assert given_["spec"]["containers"][0]["command"] == ["x"]
    assert metadata["managedFields"] == [{"fieldsV1": {"f:a": {"f:b": {}}}}]
