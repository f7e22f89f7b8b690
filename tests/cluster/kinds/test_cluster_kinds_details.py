from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.catalog import STRATEGIES
from moorage.cluster.kinds.config import MAX_SIZE
from moorage.cluster.kinds.events import core_to_new, new_to_core
from moorage.cluster.kinds.namespaces import NamespaceStrategy
from moorage.cluster.kinds.storage import PersistentVolumeStrategy
from moorage.cluster.schema.discovery_data import builtin_definitions


def broken(resource: str, document: Document) -> list[str]:
    return [str(cause) for cause in STRATEGIES[resource].validate({"metadata": {"name": "x"}, **document})]


def test_all_kinds_that_are_stored_have_a_strategy() -> None:
    stored = {each.storage for each in builtin_definitions({}) if "get" in each.verbs}

    assert stored <= STRATEGIES.keys()


@pytest.mark.parametrize(
    ("resource", "fields"),
    [
        ("nodes", {"spec.unschedulable"}),
        ("namespaces", {"status.phase"}),
        ("secrets", {"type"}),
        ("services", {"spec.clusterIP", "spec.type"}),
        ("resourceslices.resource.k8s.io", {"spec.nodeName", "spec.driver"}),
        ("configmaps", set()),
        ("persistentvolumeclaims", set()),
        (
            "events",
            {
                "involvedObject.kind",
                "involvedObject.namespace",
                "involvedObject.name",
                "involvedObject.uid",
                "involvedObject.apiVersion",
                "involvedObject.resourceVersion",
                "involvedObject.fieldPath",
                "reason",
                "reportingComponent",
                "source",
                "type",
            },
        ),
        (
            "events.events.k8s.io",
            {
                "regarding.kind",
                "regarding.namespace",
                "regarding.name",
                "regarding.uid",
                "regarding.apiVersion",
                "regarding.resourceVersion",
                "regarding.fieldPath",
                "reason",
                "reportingController",
                "type",
            },
        ),
    ],
)
def test_these_fields_can_be_selected_by(resource: str, fields: set[str]) -> None:
    assert STRATEGIES[resource].selectable_fields({"metadata": {}}).keys() == fields


def test_the_source_of_an_event_is_its_reporter_where_there_is_no_other() -> None:
    events = STRATEGIES["events"]
    old: Document = {"metadata": {}, "source": {"component": "kubelet"}, "reportingComponent": "x"}
    new: Document = {"metadata": {}, "source": {}, "reportingComponent": "default-scheduler"}

    assert events.selectable_fields(old)["source"] == "kubelet"
    assert events.selectable_fields(new)["source"] == "default-scheduler"


def test_a_node_is_selected_by_whether_it_is_cordoned() -> None:
    nodes = STRATEGIES["nodes"]

    assert nodes.selectable_fields({"spec": {}}) == {"spec.unschedulable": "false"}
    assert nodes.selectable_fields({"spec": {"unschedulable": True}}) == {"spec.unschedulable": "true"}


NEW_EVENT: Document = {
    "apiVersion": "events.k8s.io/v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "team"},
    "eventTime": "2024-01-01T00:00:00.000000Z",
    "series": {"count": 2, "lastObservedTime": "2024-01-01T00:00:01.000000Z"},
    "reportingController": "default-scheduler",
    "reportingInstance": "default-scheduler-0",
    "action": "Binding",
    "reason": "Scheduled",
    "regarding": {"kind": "Pod", "namespace": "team", "name": "p"},
    "related": {"kind": "Node", "name": "n"},
    "note": "Successfully assigned",
    "type": "Normal",
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}
CORE_EVENT: Document = {
    "apiVersion": "v1",
    "kind": "Event",
    "metadata": {"name": "e", "namespace": "team"},
    "eventTime": "2024-01-01T00:00:00.000000Z",
    "series": {"count": 2, "lastObservedTime": "2024-01-01T00:00:01.000000Z"},
    "reportingComponent": "default-scheduler",
    "reportingInstance": "default-scheduler-0",
    "action": "Binding",
    "reason": "Scheduled",
    "involvedObject": {"kind": "Pod", "namespace": "team", "name": "p"},
    "related": {"kind": "Node", "name": "n"},
    "message": "Successfully assigned",
    "type": "Normal",
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
}


