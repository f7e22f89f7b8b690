"""What an API server serves, and objects of every kind to send to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import yaml

from tests.embedded.chart_objects import CREATED, REQUESTS, signing_requests

Document = dict[str, Any]

RECORDED = Path(__file__).parent.parent / "cluster"
MANIFESTS = Path(__file__).parent / "manifests"


class Collection(NamedTuple):
    """Where the objects of one resource live."""

    root: str
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    parts: Mapping[str, tuple[str, ...]]
    """The subresources, with their verbs."""

    def path(self, namespace: str, name: str = "", part: str = "") -> str:
        inside = f"/namespaces/{namespace}" if self.namespaced else ""
        below = "/".join(filter(None, (quote(name.encode(errors="replace"), safe=""), part)))
        return f"{self.root}{inside}/{self.plural}" + (f"/{below}" if below else "")


def collections(get: Callable[[str], Document]) -> list[Collection]:
    """All that is served, according to discovery."""
    groups = [group["preferredVersion"]["groupVersion"] for group in get("/apis")["groups"]]
    found = []
    for root in ("/api/v1", *(f"/apis/{version}" for version in groups)):
        verbs = {each["name"]: tuple(each["verbs"]) for each in get(root)["resources"]}
        for each in get(root)["resources"]:
            plural = each["name"]
            if "/" not in plural:
                parts = {
                    name.partition("/")[2]: its_verbs
                    for name, its_verbs in verbs.items()
                    if name.startswith(f"{plural}/")
                }
                found.append(Collection(root, plural, each["kind"], each["namespaced"], verbs[plural], parts))
    return found


def crd() -> Document:
    """A definition whose schema has a field for every kind of rule."""
    rules = json.loads((RECORDED / "custom/recorded/rules.json").read_text())["schema"]
    schema = {**rules, "properties": {**rules["properties"], "status": {"type": "object"}}}
    paths = {"specReplicasPath": ".spec.integer", "statusReplicasPath": ".status.replicas"}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": paths},
        "additionalPrinterColumns": [{"name": "Number", "type": "integer", "jsonPath": ".spec.integer"}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "names": {"kind": "Gadget", "plural": "gadgets"},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def samples() -> dict[str, list[Document]]:
    """Objects by kind, good and bad ones, as they were sent to a real API server."""
    entries = json.loads((RECORDED / "kinds/created.json").read_text())
    entries += json.loads((RECORDED / "kinds/refused.json").read_text())
    documents = [entry["document"] for entry in entries]
    lines = (RECORDED / "kinds/recorded_creates.jsonl").read_text().splitlines()
    documents += [json.loads(line)["given"] for line in lines]
    cases = json.loads((RECORDED / "custom/recorded/definitions.json").read_text())["cases"]
    documents += [case["object"] for case in cases if isinstance(case["object"], dict)]
    for name in ("jobs", "bad-jobs"):
        documents += yaml.safe_load_all((MANIFESTS / f"{name}.yaml").read_text())
    documents += [crd(), *_gadgets(), *_questions(), *_chart_objects(), *_admission_objects()]
    found: dict[str, list[Document]] = {}
    for document in documents:
        found.setdefault(document["kind"], []).append(document)
    return found


def _gadgets() -> list[Document]:
    cases = json.loads((RECORDED / "custom/recorded/rules.json").read_text())["cases"]
    made = [{"spec": {case["field"]: case["value"]}} for case in cases if "field" in case and "value" in case]
    plain = {"apiVersion": "shop.example.com/v1", "kind": "Gadget", "metadata": {"name": "x"}}
    return [{**plain, "spec": {}}, *({**plain, **each} for each in made)]


def _admission_objects() -> list[Document]:
    """Webhooks and policies for what nobody sends, wherever it is."""
    rule = {
        "apiGroups": ["never.example.com"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["nothings"],
    }
    nowhere = {"matchLabels": {"never.example.com/nowhere": "true"}}
    hook = {
        "name": "never.example.com",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://never.example.com/"},
        "rules": [rule],
        "namespaceSelector": nowhere,
        "objectSelector": nowhere,
    }
    where = {"resourceRules": [rule], "namespaceSelector": nowhere, "objectSelector": nowhere}
    bodies: dict[str, Document] = {
        "MutatingWebhookConfiguration": {"webhooks": [hook]},
        "ValidatingWebhookConfiguration": {"webhooks": [hook]},
        "ValidatingAdmissionPolicy": {
            "spec": {"matchConstraints": where, "validations": [{"expression": "true"}]}
        },
        "ValidatingAdmissionPolicyBinding": {
            "spec": {"policyName": "never", "validationActions": ["Deny"], "matchResources": where}
        },
    }
    version = "admissionregistration.k8s.io/v1"
    return [
        {"apiVersion": version, "kind": kind, "metadata": {"name": "never"}, **body}
        for kind, body in bodies.items()
    ]


def _chart_objects() -> list[Document]:
    kinds = {
        "ingresses": "Ingress",
        "ingressclasses": "IngressClass",
        "networkpolicies": "NetworkPolicy",
        "ipaddresses": "IPAddress",
        "servicecidrs": "ServiceCIDR",
        "horizontalpodautoscalers": "HorizontalPodAutoscaler",
        "flowschemas": "FlowSchema",
        "prioritylevelconfigurations": "PriorityLevelConfiguration",
        "apiservices": "APIService",
        "certificatesigningrequests": "CertificateSigningRequest",
    }
    sent = {**CREATED, REQUESTS: signing_requests()}
    return [
        {"apiVersion": "/".join(path.split("/")[2:4]), "kind": kinds[path.rpartition("/")[2]], **document}
        for path, documents in sent.items()
        for document in documents
        if "service" not in document.get("spec", ())  # of whose groups everything that is asked fails
    ]


def _questions() -> list[Document]:
    """What is sent to be answered and not kept, and to subresources."""
    attributes = {"verb": "get", "resource": "pods", "namespace": "default"}
    return [
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "x"}},
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
        {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": 900},
        },
        *(
            {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": kind,
                "spec": {"resourceAttributes": attributes, "user": "a", "namespace": "default"},
            }
            for kind in ("SubjectAccessReview", "SelfSubjectAccessReview", "LocalSubjectAccessReview")
        ),
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": "default"},
        },
        {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "x"},
            "target": {"kind": "Node", "name": "n"},
        },
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "x"}, "deleteOptions": {}},
        {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "x"}, "spec": {"replicas": 2}},
    ]
