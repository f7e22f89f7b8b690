"""What charts hold beside workloads: the same answers from the embedded API server and from the real one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.embedded.answers import TABLE, Question, compare_answers, get
from tests.embedded.chart_objects import (
    API_SERVICES,
    AUTOSCALERS,
    CREATED,
    FLOWS,
    GOOD_AUTOSCALERS,
    IN_TEAM,
    NETWORKING,
    OLD_AUTOSCALERS,
    POLICIES,
    REQUESTS,
    Document,
    api_service,
    autoscaler,
    backend,
    limited,
    signing_requests,
    spec,
)
from tests.embedded.comparing import Pair, mask

MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
STRATEGIC = "application/strategic-merge-patch+json"
ADMIN = (mask(r'^ *"uid": "admin",\n', ""), mask(r'"(kubernetes-)?admin"', '"<admin>"'))
AGES = mask(r'"\d+m\d+s"', '"<age>"')  # of what is there from the start, on a slow machine
VERSIONS = mask(r'"resourceVersion": "\d+"', '"resourceVersion": "<version>"')


@pytest.fixture(scope="module", autouse=True)
def team(pair: Pair) -> None:
    pair.prepare("create namespace team")


def made(path: str, document: Document, query: str = "") -> Question:
    return Question(f"{path}?{query}", method="POST", body=json.dumps(document))


def patch(path: str, change: Any, content_type: str = MERGE, query: str = "") -> Question:
    options = f"{query}&fieldManager=test&force=true" if content_type == APPLY else query
    return Question(f"{path}?{options}", method="PATCH", body=json.dumps(change), content_type=content_type)


def put(path: str, document: Document, query: str = "") -> Question:
    return Question(f"{path}?{query}", method="PUT", body=json.dumps(document))


def in_turn(pair: Pair, *questions: Question) -> None:
    for question in questions:
        compare_answers(pair, [question], VERSIONS, AGES, *ADMIN)


@pytest.mark.parametrize("path", CREATED)
def test_creating(pair: Pair, path: str) -> None:
    compare_answers(pair, [made(path, each, "dryRun=All") for each in CREATED[path]], VERSIONS)


def test_creating_signing_requests(pair: Pair) -> None:
    compare_answers(
        pair,
        [made(REQUESTS, each, "dryRun=All&fieldManager=me") for each in signing_requests()],
        VERSIONS,
        *ADMIN,
    )


def test_the_life_of_an_ingress(pair: Pair) -> None:
    ingresses, first = f"{IN_TEAM}/ingresses", f"{IN_TEAM}/ingresses/first"
    point = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}, {"hostname": "b.example.com"}]}}}
    in_turn(
        pair,
        made(ingresses, spec("first", defaultBackend=backend("a"))),
        patch(first, {"spec": {"ingressClassName": "nginx"}}),
        patch(first, {"spec": {"defaultBackend": None}}),
        patch(first, {"spec": {"rules": [{"host": "a.b"}]}}, STRATEGIC),
        patch(f"{first}/status", point),
        patch(f"{first}/status", {"status": {"loadBalancer": {"ingress": [{"ip": "x", "hostname": "A"}]}}}),
        patch(
            first,
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "Ingress",
                "metadata": {"name": "first"},
                "spec": {"tls": [{"secretName": "s"}], "defaultBackend": backend("b")},
            },
            APPLY,
        ),
        patch(first, {"metadata": {"annotations": {"kubernetes.io/ingress.class": "other"}}}),
        *get(ingresses, first, accept=TABLE),
    )


def test_classes_policies_and_ranges(pair: Pair) -> None:
    classes, policies = f"{NETWORKING}/ingressclasses", f"{IN_TEAM}/networkpolicies"
    note = {"metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}}
    parameters = {"kind": "K", "name": "n", "apiGroup": "g.h"}
    range_, address = f"{NETWORKING}/servicecidrs/more", f"{NETWORKING}/ipaddresses/10.97.0.9"
    parent = {"resource": "services", "namespace": "team", "name": "web"}
    in_turn(
        pair,
        made(classes, spec("one", controller="a.b/c")),
        patch(f"{classes}/one", note),
        patch(f"{classes}/one", {"spec": {"parameters": parameters}}),
        patch(f"{classes}/one", {"spec": {"controller": "d.e/f"}}),
        *get(classes, accept=TABLE),
        made(policies, {**POLICIES[2], "metadata": {"name": "one"}}),
        patch(f"{policies}/one", {"spec": {"egress": [{}], "policyTypes": None}}),
        patch(f"{policies}/one", {"spec": {"policyTypes": ["Odd"]}}),
        made(policies, {**POLICIES[0], "metadata": {"name": "two"}}),
        *get(policies, accept=TABLE),
        made(f"{NETWORKING}/servicecidrs", spec("more", cidrs=["10.97.0.0/16"])),
        patch(range_, {"spec": {"cidrs": ["10.98.0.0/16"]}}, query="dryRun=All"),
        patch(range_, {"spec": {"cidrs": ["10.97.0.0/16", "10.98.0.0/16"]}}, query="dryRun=All"),
        patch(range_, {"spec": {"cidrs": ["10.97.0.0/16", "2001:db8::/64"]}}, query="dryRun=All"),
        patch(range_, {"spec": {"cidrs": []}}, query="dryRun=All"),
        made(f"{NETWORKING}/ipaddresses", spec("10.97.0.9", parentRef=parent)),
        patch(address, {"spec": {"parentRef": {"name": "other"}}}),
        *get(address, f"{NETWORKING}/servicecidrs/more", accept=TABLE),
        # By now the real server knows that there is a default class.
        made(f"{IN_TEAM}/ingresses", spec("without-class", defaultBackend=backend("a")), query="dryRun=All"),
        made(f"{IN_TEAM}/ingresses", spec("no-class", ingressClassName="", defaultBackend=backend("a"))),
    )


def test_services_have_their_addresses(pair: Pair) -> None:
    address, range_ = f"{NETWORKING}/ipaddresses/10.96.0.77", f"{NETWORKING}/servicecidrs/kubernetes"
    pair.prepare("create service clusterip given -n team --clusterip=10.96.0.77 --tcp=80:80")
    in_turn(pair, *get(address, f"{NETWORKING}/ipaddresses/10.96.0.1", range_), *get(address, accept=TABLE))
    pair.prepare("delete service given -n team")
    in_turn(pair, *get(address))


def test_autoscalers_in_both_versions(pair: Pair) -> None:
    whole = GOOD_AUTOSCALERS[3]["spec"]
    behavior = {"scaleUp": {"selectPolicy": "Min"}, "scaleDown": {"tolerance": "0.1"}}
    status = {
        "status": {
            "currentReplicas": 2,
            "desiredReplicas": 3,
            "conditions": [
                {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            ],
            "currentMetrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "cpu", "current": {"averageUtilization": 40, "averageValue": "1"}},
                },
                {"type": "Pods", "pods": {"metric": {"name": "hits"}, "current": {"averageValue": "7"}}},
            ],
        }
    }
    in_turn(
        pair,
        made(AUTOSCALERS, {"metadata": {"name": "rich"}, "spec": {**whole, "behavior": behavior}}),
        made(AUTOSCALERS, {**autoscaler(), "metadata": {"name": "plain"}}),
        made(OLD_AUTOSCALERS, {**autoscaler(targetCPUUtilizationPercentage=33), "metadata": {"name": "old"}}),
        *get(f"{OLD_AUTOSCALERS}/rich", f"{OLD_AUTOSCALERS}/plain", f"{AUTOSCALERS}/old", OLD_AUTOSCALERS),
        patch(f"{AUTOSCALERS}/rich/status", status),
        patch(f"{AUTOSCALERS}/rich/status", {"status": {"currentReplicas": -1, "desiredReplicas": -1}}),
        *get(f"{OLD_AUTOSCALERS}/rich", f"{AUTOSCALERS}/rich"),
        patch(f"{OLD_AUTOSCALERS}/rich", {"spec": {"maxReplicas": 9}}),
        patch(f"{OLD_AUTOSCALERS}/rich", {"spec": {"targetCPUUtilizationPercentage": 55}}),
        *get(f"{AUTOSCALERS}/rich"),
        patch(f"{OLD_AUTOSCALERS}/rich", {"spec": {"maxReplicas": 0}}),
        put(f"{OLD_AUTOSCALERS}/rich", {**autoscaler(), "metadata": {"name": "rich"}}),
        *get(f"{AUTOSCALERS}/rich"),
        patch(
            f"{OLD_AUTOSCALERS}/old",
            {
                "apiVersion": "autoscaling/v1",
                "kind": "HorizontalPodAutoscaler",
                "metadata": {"name": "old"},
                "spec": {**autoscaler()["spec"], "minReplicas": 2},
            },
            APPLY,
        ),
        patch(f"{AUTOSCALERS}/plain", {"spec": {"scaleTargetRef": {"apiVersion": "v1"}}}),
        *get(AUTOSCALERS, OLD_AUTOSCALERS, accept=TABLE),
    )


def test_signing_requests_are_approved_and_signed(pair: Pair) -> None:
    good = {**signing_requests()[1], "metadata": {"name": "one"}}
    one = f"{REQUESTS}/one"

    def conditions(*types: str, status: str = "True", **more: Any) -> Document:
        return {"status": {"conditions": [{"type": each, "status": status, **more} for each in types]}}

    in_turn(
        pair,
        made(REQUESTS, good),
        patch(one, {"spec": {"signerName": "other.com/x"}, "metadata": {"labels": {"a": "b"}}}),
        patch(f"{one}/status", conditions("Approved")),
        patch(f"{one}/approval", conditions("Approved", "Denied")),
        patch(f"{one}/approval", conditions("Approved", status="False")),
        patch(f"{one}/approval", conditions("", status="")),
        patch(f"{one}/approval", conditions("Other", "Other", "", status="Odd")),
        patch(f"{one}/approval", conditions("Denied", "Approved", "Denied", status="Odd")),
        patch(f"{one}/approval", conditions("Approved", reason="Because", message="fine")),
        patch(f"{one}/approval", conditions("Denied")),
        patch(f"{one}/approval", {"status": {"certificate": "YQ==", "conditions": []}}),
        patch(f"{one}/status", {"status": {"certificate": "YQ=="}}),
        *get(REQUESTS, accept=TABLE),
        *get(f"{REQUESTS}?fieldSelector=spec.signerName=example.com/one", one),
    )


def test_flow_control(pair: Pair) -> None:
    level, schema = f"{FLOWS}/prioritylevelconfigurations", f"{FLOWS}/flowschemas"
    names = "exempt catch-all system node-high leader-election workload-high workload-low global-default"
    in_turn(
        pair,
        *get(*(f"{level}/{name}" for name in names.split())),
        *get(level, accept=TABLE),
        *get(f"{schema}/exempt", f"{schema}/system-node-high", f"{schema}/system-leader-election"),
        *get(schema, accept=TABLE),
        patch(f"{level}/exempt", {"spec": {"exempt": {"lendablePercent": 3}}}, query="dryRun=All"),
        patch(f"{level}/catch-all", {"spec": {"limited": {"nominalConcurrencyShares": 6}}}),
        patch(f"{schema}/catch-all", {"spec": {"matchingPrecedence": 9}}),
        patch(f"{level}/system/status", {"status": {"conditions": [{"status": "True"}]}}),
        made(level, {**limited(), "metadata": {"name": "mine"}}),
        patch(f"{level}/mine", {"spec": {"limited": {"nominalConcurrencyShares": 6}}}),
        *get(f"{level}/mine", accept=TABLE),
    )


def test_api_services(pair: Pair) -> None:
    one = f"{API_SERVICES}/v1beta1.metrics.k8s.io"
    in_turn(
        pair,
        *get(
            *(f"{API_SERVICES}/{name}" for name in ("v1.", "v1.apps", "v2.autoscaling", "v1.resource.k8s.io"))
        ),
        *get(f"{API_SERVICES}/v1.apps", accept=TABLE),
        made(API_SERVICES, api_service()),
        put(one, api_service()),
        patch(one, {"spec": {"versionPriority": 0}}),
    )
    pair.prepare("wait --for=condition=Available=False --timeout=20s apiservice/v1beta1.metrics.k8s.io")
    in_turn(
        pair,
        *get(one),
        *get(one, accept=TABLE),
        *get(
            "/apis/metrics.k8s.io",
            "/apis/metrics.k8s.io/v1beta1",
            "/apis/metrics.k8s.io/v1beta1/nodes",
            "/apis/metrics.k8s.io/v1beta1/namespaces/team/pods/x",
        ),
    )
    pair.prepare("create service clusterip metrics -n team --tcp=80:80")
    pair.prepare(
        "wait --timeout=20s apiservice/v1beta1.metrics.k8s.io "
        "--for=jsonpath='{.status.conditions[0].reason}'=ServicePortError"
    )
    in_turn(pair, *get(one))
    pair.prepare("delete apiservice v1beta1.metrics.k8s.io")


NOT_SERVED = {
    "/api/v1": [
        "componentstatuses",
        "nodes/proxy",
        "pods/attach",
        "pods/ephemeralcontainers",
        "pods/exec",
        "pods/portforward",
        "pods/proxy",
        "pods/resize",
        "services/proxy",
    ]
}
"""What the real server has and the embedded one does not: all that needs somebody in the containers."""
NOT_COMPARED = "admissionregistration.k8s.io"


def test_the_same_is_served_but_for_what_needs_running_containers(pair: Pair) -> None:
    ours, real = (_served(pair, side) for side in (0, 1))
    missing: dict[str, list[str]] = {}
    for place, name in sorted(real.keys() - ours.keys()):
        missing.setdefault(place, []).append(name)
    assert missing == NOT_SERVED
    assert ours.keys() <= real.keys()
    assert {key: real[key] for key in ours} == ours


def _served(pair: Pair, side: int) -> dict[tuple[str, str], Document]:
    """What discovery tells of each resource, by its version and name."""
    groups = json.loads(pair.on_both("get --raw /apis")[side].output)["groups"]
    versions = [version["groupVersion"] for group in groups for version in group["versions"]]
    found = {}
    for root in ("/api/v1", *(f"/apis/{version}" for version in versions)):
        listed = json.loads(pair.on_both(f"get --raw {root}")[side].output)
        for resource in listed["resources"] if NOT_COMPARED not in root else ():
            told = {name: value for name, value in resource.items() if name != "storageVersionHash"}
            found[root, resource["name"]] = told
    return found


def test_discovery_of_these_groups(pair: Pair) -> None:
    groups = {
        "apiregistration.k8s.io": "v1",
        "autoscaling": "v2",
        "certificates.k8s.io": "v1",
        "flowcontrol.apiserver.k8s.io": "v1",
        "networking.k8s.io": "v1",
    }
    compare_answers(
        pair,
        get(
            *(f"/apis/{group}/{version}" for group, version in groups.items()),
            "/apis/autoscaling",
            "/apis/autoscaling/v1",
        ),
        # It depends on the form in which the real server stores an object, which is its own affair.
        mask(r'"storageVersionHash": "[^"]*"', '"storageVersionHash": ""'),
    )
