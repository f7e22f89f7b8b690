"""Server-side apply: managed fields, objects and texts are those of a real API server."""

import json
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moorage.cluster.base.errors import Refusal
from moorage.cluster.objects.merging.apply import LAST_APPLIED, MOST_ANNOTATED, apply, same_but_for_times
from moorage.cluster.objects.merging.managed_fields import Manager, track
from moorage.cluster.schema.builtin import schema_of

CONFIG_MAP = schema_of("", "v1", "ConfigMap")
SERVICE = schema_of("", "v1", "Service")
DEPLOYMENT = schema_of("apps", "v1", "Deployment")

Document = dict[str, Any]
_SCHEMAS = {"ConfigMap": CONFIG_MAP, "Service": SERVICE, "Deployment": DEPLOYMENT}


def applied(
    live: Document | None,
    configuration: Document,
    manager: str,
    *,
    force: bool = False,
    subresource: str = "",
    now: str = "2026-01-01T00:00:00Z",
) -> Document:
    before = deepcopy((live, configuration))
    result = apply(
        _SCHEMAS[configuration["kind"]],
        live,
        configuration,
        Manager(manager, "Apply", configuration["apiVersion"], subresource),
        force=force,
        now=now,
    )
    assert (live, configuration) == before
    return result


def updated(
    live: Document | None, new: Document, manager: str, now: str = "2026-01-01T00:00:00Z"
) -> Document:
    who = Manager(manager, "Update", new["apiVersion"])
    fields = track(_SCHEMAS[new["kind"]], live, new, who, now)
    return {**new, "metadata": {**new["metadata"], "managedFields": fields}}


def fields_of(document: Document) -> dict[tuple[str, str], Any]:
    entries = document["metadata"].get("managedFields", ())
    return {(entry["manager"], entry["operation"]): entry["fieldsV1"] for entry in entries}


def deployment(spec: Document, **metadata: Any) -> Document:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", **metadata},
        "spec": spec,
    }


def containers(*items: Document) -> Document:
    return deployment({"template": {"spec": {"containers": list(items)}}})


def config_map(data: Any, **metadata: Any) -> Document:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}, "data": data}


WEB: Document = {
    "replicas": 2,
    "selector": {"matchLabels": {"a": "b"}},
    "template": {
        "metadata": {"labels": {"a": "b"}},
        "spec": {
            "containers": [
                {
                    "name": "c1",
                    "image": "i1",
                    "ports": [{"containerPort": 80}],
                    "env": [{"name": "A", "value": "1"}],
                }
            ]
        },
    },
}
WEB_FIELDS: Document = {
    "f:metadata": {"f:labels": {"f:x": {}, "f:y": {}}},
    "f:spec": {
        "f:replicas": {},
        "f:selector": {},
        "f:template": {
            "f:metadata": {"f:labels": {"f:a": {}}},
            "f:spec": {
                "f:containers": {
                    'k:{"name":"c1"}': {
                        ".": {},
                        "f:env": {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
                        "f:image": {},
                        "f:name": {},
                        "f:ports": {
                            'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}
                        },
                    }
                }
            },
        },
    },
}


def test_the_first_apply_creates() -> None:
    configuration = deployment(WEB, labels={"x": "1", "y": "2"})
    live = applied(None, configuration, "m1", now="t1")
    assert live == {
        **configuration,
        "metadata": {
            **configuration["metadata"],
            "managedFields": [
                {
                    "manager": "m1",
                    "operation": "Apply",
                    "apiVersion": "apps/v1",
                    "time": "t1",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": WEB_FIELDS,
                }
            ],
        },
    }


def test_applying_the_same_again_changes_nothing() -> None:
    configuration = deployment(WEB, labels={"x": "1", "y": "2"})
    live = applied(None, configuration, "m1", now="t1")
    live["spec"] = {**live["spec"], "revisionHistoryLimit": 10}  # a default
    assert applied(live, configuration, "m1", now="t2") == live


def test_two_managers() -> None:
    live = applied(None, deployment(WEB, labels={"x": "1", "y": "2"}), "m1", now="t1")
    # The same value: both have it. The object is the same, so the entry has no time, and comes first.
    live = applied(live, deployment({"replicas": 2}), "m2", now="t2")
    assert [entry.get("time") for entry in live["metadata"]["managedFields"]] == [None, "t1"]
    assert fields_of(live) == {
        ("m2", "Apply"): {"f:spec": {"f:replicas": {}}},
        ("m1", "Apply"): WEB_FIELDS,
    }
    # Another value: the first has it too.
    with pytest.raises(Refusal) as refusal:
        applied(live, deployment({"replicas": 3}), "m2", now="t3")
    assert refusal.value.document() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "m1": .spec.replicas',
        "reason": "Conflict",
        "details": {
            "causes": [
                {
                    "reason": "FieldManagerConflict",
                    "message": 'conflict with "m1"',
                    "field": ".spec.replicas",
                }
            ]
        },
        "code": 409,
    }
    # By force it is the second's alone, and stays when the first leaves it out.
    live = applied(live, deployment({"replicas": 3}), "m2", force=True, now="t4")
    assert live["spec"]["replicas"] == 3
    rest = {name: value for name, value in WEB_FIELDS["f:spec"].items() if name != "f:replicas"}
    assert fields_of(live)["m1", "Apply"] == {**WEB_FIELDS, "f:spec": rest}
    without = {name: value for name, value in WEB.items() if name != "replicas"}
    live = applied(live, deployment(without, labels={"x": "1"}), "m1", now="t5")
    assert live["spec"]["replicas"] == 3
    assert live["metadata"]["labels"] == {"x": "1"}
    assert fields_of(live) == {
        ("m1", "Apply"): {"f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": rest},
        ("m2", "Apply"): {"f:spec": {"f:replicas": {}}},
    }
    live = applied(live, deployment({}), "m2", now="t6")
    assert "replicas" not in live["spec"]
    assert fields_of(live)["m2", "Apply"] == {"f:spec": {}}


