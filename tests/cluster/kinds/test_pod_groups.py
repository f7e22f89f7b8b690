"""PodGroups and Workloads in the embedded cluster, with the words of the real API server."""

from __future__ import annotations

from typing import Any

import pytest

from moorage.cluster.access.users import User
from tests.cluster.api_worlds import PODS, World

GROUP = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default"
GANG = {"gang": {"minCount": 2}}
TEMPLATE = {"name": "x", "schedulingPolicy": GANG}
ALL = ("GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling")
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


@pytest.fixture
def world() -> World:
    return World(gates=ALL).prepared()


def named(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


def pod(name: str, group: dict[str, Any]) -> dict[str, Any]:
    return named(name, {"containers": [{"name": "c", "image": "x"}], "schedulingGroup": group})


def test_a_group_is_completed(world: World) -> None:
    made = world.create(f"{GROUP}/podgroups", named("g", {"schedulingPolicy": GANG}))
    assert made["spec"] == {"disruptionMode": "Pod", "podGroupTemplateRef": None, "schedulingPolicy": GANG}
    assert made["status"] == {}
    assert "generation" not in made["metadata"]
    assert made["metadata"]["finalizers"] == ["scheduling.k8s.io/podgroup-protection"]


def test_a_workload_is_completed(world: World) -> None:
    made = world.create(f"{GROUP}/workloads", named("w", {"podGroupTemplates": [TEMPLATE]}))
    assert made["spec"] == {"podGroupTemplates": [{**TEMPLATE, "schedulingConstraints": None}]}


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, 'spec.schedulingPolicy: Invalid value: "": must specify one of: `basic`, `gang`'),
        (
            {"schedulingPolicy": {"basic": {}, **GANG}},
            'spec.schedulingPolicy: Invalid value: "{basic, gang}": must specify exactly one of: '
            "`basic`, `gang`",
        ),
        (
            {"schedulingPolicy": {"gang": {"minCount": 0}}},
            "spec.schedulingPolicy.gang.minCount: Required value",
        ),
        (
            {"schedulingPolicy": {"gang": {"minCount": -1}}},
            "spec.schedulingPolicy.gang.minCount: Invalid value: -1: must be greater than or equal to 1",
        ),
        (
            {
                "schedulingPolicy": GANG,
                "schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]},
            },
            "spec.schedulingConstraints.topology: Too many: 2: must have at most 1 item",
        ),
        (
            {"schedulingPolicy": GANG, "schedulingConstraints": {"topology": [{"key": ""}]}},
            "spec.schedulingConstraints.topology[0].key: Required value",
        ),
        (
            {"schedulingPolicy": GANG, "podGroupTemplateRef": {}},
            'spec.podGroupTemplateRef: Invalid value: "": must specify one of: `workload`',
        ),
    ],
)
def test_a_group_that_breaks_rules_is_refused(world: World, spec: dict[str, Any], told: str) -> None:
    refused = world.ask("POST", f"{GROUP}/podgroups", named("g", spec))
    assert (refused.code, refused.message) == (422, f'PodGroup.scheduling.k8s.io "g" is invalid: {told}')


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({}, "spec.podGroupTemplates: Required value"),
        (
            {"podGroupTemplates": [{**TEMPLATE, "name": f"x{place}"} for place in range(9)]},
            "spec.podGroupTemplates: Too many: 9: must have at most 8 items",
        ),
        (
            {"podGroupTemplates": [TEMPLATE], "controllerRef": {"kind": "a/b", "name": "j"}},
            "spec.controllerRef.kind: Invalid value: \"a/b\": may not contain '/'",
        ),
    ],
)
def test_a_workload_that_breaks_rules_is_refused(world: World, spec: dict[str, Any], told: str) -> None:
    refused = world.ask("POST", f"{GROUP}/workloads", named("w", spec))
    assert (refused.code, refused.message) == (422, f'Workload.scheduling.k8s.io "w" is invalid: {told}')


def test_templates_have_names_of_their_own(world: World) -> None:
    refused = world.ask("POST", f"{GROUP}/workloads", named("w", {"podGroupTemplates": [TEMPLATE, TEMPLATE]}))
    assert "spec.podGroupTemplates[1]: Duplicate value:" in refused.message


