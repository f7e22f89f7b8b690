"""Managed fields after creates, updates and patches; the expected ones are those of a real API server."""

from copy import deepcopy
from typing import Any

import pytest

from moorage.cluster.objects.merging.field_sets import NOTHING
from moorage.cluster.objects.merging.managed_fields import Manager, track
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.model import ARRAY, MAP, OBJECT, STRING, Field, Schema

CONFIG_MAP = schema_of("", "v1", "ConfigMap")
POD = schema_of("", "v1", "Pod")
SERVICE = schema_of("", "v1", "Service")
DEPLOYMENT = schema_of("apps", "v1", "Deployment")

Document = dict[str, Any]

A_POD: Document = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "p",
        "namespace": "default",
        "uid": "8ff9d721",
        "creationTimestamp": "2026-11-15T23:18:53Z",
        "labels": {"app": "x"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "1-2-3"}],
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {"requests": {"cpu": "100m"}},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "Always",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "nodeSelector": {"a": "b"},
        "securityContext": {},
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]}}
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "x"}},
            }
        ],
    },
    "status": {"phase": "Pending", "qosClass": "Burstable"},
}
POD_FIELDS = {
    "f:metadata": {
        "f:labels": {".": {}, "f:app": {}},
        "f:ownerReferences": {".": {}, 'k:{"uid":"1-2-3"}': {}},
    },
    "f:spec": {
        "f:affinity": {
            ".": {},
            "f:nodeAffinity": {".": {}, "f:requiredDuringSchedulingIgnoredDuringExecution": {}},
        },
        "f:containers": {
            'k:{"name":"c"}': {
                ".": {},
                "f:image": {},
                "f:imagePullPolicy": {},
                "f:name": {},
                "f:resources": {".": {}, "f:requests": {".": {}, "f:cpu": {}}},
                "f:terminationMessagePath": {},
                "f:terminationMessagePolicy": {},
            }
        },
        "f:nodeSelector": {},
        "f:restartPolicy": {},
        "f:securityContext": {},
        "f:terminationGracePeriodSeconds": {},
        "f:topologySpreadConstraints": {
            ".": {},
            'k:{"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}': {
                ".": {},
                "f:labelSelector": {},
                "f:maxSkew": {},
                "f:topologyKey": {},
                "f:whenUnsatisfiable": {},
            },
        },
    },
}


def written(
    schema: Schema,
    old: Document | None,
    new: Document,
    manager: str,
    *,
    subresource: str = "",
    now: str = "2026-01-01T00:00:00Z",
) -> Document:
    """The new document as it is stored, and checks that tracking changes nothing it is given."""
    before = deepcopy((old, new))
    fields = track(
        schema,
        old,
        new,
        Manager(manager, "Update", new["apiVersion"], subresource),
        now,
    )
    assert (old, new) == before
    result = {**new, "metadata": {**new["metadata"], "managedFields": fields}}
    if not fields:
        del result["metadata"]["managedFields"]
    return result


def changed(document: Document, **parts: Any) -> Document:
    """A copy in which metadata is merged and other parts are replaced."""
    metadata = {**document["metadata"], **parts.pop("metadata", {})}
    return {**document, **parts, "metadata": metadata}


def fields_of(document: Document) -> dict[str, Any]:
    """The fields by who has them."""
    return {entry["manager"]: entry["fieldsV1"] for entry in document["metadata"].get("managedFields", ())}


def config_map(data: dict[str, str], **metadata: Any) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}, "data": data}


def test_a_created_pod() -> None:
    pod = written(POD, None, A_POD, "kubectl-create", now="2026-11-15T23:18:53Z")
    assert pod["metadata"]["managedFields"] == [
        {
            "manager": "kubectl-create",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-11-15T23:18:53Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": POD_FIELDS,
        }
    ]
    assert str(fields_of(pod)["kubectl-create"]) == str(POD_FIELDS)  # in this order


def test_the_status_of_a_pod() -> None:
    pod = written(POD, None, A_POD, "kubectl-create")
    null_times = {"lastProbeTime": None, "lastTransitionTime": None}
    ready = {"type": "Ready", "status": "True", **null_times}
    running = {
        **A_POD["status"],
        "phase": "Running",
        "conditions": [ready],
        "podIP": "1.2.3.4",
        "podIPs": [{"ip": "1.2.3.4"}],
        "containerStatuses": [{"name": "c", "ready": True}],
    }
    pod = written(POD, pod, changed(pod, status=running), "kubelet", subresource="status")
    assert pod["metadata"]["managedFields"][1]["subresource"] == "status"
    kubelet: dict[str, Any] = {
        "f:conditions": {
            ".": {},
            'k:{"type":"Ready"}': {
                ".": {},
                "f:lastProbeTime": {},
                "f:lastTransitionTime": {},
                "f:status": {},
                "f:type": {},
            },
        },
        "f:containerStatuses": {},
        "f:phase": {},
        "f:podIP": {},
        "f:podIPs": {".": {}, 'k:{"ip":"1.2.3.4"}': {".": {}, "f:ip": {}}},
    }
    assert fields_of(pod) == {"kubectl-create": POD_FIELDS, "kubelet": {"f:status": kubelet}}

    scheduled = {"type": "PodScheduled", "status": "True", **null_times}
    running = {**running, "conditions": [{**ready, "status": "False"}, scheduled]}
    pod = written(POD, pod, changed(pod, status=running), "sched", subresource="status")
    del kubelet["f:conditions"]['k:{"type":"Ready"}']["f:status"]
    assert fields_of(pod)["kubelet"] == {"f:status": kubelet}
    assert fields_of(pod)["sched"] == {
        "f:status": {
            "f:conditions": {
                'k:{"type":"PodScheduled"}': {
                    ".": {},
                    "f:lastProbeTime": {},
                    "f:lastTransitionTime": {},
                    "f:status": {},
                    "f:type": {},
                },
                'k:{"type":"Ready"}': {"f:status": {}},
            }
        }
    }