def test_conflicts_with_several() -> None:
    live: Document = updated(None, config_map({"k1": "v"}), "ancient-changes")
    live = updated(live, {**live, "data": {"k1": "v", "k11": "v"}}, "u11")
    live = updated(live, {**live, "data": {"k1": "v", "k11": "v", "k12": "v", "k13": "v"}}, "u12")
    with pytest.raises(Refusal) as refusal:
        applied(live, config_map({"k1": "x", "k12": "other", "k13": "other", "k11": "q", "new": "1"}), "ap")
    assert refusal.value.message == (
        'Apply failed with 4 conflicts: conflicts with "ancient-changes" using v1:\n- .data.k1\n'
        'conflicts with "u11" using v1:\n- .data.k11\n'
        'conflicts with "u12" using v1:\n- .data.k12\n- .data.k13'
    )
    assert [
        (cause["message"], cause["field"]) for cause in refusal.value.document()["details"]["causes"]
    ] == [
        ('conflict with "ancient-changes" using v1', ".data.k1"),
        ('conflict with "u11" using v1', ".data.k11"),
        ('conflict with "u12" using v1', ".data.k12"),
        ('conflict with "u12" using v1', ".data.k13"),
    ]


def test_a_conflict_with_a_subresource() -> None:
    status = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    live = updated(None, deployment(WEB), "m")
    fields = track(
        DEPLOYMENT,
        live,
        {**live, "status": {"replicas": 1}},
        Manager("kcm", "Update", "apps/v1", "status"),
        "t",
    )
    live = {**live, "status": {"replicas": 1}, "metadata": {**live["metadata"], "managedFields": fields}}
    with pytest.raises(Refusal, match='"kcm" with subresource "status" using apps/v1'):
        applied(live, {**status, "status": {"replicas": 7}}, "sa", subresource="status")
    live = applied(live, {**status, "status": {"replicas": 7}}, "sa", subresource="status", force=True)
    assert live["status"] == {"replicas": 7}
    assert fields_of(live)["sa", "Apply"] == {"f:status": {"f:replicas": {}}}
    assert ("kcm", "Update") not in fields_of(live)