def test_a_group_names_a_template_that_there_is(world: World) -> None:
    reference = {"workload": {"workloadName": "w", "podGroupTemplateName": "y"}}
    spec = {"schedulingPolicy": GANG, "podGroupTemplateRef": reference}
    refused = world.ask("POST", f"{GROUP}/podgroups", named("g", spec))
    head = 'podgroups.scheduling.k8s.io "g" is forbidden: PodGroup rejected: '
    assert (refused.code, refused.message) == (403, f'{head}Workload "w" not found')
    world.create(f"{GROUP}/workloads", named("w", {"podGroupTemplates": [TEMPLATE]}))
    refused = world.ask("POST", f"{GROUP}/podgroups", named("g", spec))
    assert refused.message == f'{head}PodGroupTemplate "y" not found in Workload "w"'
    reference["workload"]["podGroupTemplateName"] = "x"
    assert world.ask("POST", f"{GROUP}/podgroups", named("g", spec)).code == 201


def test_what_a_group_wants_never_changes(world: World) -> None:
    made = world.create(f"{GROUP}/podgroups", named("g", {"schedulingPolicy": GANG}))
    made["spec"]["schedulingPolicy"] = {"gang": {"minCount": 3}}
    refused = world.ask("PUT", f"{GROUP}/podgroups/g", made)
    assert refused.message.endswith("spec.schedulingPolicy: Invalid value: null: field is immutable")


def test_fields_of_further_features_need_their_gates() -> None:
    world = World(gates=["GenericWorkload"]).prepared()
    spec = {
        "schedulingPolicy": GANG,
        "schedulingConstraints": {"topology": [{"key": "rack"}]},
        "disruptionMode": "PodGroup",
        "priority": 5,
    }
    made = world.create(f"{GROUP}/podgroups", named("g", spec))
    assert made["spec"] == {"disruptionMode": "Pod", "podGroupTemplateRef": None, "schedulingPolicy": GANG}