def test_the_main_address_does_not_manage_the_status_nor_the_other_way_round() -> None:
    pod = written(POD, None, A_POD, "m")
    other = changed(pod, status={"phase": "Failed"})
    assert written(POD, pod, other, "x")["metadata"]["managedFields"] == pod["metadata"]["managedFields"]
    other = changed(pod, spec={**pod["spec"], "nodeName": "n"}, metadata={"ownerReferences": []})
    assert fields_of(written(POD, pod, other, "x", subresource="status")) == fields_of(pod)


def test_a_created_service() -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
            "selector": {"a": "b"},
            "type": "ClusterIP",
        },
        "status": {"loadBalancer": {}},
    }
    assert fields_of(written(SERVICE, None, service, "m"))["m"] == {
        "f:spec": {
            "f:ports": {
                ".": {},
                'k:{"port":80,"protocol":"TCP"}': {
                    ".": {},
                    "f:port": {},
                    "f:protocol": {},
                    "f:targetPort": {},
                },
            },
            "f:selector": {},
            "f:type": {},
        }
    }


def test_a_created_deployment_does_not_own_the_structs_it_always_has() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "finalizers": ["x.io/a", "x.io/b"]},
        "spec": {
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [], "volumes": []}},
        },
        "status": {},
    }
    assert fields_of(written(DEPLOYMENT, None, deployment, "m"))["m"] == {
        "f:metadata": {"f:finalizers": {".": {}, 'v:"x.io/a"': {}, 'v:"x.io/b"': {}}},
        "f:spec": {
            "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {"f:containers": {}, "f:volumes": {}},
            },
        },
    }


def test_a_changed_field_changes_hands_and_a_removed_one_leaves_all() -> None:
    first = written(CONFIG_MAP, None, config_map({"a": "1", "b": "2", "c": "3"}), "one", now="t1")
    second = written(CONFIG_MAP, first, changed(first, data={"a": "1", "b": "9", "d": "4"}), "two", now="t2")
    assert second["metadata"]["managedFields"] == [
        {
            "manager": "one",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "t1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        },
        {
            "manager": "two",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "t2",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:b": {}, "f:d": {}}},
        },
    ]
    third = written(CONFIG_MAP, second, changed(second, data={"a": "1", "b": "9"}), "three", now="t3")
    assert fields_of(third) == {
        "one": {"f:data": {".": {}, "f:a": {}}},
        "two": {"f:data": {"f:b": {}}},
    }
    assert [entry["time"] for entry in third["metadata"]["managedFields"]] == ["t1", "t2"]
    gone = {name: value for name, value in third.items() if name != "data"}
    assert fields_of(written(CONFIG_MAP, third, gone, "four")) == {}


def test_nothing_changes_nothing() -> None:
    first = written(CONFIG_MAP, None, config_map({"a": "1"}), "one", now="t1")
    same = deepcopy(first)
    same["metadata"].update(resourceVersion="7", generation=2)
    again = track(CONFIG_MAP, first, same, Manager("two", "Update", "v1"), "t2")
    assert again is first["metadata"]["managedFields"]


def test_own_changes_join_and_renew_the_time() -> None:
    first = written(CONFIG_MAP, None, config_map({"a": "1"}), "one", now="t1")
    second = written(CONFIG_MAP, first, changed(first, data={"a": "1", "b": "2"}), "one", now="t2")
    assert [(entry["time"], entry["fieldsV1"]) for entry in second["metadata"]["managedFields"]] == [
        ("t2", {"f:data": {".": {}, "f:a": {}, "f:b": {}}})
    ]


def test_a_list_in_another_order_is_the_same() -> None:
    first = written(POD, None, changed(A_POD, metadata={"finalizers": ["a", "b"]}), "one")
    second = changed(first, metadata={"finalizers": ["b", "a"]})
    assert fields_of(written(POD, first, second, "two")) == fields_of(first)


def test_repeated_items_are_one_field() -> None:
    first = written(POD, None, changed(A_POD, metadata={"finalizers": ["a", "a"]}), "one")
    assert fields_of(first)["one"]["f:metadata"]["f:finalizers"] == {".": {}, 'v:"a"': {}}
    second = written(POD, first, changed(first, metadata={"finalizers": ["a"]}), "two")
    assert fields_of(second)["two"] == {"f:metadata": {"f:finalizers": {'v:"a"': {}}}}


def test_the_oldest_of_many_updaters_are_put_together() -> None:
    document = written(CONFIG_MAP, None, config_map({"a": "1"}), "kubectl-create")
    for number in range(13):
        data = {**document["data"], f"k{number}": "v"}
        document = written(CONFIG_MAP, document, changed(document, data=data), f"u{number:02d}")
    assert fields_of(document) == {
        "ancient-changes": {
            "f:data": {".": {}, "f:a": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}},
        },
        **{f"u{number:02d}": {"f:data": {f"f:k{number}": {}}} for number in range(4, 13)},
    }


