"""Admission policies on our API server and on the real one."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.controlplane.servers import wait_for
from tests.embedded.comparing import Pair

GROUP = "admissionregistration.k8s.io/v1"
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "operations": ["CREATE", "UPDATE"],
    "resources": ["configmaps"],
}


class Case(NamedTuple):
    """A policy for ConfigMaps with its name as their label `case`, and its binding."""

    name: str
    spec: dict[str, Any]
    binding: dict[str, Any] = {}
    match: dict[str, Any] = {}


def validating(expression: str, **fields: Any) -> dict[str, Any]:
    return {"validations": [{"expression": expression, **fields}]}


PARAMS = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}, **validating("params.data.limit == 'high'")}


def named(name: str, action: str = "Deny", **more: str) -> dict[str, Any]:
    return {"paramRef": {"name": name, "parameterNotFoundAction": action, **more}}


CASES = (
    Case("plain", validating("object.metadata.name == 'x'")),
    Case("allowed", validating("object.metadata.name == 'allowed'")),
    Case("message", validating("false", message="  not so  ")),
    Case("computed", validating("false", messageExpression="'it is ' + object.metadata.name", message="m")),
    Case("computed-badly", validating("false", messageExpression="string(object.none)", message="the usual")),
    Case("computed-long", validating("false", messageExpression="'a\\nb'")),
    Case("reason", validating("false", reason="Forbidden")),
    Case("reason-large", validating("false", reason="RequestEntityTooLarge")),
    Case("fails", validating("object.none.at.all == 1")),
    Case("fails-ignored", {"failurePolicy": "Ignore", **validating("object.none.at.all == 1")}),
    Case("ignored-but-denied", {"failurePolicy": "Ignore", **validating("false")}),
    Case("several", {"validations": [{"expression": "true"}, {"expression": "1 > 2", "message": "second"}]}),
    Case("warned", validating("false", message="mind it"), {"validationActions": ["Warn"]}),
    Case("audited", validating("false"), {"validationActions": ["Audit"]}),
    Case("warned-and-audited", validating("false"), {"validationActions": ["Warn", "Audit"]}),
    Case(
        "variables",
        {
            "variables": [
                {"name": "label", "expression": "object.metadata.labels['case']"},
                {"name": "size", "expression": "variables.label.size()"},
            ],
            **validating("variables.size > 100", messageExpression="'size is ' + string(variables.size)"),
        },
    ),
    Case(
        "variable-fails",
        {"variables": [{"name": "x", "expression": "object.none.x"}], **validating("variables.x == 1")},
    ),
    Case(
        "condition-false",
        {"matchConditions": [{"name": "never", "expression": "false"}], **validating("false")},
    ),
    Case(
        "condition-true",
        {
            "matchConditions": [{"name": "who", "expression": "request.operation == 'CREATE'"}],
            **validating("false"),
        },
    ),
    Case(
        "condition-fails",
        {"matchConditions": [{"name": "who", "expression": "object.none == 1"}], **validating("false")},
    ),
    Case("request", validating("request.namespace == 'x' || request.resource.resource == 'pods'")),
    Case("namespace", validating("namespaceObject.metadata.name == 'other'")),
    Case("authorizer", validating("!authorizer.group('').resource('pods').check('get').allowed()")),
    Case("old-object", validating("oldObject != null")),
    Case("param-found", PARAMS, named("params-low")),
    Case("param-high", PARAMS, named("params-high")),
    Case("param-missing", PARAMS, named("params-none")),
    Case("param-missing-allowed", PARAMS, named("params-none", "Allow")),
    Case("param-elsewhere", PARAMS, named("params-low", namespace="kube-system")),
    Case(
        "param-selected",
        PARAMS,
        {"paramRef": {"selector": {"matchLabels": {"for": "tests"}}, "parameterNotFoundAction": "Deny"}},
    ),
    Case("param-null", {**PARAMS, **validating("params == null")}),
    Case("param-unknown", {**PARAMS, "paramKind": {"apiVersion": "x.example/v1", "kind": "No"}}, named("x")),
    Case("audit", {"auditAnnotations": [{"key": "k", "valueExpression": "'v'"}]}),
    Case("audit-fails", {"auditAnnotations": [{"key": "k", "valueExpression": "object.none + 'v'"}]}),
    Case("excluded", validating("false"), match={"excludeResourceRules": [RULE]}),
    Case("other-names", validating("false"), match={"resourceRules": [{**RULE, "resourceNames": ["x"]}]}),
    Case("own-name", validating("false"), match={"resourceRules": [{**RULE, "resourceNames": ["own-name"]}]}),
    Case("unbound", validating("false"), {"policyName": "nobody"}),
    Case(
        "bound-elsewhere",
        validating("false"),
        {"matchResources": {"objectSelector": {"matchLabels": {"a": "b"}}}},
    ),
)


def policy(case: Case) -> dict[str, Any]:
    selector = {"objectSelector": {"matchLabels": {"case": case.name}}}
    constraints = {"matchConstraints": {"resourceRules": [RULE], **selector, **case.match}}
    return {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": f"{case.name}-policy"},
        "spec": {**constraints, **case.spec},
    }


def binding(case: Case) -> dict[str, Any]:
    usual = {"policyName": f"{case.name}-policy", "validationActions": ["Deny"]}
    return {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": f"{case.name}-binding"},
        "spec": {**usual, **case.binding},
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"case": name}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture(scope="module")
def policies(pair: Pair, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("policies")
    low, high = config_map("params-low", limit="low"), config_map("params-high", limit="high")
    low["metadata"]["labels"]["for"] = "tests"
    elsewhere = {**low, "metadata": {**low["metadata"], "namespace": "kube-system"}}
    last = Case("last", validating("false"))
    documents = [low, high, elsewhere]
    for case in (*CASES, last):
        documents += [policy(case), binding(case)]
    (folder / "all.yaml").write_text(yaml.safe_dump_all(documents))
    pair.prepare(f"create -f {folder / 'all.yaml'}")
    file = folder / "last.yaml"
    file.write_text(yaml.safe_dump(config_map("last")))
    wait_for(
        "the policies", lambda: all(done.code for done in pair.on_both(f"create -f {file} --dry-run=server"))
    )


def test_what_policies_decide(pair: Pair, policies: None, tmp_path: Path) -> None:
    commands = []
    for case in CASES:
        file = tmp_path / f"{case.name}.yaml"
        file.write_text(yaml.safe_dump(config_map(case.name)))
        commands.append(f"create -f {file} -o name")
    pair.compare_all(commands)


def test_policies_are_shown(pair: Pair, policies: None) -> None:
    pair.compare("""
        get validatingadmissionpolicies
        get validatingadmissionpolicybindings
        get validatingadmissionpolicybinding plain-binding -o yaml --show-managed-fields
        delete validatingadmissionpolicybinding plain-binding
    """)


def test_policies_are_checked(pair: Pair, tmp_path: Path) -> None:
    wrong: tuple[dict[str, Any], ...] = (
        {},
        {"matchConstraints": {}},
        {**validating("")},
        {**validating("object.x")},
        {**validating("true", message=" ", messageExpression=" ", reason="Odd")},
        {**validating("true", message="a\nb", messageExpression="1")},
        {**validating("params.x == 1")},
        {**validating("variables.x == 1")},
        {**validating("undeclared == 1")},
        {"paramKind": {}, **validating("params.x == 1")},
        {"paramKind": {"apiVersion": "a/b/c", "kind": "x y"}, **validating("true")},
        {"paramKind": {"apiVersion": "A_/V1", "kind": "X"}, **validating("true")},
        {
            "variables": [{"name": "", "expression": ""}, {"name": "a-b", "expression": "1 +"}],
            **validating("true"),
        },
        {"variables": [{"name": "b", "expression": "variables.c"}], **validating("variables.b == 1")},
        {"auditAnnotations": [{"key": "a b", "valueExpression": ""}, {"key": "c", "valueExpression": "1"}]},
        {"auditAnnotations": [{"key": "c", "valueExpression": "'x'"}] * 2},
        {"failurePolicy": "Maybe", **validating("true")},
        {"matchConditions": [{"name": "x", "expression": "variables.x"}], **validating("true")},
    )
    bad_bindings: tuple[dict[str, Any], ...] = (
        {},
        {"policyName": "A_B", "validationActions": []},
        {"policyName": "x", "validationActions": ["Deny", "Warn", "Deny", "Shout"]},
        {"policyName": "x", "validationActions": ["Deny"], "paramRef": {}},
        {
            "policyName": "x",
            "validationActions": ["Deny"],
            "paramRef": {"name": "a/b", "selector": {}, "parameterNotFoundAction": "Maybe"},
        },
        {
            "policyName": "x",
            "validationActions": ["Deny"],
            "matchResources": {"matchPolicy": "No", "resourceRules": [{"resourceNames": ["a", "a", ".."]}]},
        },
    )
    commands = []
    for place, spec in enumerate(wrong):
        document = policy(Case(f"wrong-{place}", spec))
        document["spec"] = {"matchConstraints": {"resourceRules": [RULE]}, **spec} if spec else {}
        file = tmp_path / f"policy-{place}.yaml"
        file.write_text(yaml.safe_dump(document))
        commands.append(f"create -f {file} --validate=ignore")
    for place, spec in enumerate(bad_bindings):
        document = {**binding(Case(f"wrong-{place}", {})), "spec": spec}
        file = tmp_path / f"binding-{place}.yaml"
        file.write_text(yaml.safe_dump(document))
        commands.append(f"create -f {file} --validate=ignore")
    pair.compare_all(commands)