def test_events_are_the_same_under_both_names() -> None:
    assert new_to_core(NEW_EVENT) == CORE_EVENT
    assert core_to_new(CORE_EVENT) == NEW_EVENT


def test_empty_fields_of_events_are_shown_where_the_group_shows_them() -> None:
    bare: Document = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {}}

    new = core_to_new(bare | {"reportingComponent": "", "reportingInstance": "", "count": 0})

    assert new == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "regarding": {},
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
        "eventTime": None,
    }
    assert new_to_core(new) == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {},
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": None,
        "reportingComponent": "",
        "reportingInstance": "",
    }


def test_config_may_have_a_mebibyte() -> None:
    fits = {"data": {"a": "x" * MAX_SIZE}}
    too_much = {"data": {"a": "x" * MAX_SIZE, "b": "x"}}

    assert broken("configmaps", fits) == []
    assert broken("configmaps", too_much) == ["[]: Too long: may not be more than 1048576 bytes"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unexpected end of JSON input"),
        ("W10=", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("ew==", "unexpected end of JSON input"),
        ("MQ==", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        ("YQ==", "invalid character 'a' looking for beginning of value"),
    ],
)
def test_credentials_of_registries_are_json(text: str, problem: str) -> None:
    secret = {"type": "kubernetes.io/dockercfg", "data": {".dockercfg": text}}

    assert broken("secrets", secret) == [
        f'data[.dockercfg]: Invalid value: "<secret contents redacted>": {problem}'
    ]


def test_a_volume_remembers_when_its_phase_changed() -> None:
    times = iter(["first", "second"])
    volumes = PersistentVolumeStrategy(lambda: next(times))
    old: Document = {"metadata": {}, "spec": {}}
    volumes.prepare_create(old)
    assert old["status"] == {"lastPhaseTransitionTime": "first", "phase": "Pending"}

    same: Document = {"metadata": {}, "spec": {}, "status": {"phase": "Pending"}}
    volumes.prepare_status_update(same, old)
    bound: Document = {"metadata": {}, "spec": {}, "status": {"phase": "Bound"}}
    volumes.prepare_status_update(bound, old)

    assert same["status"]["lastPhaseTransitionTime"] == "first"
    assert bound["status"]["lastPhaseTransitionTime"] == "second"


def test_finalizing_a_namespace_keeps_its_status() -> None:
    namespaces = NamespaceStrategy()
    old: Document = {
        "metadata": {"name": "x"},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "T"},
    }
    new: Document = {"metadata": {"name": "x"}, "spec": {"finalizers": ["odd"]}, "status": {}}

    namespaces.prepare_finalize(new, old)

    assert new["status"] == {"phase": "T"}
    assert [str(cause) for cause in namespaces.validate_finalize(new)] == [
        'spec.finalizers[0]: Invalid value: "odd": name is neither a standard finalizer name nor is it fully '
        "qualified"
    ]


def test_a_namespace_that_is_deleted_may_only_be_terminating() -> None:
    old: Any = {"metadata": {"name": "x", "deletionTimestamp": "t"}, "status": {"phase": "Terminating"}}
    new: Any = {"metadata": {"name": "x", "deletionTimestamp": "t"}, "status": {"phase": "Active"}}

    assert [str(cause) for cause in NamespaceStrategy().validate_status_update(new, old)] == [
        'status.Phase: Invalid value: "Active": '
        "may only be 'Terminating' if `deletionTimestamp` is not empty"
    ]


def test_an_old_event_may_be_updated_through_the_new_group() -> None:
    strategy = STRATEGIES["events.events.k8s.io"]
    event: Document = {
        "metadata": {"name": "e", "namespace": "team", "resourceVersion": "5"},
        "involvedObject": {"namespace": "team"},
        "count": 3,
    }

    assert list(strategy.validate(event)) == []
    del event["metadata"]["resourceVersion"]
    assert [str(cause) for cause in strategy.validate(event)] == [
        "eventTime: Required value",
        'type: Invalid value: "": has invalid value: ',
        'count: Invalid value: "": needs to be unset',
    ]


def test_services_of_one_kind_warn_about_fields_of_another() -> None:
    services = STRATEGIES["services"]
    spec = {"type": "ClusterIP", "externalName": "x", "trafficDistribution": "PreferClose"}

    assert services.warnings({"metadata": {}, "spec": spec}) == [
        'spec.externalName is ignored when spec.type is not "ExternalName"',
        'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
    ]