def test_sets_of_values() -> None:
    live = updated(None, config_map({}, finalizers=["x.io/a", "x.io/b"]), "meta")
    live = applied(live, config_map({}, finalizers=["x.io/b", "x.io/c"]), "fin")
    assert live["metadata"]["finalizers"] == ["x.io/a", "x.io/b", "x.io/c"]
    live = applied(live, config_map({}, finalizers=["x.io/c"]), "fin")
    assert live["metadata"]["finalizers"] == ["x.io/a", "x.io/b", "x.io/c"]
    assert fields_of(live)["fin", "Apply"] == {
        "f:data": {},
        "f:metadata": {"f:finalizers": {'v:"x.io/c"': {}}},
    }
    live = applied(live, config_map({}), "fin")
    assert live["metadata"]["finalizers"] == ["x.io/a", "x.io/b"]


def test_items_by_keys_with_defaults_and_their_order() -> None:
    def service(*ports: Document) -> Document:
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "s"},
            "spec": {"ports": list(ports)},
        }

    live = updated(None, service({"port": 80, "protocol": "TCP", "targetPort": 80}), "kubectl-create")
    three = service({"port": 80, "name": "x"}, {"port": 80, "protocol": "UDP", "name": "y"}, {"port": 443})
    live = applied(live, three, "kubectl")
    assert live["spec"]["ports"] == [
        {"port": 80, "protocol": "TCP", "targetPort": 80, "name": "x"},
        {"port": 80, "protocol": "UDP", "name": "y"},
        {"port": 443},
    ]
    live = applied(live, service({"port": 443}, {"port": 8443}, {"port": 80, "name": "x"}), "kubectl")
    assert [port["port"] for port in live["spec"]["ports"]] == [443, 8443, 80]
    assert list(fields_of(live)["kubectl", "Apply"]["f:spec"]["f:ports"]) == [
        'k:{"port":80,"protocol":"TCP"}',
        'k:{"port":443,"protocol":"TCP"}',
        'k:{"port":8443,"protocol":"TCP"}',
    ]


@pytest.mark.parametrize(
    ("live", "configuration", "expected"),
    [
        ("ABC", "CA", "BCA"),
        ("ABC", "XB", "AXBC"),
        ("ABCD", "DXA", "BCDXA"),
        ("AB", "X", "ABX"),
        ("AB", "BXA", "BXA"),
    ],
)
def test_the_order_of_items(live: str, configuration: str, expected: str) -> None:
    def named(names: str) -> Document:
        return containers({"name": "c", "env": [{"name": name, "value": "1"} for name in names]})

    result = applied(updated(None, named(live), "one"), named(configuration), "two")
    items = result["spec"]["template"]["spec"]["containers"][0]["env"]
    assert "".join(item["name"] for item in items) == expected


def test_atomic_values_are_replaced_and_removed_whole() -> None:
    live = applied(None, containers({"name": "c", "image": "i", "command": ["a"]}), "m")
    live = applied(live, containers({"name": "c", "image": "i", "command": ["b", "c"]}), "m")
    assert live["spec"]["template"]["spec"]["containers"] == [
        {"name": "c", "image": "i", "command": ["b", "c"]}
    ]
    live = applied(live, containers({"name": "c", "image": "i"}), "m")
    assert live["spec"]["template"]["spec"]["containers"] == [{"name": "c", "image": "i"}]


def test_nulls_and_empty_maps_are_fields() -> None:
    live = updated(None, config_map({"a": "1"}), "one")
    live = applied(live, config_map({}, labels={}, annotations=None), "two")
    assert live["data"] == {"a": "1"}
    assert fields_of(live)["two", "Apply"] == {
        "f:data": {},
        "f:metadata": {"f:annotations": {}, "f:labels": {}},
    }


def test_an_apply_of_nothing_has_no_entry() -> None:
    live = updated(None, config_map({"a": "1"}), "one")
    nothing = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert applied(live, nothing, "two") == live


def test_what_was_there_before_the_first_apply() -> None:
    live = applied(config_map({"a": "1", "b": "2"}), config_map({"a": "1"}), "m1", now="t")
    assert fields_of(live) == {
        ("m1", "Apply"): {"f:data": {"f:a": {}}},
        ("before-first-apply", "Update"): {"f:data": {".": {}, "f:a": {}, "f:b": {}}},
    }
    with pytest.raises(Refusal, match='conflict with "before-first-apply" using v1'):
        applied(live, config_map({"b": "9"}), "m1")


def client_side(data: dict[str, str]) -> Document:
    """An object as kubectl apply makes it without --server-side."""
    last = config_map(data)
    annotations = {LAST_APPLIED: json.dumps(last) + "\n"}
    return updated(None, config_map(data, annotations=annotations), "kubectl-client-side-apply")


