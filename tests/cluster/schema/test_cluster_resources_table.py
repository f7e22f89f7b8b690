"""The table of built-in resources."""

from __future__ import annotations

from moorage.cluster.schema.definitions import ALL_VERBS, Definition, Strategy, Subresource
from moorage.cluster.schema.discovery_data import builtin_definitions


def by_name(strategies: dict[str, Strategy] | None = None) -> dict[str, Definition]:
    return {each.name: each for each in builtin_definitions(strategies or {})}


def test_groups_stand_in_the_order_of_a_real_server() -> None:
    assert list(dict.fromkeys(each.group for each in builtin_definitions({}))) == [
        "",
        "apiregistration.k8s.io",
        "apps",
        "events.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "networking.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "scheduling.k8s.io",
        "coordination.k8s.io",
        "node.k8s.io",
        "discovery.k8s.io",
        "resource.k8s.io",
        "flowcontrol.apiserver.k8s.io",
    ]


def test_pods() -> None:
    pods = by_name()["pods"]
    assert (pods.kind, pods.list_kind, pods.singular, pods.namespaced) == ("Pod", "PodList", "pod", True)
    assert (pods.short_names, pods.categories, pods.verbs) == (("po",), ("all",), ALL_VERBS)
    assert dict(pods.subresources) == {
        "binding": Subresource("binding", ("create",), "Binding"),
        "eviction": Subresource("eviction", ("create",), "Eviction", "policy", "v1"),
        "log": Subresource("log", ("get",)),
        "status": Subresource("status", ("get", "patch", "update")),
    }


def test_others() -> None:
    found = by_name()
    assert "deletecollection" not in found["namespaces"].verbs
    assert set(found["namespaces"].subresources) == {"finalize", "status"}
    assert found["bindings"].verbs == ("create",)
    assert found["tokenreviews.authentication.k8s.io"].verbs == ("create",)
    assert found["endpoints"].singular == "endpoints"
    assert found["deployments.apps"].subresources["scale"].kind == "Scale"
    assert found["customresourcedefinitions.apiextensions.k8s.io"].short_names == ("crd", "crds")
    assert "componentstatuses" not in found
    assert all(each.schema.name == each.kind for each in found.values())


def test_events_are_the_same_objects_in_both_groups() -> None:
    found = by_name()
    assert found["events"].storage == found["events.events.k8s.io"].storage == "events"
    assert found["events"].schema is not found["events.events.k8s.io"].schema


def test_strategies_are_found_by_storage() -> None:
    events, pods = Strategy(), Strategy()
    found = by_name({"events": events, "pods": pods})
    assert found["pods"].strategy is pods
    assert found["events"].strategy is found["events.events.k8s.io"].strategy is events
    assert type(found["nodes"].strategy) is Strategy


def test_versions_may_have_strategies_of_their_own() -> None:
    name, old, new = "horizontalpodautoscalers.autoscaling", Strategy(), Strategy()
    found = {each.api_version: each for each in builtin_definitions({name: new, f"{name}/v1": old})}
    assert found["autoscaling/v1"].strategy is old
    assert found["autoscaling/v2"].strategy is new
    assert found["autoscaling/v1"].storage == found["autoscaling/v2"].storage == name