def test_columns(world: World) -> None:
    world.create(f"{GROUP}/podgroups", named("g", {"schedulingPolicy": GANG}))
    world.create(f"{GROUP}/podgroups", named("b", {"schedulingPolicy": {"basic": {}}}))
    patch = {
        "status": {
            "conditions": [
                {
                    "type": "PodGroupScheduled",
                    "status": "True",
                    "reason": "Scheduled",
                    "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ]
        }
    }
    strategic = "application/strategic-merge-patch+json"
    world.done("PATCH", f"{GROUP}/podgroups/g/status", patch, content_type=strategic)
    shown = world.done("GET", f"{GROUP}/podgroups", accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [column["name"] for column in shown["columnDefinitions"]] == [
        "Name",
        "Policy",
        "Workload",
        "Status",
        "Age",
    ]
    assert [row["cells"][:4] for row in shown["rows"]] == [
        ["b", "Basic", "<none>", "Pending"],
        ["g", "Gang", "<none>", "Scheduled"],
    ]


def test_a_condition_has_a_reason(world: World) -> None:
    made = world.create(f"{GROUP}/podgroups", named("g", {"schedulingPolicy": GANG}))
    made["status"] = {"conditions": [{"type": "PodGroupScheduled", "status": "True", "message": ""}]}
    refused = world.ask("PUT", f"{GROUP}/podgroups/g/status", made)
    assert refused.message.endswith("status.conditions[0].reason: Required value")


# Pods


def test_pods_keep_their_group(world: World) -> None:
    made = world.create(PODS, pod("p", {"podGroupName": "g"}))
    assert made["spec"]["schedulingGroup"] == {"podGroupName": "g"}
    made["spec"]["schedulingGroup"] = {"podGroupName": "h"}
    assert world.ask("PUT", f"{PODS}/p", made).code == 422


@pytest.mark.parametrize(
    ("group", "told"),
    [
        ({}, "Invalid value: null: must specify one of: `podGroupName`"),
        ({"podGroupName": ""}, f'Invalid value: "": {SUBDOMAIN}'),
        ({"podGroupName": "A b"}, f'Invalid value: "A b": {SUBDOMAIN}'),
    ],
)
def test_a_pod_names_its_group(world: World, group: dict[str, Any], told: str) -> None:
    refused = world.ask("POST", PODS, pod("p", group))
    assert refused.message == f'Pod "p" is invalid: spec.schedulingGroup.podGroupName: {told}'


def test_without_the_gate_nothing_is_served() -> None:
    world = World().prepared()
    assert world.ask("GET", f"{GROUP}/podgroups").code == 404
    assert world.ask("GET", "/apis/scheduling.k8s.io/v1alpha2").code == 404
    made = world.create(PODS, pod("p", {"podGroupName": "g"}))
    assert "schedulingGroup" not in made["spec"]


def test_with_the_gate_the_version_is_discovered(world: World) -> None:
    found = world.get("/apis/scheduling.k8s.io")
    assert [each["version"] for each in found["versions"]] == ["v1", "v1alpha2"]
    listed = world.get("/apis/scheduling.k8s.io/v1alpha2")
    assert [each["name"] for each in listed["resources"]] == ["podgroups", "podgroups/status", "workloads"]


def test_a_scheduler_may_read_groups_and_write_their_status(world: World) -> None:
    scheduler = User("system:kube-scheduler", groups=("system:authenticated",))
    world.create(f"{GROUP}/podgroups", named("g", {"schedulingPolicy": GANG}))
    assert world.ask("GET", f"{GROUP}/podgroups", user=scheduler).code == 200
    patch = "application/merge-patch+json"
    status = f"{GROUP}/podgroups/g/status"
    assert world.ask("PATCH", status, {"status": {}}, content_type=patch, user=scheduler).code == 200
    assert world.ask("DELETE", f"{GROUP}/podgroups/g", user=scheduler).code == 403


def test_the_priority_of_a_group_is_that_of_its_class() -> None:
    world = World(gates=[*ALL, "WorkloadAwarePreemption"]).prepared()
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    world.create(classes, {"metadata": {"name": "high"}, "value": 7})
    spec = {"schedulingPolicy": GANG, "disruptionMode": "PodGroup", "priorityClassName": "high"}
    made = world.create(f"{GROUP}/podgroups", named("g", spec))
    assert (made["spec"]["priority"], made["spec"]["disruptionMode"]) == (7, "PodGroup")
    assert world.create(f"{GROUP}/podgroups", named("h", {"schedulingPolicy": GANG}))["spec"]["priority"] == 0
    refused = world.ask("POST", f"{GROUP}/podgroups", named("i", {**spec, "priority": 8}))
    assert refused.message.endswith(
        "priority set in the pod group (8) must match the priority computed (7) based on the priority class "
        "set in the spec"
    )
    refused = world.ask("POST", f"{GROUP}/podgroups", named("i", {**spec, "priorityClassName": "none"}))
    assert refused.message.endswith("no PriorityClass with name none was found")


def test_the_claims_of_a_group_are_kept_with_their_gate_only(world: World) -> None:
    spec = {"schedulingPolicy": GANG, "resourceClaims": [{"name": "gpus", "resourceClaimName": "c"}]}
    assert "resourceClaims" not in world.create(f"{GROUP}/podgroups", named("g", spec))["spec"]
    world = World(gates=[*ALL, "DRAWorkloadResourceClaims"]).prepared()
    made = world.create(f"{GROUP}/podgroups", named("g", spec))
    assert made["spec"]["resourceClaims"] == spec["resourceClaims"]
    patch = "application/merge-patch+json"

    def tell(name: str) -> Any:
        status = {"resourceClaimStatuses": [{"name": name, "resourceClaimName": "c-1"}]}
        return world.ask("PATCH", f"{GROUP}/podgroups/g/status", {"status": status}, content_type=patch)

    assert tell("gpus").code == 200
    assert "must match the name of an entry in `spec.resourceClaims`" in tell("other").message


ENTRY = {"name": "gpus", "resourceClaimName": "c"}


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        (
            [{"name": "gpus"}],
            'resourceClaims[0]: Invalid value: "": must specify one of: '
            "`resourceClaimName`, `resourceClaimTemplateName`",
        ),
        (
            [{**ENTRY, "resourceClaimTemplateName": "t"}],
            'resourceClaims[0]: Invalid value: "{resourceClaimName, resourceClaimTemplateName}": '
            "must specify exactly one of: `resourceClaimName`, `resourceClaimTemplateName`",
        ),
        (
            [{**ENTRY, "name": f"c{place}"} for place in range(5)],
            "resourceClaims: Too many: 5: must have at most 4 items",
        ),
        ([ENTRY, ENTRY], "resourceClaims[1]: Duplicate value"),
        ([{**ENTRY, "name": ""}], "resourceClaims[0].name: Required value"),
    ],
)
def test_claims_of_groups_that_break_rules(entries: list[dict[str, str]], told: str) -> None:
    world = World(gates=[*ALL, "DRAWorkloadResourceClaims"]).prepared()
    spec = {"schedulingPolicy": GANG, "resourceClaims": entries}
    refused = world.ask("POST", f"{GROUP}/podgroups", named("g", spec))
    assert refused.code == 422
    assert f"spec.{told}" in refused.message
    templates = {"podGroupTemplates": [{"name": "x", **spec}]}
    refused = world.ask("POST", f"{GROUP}/workloads", named("w", templates))
    assert f"spec.podGroupTemplates[0].{told}" in refused.message