def test_kubectl_takes_over_what_it_applied_from_the_client_side() -> None:
    live = client_side({"a": "1", "b": "<2>"})
    with pytest.raises(Refusal, match='conflict with "kubectl-client-side-apply" using v1'):
        applied(live, config_map({"a": "9", "b": "<2>"}), "other")
    live = applied(live, config_map({"a": "9", "b": "<2>"}), "kubectl")
    annotation = "f:" + LAST_APPLIED
    assert fields_of(live) == {
        ("kubectl", "Apply"): {"f:data": {"f:a": {}, "f:b": {}}},
        ("kubectl-client-side-apply", "Update"): {
            "f:data": {".": {}, "f:b": {}},
            "f:metadata": {"f:annotations": {".": {}, annotation: {}}},
        },
    }
    assert live["metadata"]["annotations"][LAST_APPLIED] == (
        '{"apiVersion":"v1","data":{"a":"9","b":"\\u003c2\\u003e"},"kind":"ConfigMap","metadata":{"name":"c"}}\n'
    )


def test_kubectl_does_not_take_over_what_others_changed_since() -> None:
    live = client_side({"a": "1", "b": "2"})
    live = updated(live, {**live, "data": {"a": "1", "b": "other", "c": "x"}}, "someone")
    with pytest.raises(Refusal) as refusal:
        applied(live, config_map({"a": "9", "b": "2", "c": "y"}), "kubectl")
    assert refusal.value.message == (
        'Apply failed with 2 conflicts: conflicts with "someone" using v1:\n- .data.b\n- .data.c'
    )


@pytest.mark.parametrize("annotation", ["", "{", "[]", "{}", '{"apiVersion":"v1","data":5}', "[" * 99_999])
def test_a_bad_annotation_forgives_nothing(annotation: str) -> None:
    live = updated(None, config_map({"a": "1"}, annotations={LAST_APPLIED: annotation}), "one")
    with pytest.raises(Refusal, match="Apply failed with 1 conflict"):
        applied(live, config_map({"a": "9"}), "kubectl")


def test_an_annotation_that_would_be_too_large_is_dropped() -> None:
    live = client_side({"a": "1"})
    configuration = config_map({"a": "x" * MOST_ANNOTATED, "n": "1"}, annotations={LAST_APPLIED: "{}"})
    assert LAST_APPLIED not in applied(live, configuration, "kubectl", force=True)["metadata"]["annotations"]


PREFIX = "failed to create typed patch object (/web; apps/v1, Kind=Deployment): "