@pytest.mark.parametrize("reset", [[], [{}]])
def test_tracking_can_be_stopped(reset: list[Any]) -> None:
    document = written(CONFIG_MAP, None, config_map({"a": "1"}), "one")
    document = written(CONFIG_MAP, document, changed(document, metadata={"managedFields": reset}), "two")
    assert "managedFields" not in document["metadata"]
    document = written(CONFIG_MAP, document, changed(document, data={"b": "2"}), "three")
    assert "managedFields" not in document["metadata"]


def test_a_client_can_write_the_list() -> None:
    document = written(CONFIG_MAP, None, config_map({"a": "1", "b": "2"}), "kubectl-client-side-apply")
    entry = document["metadata"]["managedFields"][0]
    moved = {**entry, "manager": "kubectl", "operation": "Apply"}
    rewritten = written(
        CONFIG_MAP, document, changed(document, metadata={"managedFields": [moved]}), "kubectl"
    )
    assert rewritten["metadata"]["managedFields"] == [moved]
    through_status = changed(document, metadata={"managedFields": [moved]})
    kept = written(CONFIG_MAP, document, through_status, "kubectl", subresource="status")
    assert kept["metadata"]["managedFields"] == [entry]


@pytest.mark.parametrize(
    "change",
    [
        {"operation": "Delete"},
        {"apiVersion": ""},
        {"fieldsType": ""},
        {"fieldsType": "FieldsV2"},
        {"fieldsV1": {"x": {}}},
        {"fieldsV1": "x"},
        {"manager": 5},
        {"time": 5},
    ],
)
def test_a_list_that_makes_no_sense_is_ignored(change: dict[str, Any]) -> None:
    document = written(CONFIG_MAP, None, config_map({"a": "1"}), "one")
    entries = document["metadata"]["managedFields"]
    for bad in ([{**entries[0], **change}], ["x"], "x", 5):
        given = changed(document, metadata={"managedFields": bad})
        assert written(CONFIG_MAP, document, given, "two")["metadata"]["managedFields"] == entries


CUSTOM = Schema(
    OBJECT,
    fields={
        "metadata": Field(Schema(OBJECT, fields={"name": Field(Schema(STRING))})),
        "spec": Field(
            Schema(
                OBJECT,
                fields={
                    "free": Field(Schema(OBJECT, keeps_unknown=True)),
                    "items": Field(
                        Schema(
                            ARRAY,
                            list_type=MAP,
                            list_keys=("id",),
                            items=Schema(OBJECT, fields={"id": Field(Schema(STRING), default="x")}),
                        )
                    ),
                },
            ),
            default={},
        ),
    },
)


def test_a_custom_kind() -> None:
    document = {
        "apiVersion": "a.io/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": {"free": {"a": {"b": [1, {"c": 2}]}}, "items": [{}, {"id": "y"}]},
        "status": {"n": 1},
    }
    spec: Document = {
        ".": {},
        "f:free": {".": {}, "f:a": {".": {}, "f:b": {}}},
        "f:items": {".": {}, 'k:{"id":"x"}': {}, 'k:{"id":"y"}': {".": {}, "f:id": {}}},
    }
    assert fields_of(written(CUSTOM, None, document, "m")) == {"m": {"f:spec": spec}}
    everything = track(CUSTOM, None, document, Manager("m", "Update", "a.io/v1"), "t", NOTHING)
    assert everything[0]["fieldsV1"] == {"f:spec": spec, "f:status": {".": {}, "f:n": {}}}


def test_items_without_keys_make_a_list_one_field() -> None:
    document = {"apiVersion": "v1", "kind": "T", "metadata": {}, "spec": {"items": [None, "x"]}}
    assert fields_of(written(CUSTOM, None, document, "m"))["m"] == {"f:spec": {".": {}, "f:items": {}}}
    other = changed(document, spec={"items": [{"id": "a"}]})
    first = written(CUSTOM, None, document, "m")
    assert fields_of(written(CUSTOM, first, changed(first, spec=other["spec"]), "n"))["n"] == {
        "f:spec": {"f:items": {}}
    }