@pytest.mark.parametrize(
    ("configuration", "text"),
    [
        (deployment({}, managedFields=[]), "metadata.managedFields must be nil"),
        (deployment({}, managedFields=[{"manager": "x"}]), "metadata.managedFields must be nil"),
        (deployment({}, managedFields="x"), PREFIX + ".metadata.managedFields: expected list, got &{x}"),
        (deployment({"nope": 1}), PREFIX + ".spec.nope: field not declared in schema"),
        (
            containers({"name": "c1", "nope": 1}),
            PREFIX + '.spec.template.spec.containers[name="c1"].nope: field not declared in schema',
        ),
        (
            deployment({"replicas": "x"}),
            PREFIX + ".spec.replicas: expected numeric (int or float), got string",
        ),
        (
            deployment({}, labels={"x": 1}),
            PREFIX + ".metadata.labels.x: expected string, got &value.valueUnstructured{Value:1}",
        ),
        (deployment({"paused": 1}), PREFIX + ".spec.paused: expected boolean, got &{1}"),
        (deployment({"selector": ["x"]}), PREFIX + ".spec.selector: expected map, got &{[x]}"),
        (
            deployment({"template": {"spec": {"containers": {"a": 1, "c": [1, None, True, 1.5]}}}}),
            PREFIX + ".spec.template.spec.containers: expected list, got &{map[a:1 c:[1 <nil> true 1.5]]}",
        ),
        (
            containers({"name": "c1"}, {"name": "c1"}),
            PREFIX + '.spec.template.spec.containers: duplicate entries for key [name="c1"]',
        ),
        (
            containers(
                {"name": "c", "ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]}
            ),
            PREFIX + '.spec.template.spec.containers[name="c"].ports: '
            'duplicate entries for key [containerPort=80,protocol="TCP"]',
        ),
        (
            deployment({}, finalizers=["x.io/a", "x.io/a"]),
            PREFIX + '.metadata.finalizers: duplicate entries for key [="x.io/a"]',
        ),
        (
            deployment({}, finalizers=[{"x": 1}]),
            PREFIX + ".metadata.finalizers: element 0: "
            "associative list without keys has an element that's a map type",
        ),
        (
            deployment({"template": {"spec": {"containers": [None]}}}),
            PREFIX + ".spec.template.spec.containers: element 0: "
            "associative list with keys may not have a null element",
        ),
        (
            deployment({"template": {"spec": {"containers": ["x"]}}}),
            PREFIX + ".spec.template.spec.containers: element 0: "
            "associative list with keys may not have non-map elements",
        ),
        (
            containers({"name": "c1", "command": ["a", 1, {"x": 2}]}),
            PREFIX + 'errors:\n  .spec.template.spec.containers[name="c1"].command[1]: '
            "expected string, got &value.valueUnstructured{Value:1}\n"
            '  .spec.template.spec.containers[name="c1"].command[2]: expected string, '
            'got &value.valueUnstructured{Value:map[string]interface {}{"x":2}}',
        ),
        (
            containers({"name": "c1", "resources": {"limits": {"cpu": {}}}}),
            PREFIX + '.spec.template.spec.containers[name="c1"].resources.limits.cpu: '
            "expected any scalar, got &{map[]}",
        ),
    ],
)
def test_configurations_of_a_wrong_shape(configuration: Document, text: str) -> None:
    with pytest.raises(Refusal) as refusal:
        applied(updated(None, deployment(WEB), "m"), configuration, "x")
    assert (refusal.value.code, refusal.value.message) == (400, text)


def test_only_times_may_differ_for_nothing_to_be_written() -> None:
    old = applied(None, config_map({"a": "1"}), "m", now="t1")
    later = applied(None, config_map({"a": "1"}), "m", now="t2")
    assert old != later
    assert same_but_for_times(old, later)
    assert not same_but_for_times(old, applied(None, config_map({"a": "2"}), "m", now="t1"))
    assert not same_but_for_times(old, applied(None, config_map({"a": "1"}), "n", now="t1"))


SCALARS = st.none() | st.booleans() | st.integers(0, 2) | st.sampled_from(["", "c1", "80"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "value", "env", "ports", "image", "a"]), inner, max_size=4)
    ),
    max_leaves=8,
)
ENV = st.lists(st.sampled_from("ABCD"), unique=True).map(
    lambda names: [{"name": name, "value": "1"} for name in names]
)
PROPER = st.builds(
    lambda labels, env, ports, command, replicas: {
        **deployment(
            {
                "replicas": replicas,
                "template": {
                    "spec": {"containers": [{"name": "c", "env": env, "ports": ports, "command": command}]}
                },
            }
        ),
        "metadata": {"name": "web", "labels": labels},
    },
    st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12")),
    ENV,
    st.lists(st.sampled_from([80, 81]), unique=True).map(
        lambda ports: [{"containerPort": port} for port in ports]
    ),
    st.none() | st.lists(st.sampled_from("ab")),
    st.integers(0, 2),
)


@given(PROPER, PROPER, PROPER)
def test_applying_twice_is_applying_once(first: Document, second: Document, third: Document) -> None:
    live = applied(updated(None, first, "creator"), second, "m1", force=True, now="t1")
    live = applied(live, third, "m2", force=True, now="t2")
    again = applied(live, third, "m2", force=False, now="t3")
    assert again["metadata"]["managedFields"] == live["metadata"]["managedFields"]
    assert again == live


@given(VALUES, VALUES, VALUES)
def test_nothing_but_refusals(containers_: Any, labels: Any, spec: Any) -> None:
    live = updated(None, deployment(WEB), "m")
    for configuration in (
        deployment({"template": {"spec": {"containers": containers_}}}),
        deployment({}, labels=labels, finalizers=containers_),
        deployment(spec),
    ):
        with suppress(Refusal):
            applied(live, configuration, "x", force=True)
        with suppress(Refusal):
            applied(None, configuration, "kubectl")
