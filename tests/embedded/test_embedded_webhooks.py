"""Admission webhooks that answer well or in any wrong way, on our API server and on the real one."""

import base64
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from moorage.client.self_signed import self_signed
from tests.controlplane.servers import wait_for
from tests.embedded.comparing import Pair, mask, unlike
from tests.webhook_server import (
    Behaviour,
    Sent,
    WebhookServer,
    denying,
    patching,
    response,
)

MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
TEXT = (("Content-Type", "text/plain"),)


class Case(NamedTuple):
    """A webhook that is asked about ConfigMaps with its name as their label `case`."""

    name: str
    behaviour: Behaviour
    kind: str = VALIDATING
    fields: dict[str, Any] = {}
    client: dict[str, Any] = {}
    """What is another in its clientConfig."""


def never(review: dict[str, Any]) -> None:
    """Hangs for much longer than anybody waits."""
    threading.Event().wait(8)


def certificate(*names: str) -> str:
    text = self_signed(names).decode()
    return encoded(text[text.index("-----BEGIN CERTIFICATE-----") :])


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def sending(body: bytes, code: int = 200, headers: tuple[tuple[str, str], ...] = TEXT) -> Behaviour:
    return lambda review: Sent(body, code, headers)


def answering(**fields: Any) -> Behaviour:
    return lambda review: response(review, **fields)


def other_version(review: dict[str, Any]) -> dict[str, Any]:
    return {**response(review), "apiVersion": "admission.k8s.io/v1beta1"}


def without_type(review: dict[str, Any]) -> dict[str, Any]:
    return {"response": response(review)["response"]}


def status(review: dict[str, Any]) -> Sent:
    told = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "mine", "code": 500}
    return Sent(json.dumps(told).encode(), 500)


LABEL = {"op": "add", "path": "/metadata/labels/new", "value": "yes"}
CASES = (
    Case("denied", denying(message="not on a Friday", code=403, reason="Forbidden")),
    Case("denied-by-mutating", denying(message="no"), MUTATING),
    Case("denied-silently", lambda review: response(review, allowed=False)),
    Case("denied-with-reason", denying(reason="Teapot", code=418)),
    Case("denied-with-small-code", denying(message="odd", code=200, status="Success")),
    Case("denied-with-details", denying(message="see details", details={"name": "x", "kind": "y"})),
    Case("warned", answering(warnings=["mind the gap", "and the step"])),
    Case("warned-and-denied", answering(allowed=False, warnings=["told you so"])),
    Case("patched", patching(LABEL), MUTATING),
    Case("patched-data", patching({"op": "add", "path": "/data", "value": {"a": "b"}}), MUTATING),
    Case("patched-unknown", patching({"op": "add", "path": "/nothing", "value": 1}), MUTATING),
    Case("patched-wrong-type", patching({"op": "add", "path": "/data", "value": "text"}), MUTATING),
    Case("patched-invalid", patching({"op": "add", "path": "/data", "value": {"/": "b"}}), MUTATING),
    Case("patched-name", patching({"op": "replace", "path": "/metadata/name", "value": "other"}), MUTATING),
    Case(
        "patched-namespace",
        patching({"op": "replace", "path": "/metadata/namespace", "value": "other"}),
        MUTATING,
    ),
    Case("patch-missing-path", patching({"op": "add", "path": "/a/b/c", "value": 1}), MUTATING),
    Case("patch-removes-nothing", patching({"op": "remove", "path": "/data/none"}), MUTATING),
    Case("patch-tests", patching({"op": "test", "path": "/metadata/name", "value": "x"}), MUTATING),
    Case("patch-without-type", answering(patch=encoded("[]")), MUTATING),
    Case("type-without-patch", answering(patchType="JSONPatch"), MUTATING),
    Case("patch-no-json", answering(patch=encoded("hello"), patchType="JSONPatch"), MUTATING),
    Case("patch-no-list", answering(patch=encoded("{}"), patchType="JSONPatch"), MUTATING),
    Case("patch-other-type", answering(patch=encoded(json.dumps([LABEL])), patchType="Merge"), MUTATING),
    Case("patch-empty", answering(patch=encoded("[]"), patchType="JSONPatch"), MUTATING),
    Case("patch-by-validating", answering(patch=encoded("[]"), patchType="JSONPatch")),
    Case("patch-no-base64", answering(patch="***", patchType="JSONPatch"), MUTATING),
    Case("no-json", sending(b"hello")),
    Case("no-object", sending(b"[1, 2]")),
    Case("half-json", sending(b'{"kind": "Admiss')),
    Case("empty", sending(b"")),
    Case("wrong-uid", answering(uid="x")),
    Case("wrong-kind", lambda review: {"kind": "Pod", "apiVersion": "v1"}),
    Case("other-version", other_version),
    Case("without-type", without_type),
    Case("without-response", lambda review: {"kind": review["kind"], "apiVersion": review["apiVersion"]}),
    Case("wrong-types", answering(allowed="yes")),
    Case("status", status),
    Case("code-500", sending(b"boom\n", 500)),
    Case("code-500-json", sending(b"{}", 500, (("Content-Type", "application/json"),))),
    Case("code-404", sending(b"nothing", 404)),
    Case("code-403", sending(b"you may not", 403)),
    Case("code-400", sending(b"bad", 400)),
    Case("code-503", sending(b"later", 503)),
    Case("code-302", sending(b"", 302, (("Location", "/elsewhere"),))),
    Case("code-307", sending(b"", 307, (("Location", "/denied"),))),
    Case("gone", lambda review: None),
    Case("hanging", never, fields={"timeoutSeconds": 1}),
    Case("hanging-ignored", never, fields={"timeoutSeconds": 1, "failurePolicy": "Ignore"}),
    Case("closed", answering(), client={"url": "https://127.0.0.1:1/x"}),
    Case(
        "closed-ignored", answering(), MUTATING, {"failurePolicy": "Ignore"}, {"url": "https://127.0.0.1:1/x"}
    ),
    Case("untrusted", answering(), client={"caBundle": certificate("localhost", "127.0.0.1")}),
    Case("untrusted-by-anybody", answering(), client={"caBundle": None}),
    Case("bundle-no-pem", answering(), client={"caBundle": encoded("no certificate")}),
    Case("no-service", answering(), client={"url": None, "service": {"name": "x", "namespace": "default"}}),
    Case("v1beta1", answering(uid="any"), fields={"admissionReviewVersions": ["v1beta1"]}),
    Case("ignored", sending(b"hello"), fields={"failurePolicy": "Ignore"}),
    Case("ignored-but-denied", denying(message="no"), fields={"failurePolicy": "Ignore"}),
    Case(
        "conditioned",
        denying(message="no"),
        fields={"matchConditions": [{"name": "never", "expression": "object.metadata.name == 'other'"}]},
    ),
    Case(
        "condition-holds",
        denying(message="no"),
        fields={
            "matchConditions": [
                {"name": "who", "expression": "request.userInfo.username != '' && !request.dryRun"},
                {"name": "may", "expression": "authorizer.requestResource.check('create').allowed()"},
            ]
        },
    ),
    Case(
        "condition-fails",
        denying(message="no"),
        fields={"matchConditions": [{"name": "broken", "expression": "object.none.at.all == 1"}]},
    ),
    Case(
        "condition-fails-ignored",
        denying(message="no"),
        fields={
            "failurePolicy": "Ignore",
            "matchConditions": [{"name": "broken", "expression": "object.none.at.all == 1"}],
        },
    ),
)


def webhook(server: WebhookServer, case: Case) -> dict[str, Any]:
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE", "UPDATE", "DELETE"],
        "resources": ["configmaps"],
    }
    client = {**server.client(case.name), **case.client}
    return {
        "name": f"{case.name}.hooks.example.com",
        "clientConfig": {name: each for name, each in client.items() if each is not None},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "objectSelector": {"matchLabels": {"case": case.name}},
        "rules": [rule],
        **case.fields,
    }


def configuration(kind: str, *webhooks: dict[str, Any], name: str = "all") -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": list(webhooks),
    }


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"case": name}}}


@pytest.fixture(scope="module")
def server() -> Iterator[WebhookServer]:
    with WebhookServer() as running:
        for case in CASES:
            running.behaviours[case.name] = case.behaviour
        running.behaviours["last"] = denying(message="installed")
        running.behaviours["elsewhere"] = answering()
        yield running


def apply(pair: Pair, folder: Path, *documents: dict[str, Any]) -> None:
    file = folder / "applied.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    pair.prepare(f"apply -f {file}")


def installed(pair: Pair, folder: Path, marker: str = "last") -> None:
    """Waits until both servers ask the last of the webhooks."""
    file = folder / f"{marker}.yaml"
    file.write_text(yaml.safe_dump(config_map(marker)))
    wait_for(
        "the webhooks", lambda: all(done.code for done in pair.on_both(f"create -f {file} --dry-run=server"))
    )


@pytest.fixture(scope="module")
def hooks(pair: Pair, server: WebhookServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    """All cases. What marks that they are installed is among the validating ones in the end."""
    folder = tmp_path_factory.mktemp("hooks")
    last = Case("last", denying())
    of_kind = {kind: [each for each in CASES if each.kind == kind] for kind in (MUTATING, VALIDATING)}
    mutating, validating = of_kind[MUTATING], of_kind[VALIDATING]
    apply(pair, folder, configuration(MUTATING, *(webhook(server, each) for each in (*mutating, last))))
    installed(pair, folder)
    apply(pair, folder, configuration(MUTATING, *(webhook(server, each) for each in mutating)))
    probe = f"create -f {folder / 'last.yaml'} --dry-run=server"
    wait_for("the last webhook to go", lambda: not any(done.code for done in pair.on_both(probe)))
    apply(pair, folder, configuration(VALIDATING, *(webhook(server, each) for each in (*validating, last))))
    installed(pair, folder)


def test_what_webhooks_answer(pair: Pair, hooks: None, tmp_path: Path) -> None:
    commands = []
    for case in CASES:
        file = tmp_path / f"{case.name}.yaml"
        file.write_text(yaml.safe_dump(config_map(case.name)))
        commands += [f"create -f {file}", f"get configmap {case.name} --ignore-not-found -o yaml"]
    masks = (mask(r"127\.0\.0\.1:\d+->127\.0\.0\.1:\d+", "<connection>"),)
    pair.compare_all(commands, *masks)


def test_what_webhooks_are_asked(pair: Pair, server: WebhookServer, hooks: None, tmp_path: Path) -> None:
    """The reviews of all kinds of requests are the same, but for who makes them."""
    everything = {
        "apiGroups": ["", "apps", "policy"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["pods", "pods/*", "services", "deployments", "deployments/*", "namespaces"],
    }
    ours_and_real = {"matchLabels": {"asked": "yes"}}
    asked = {"rules": [everything], "objectSelector": ours_and_real}
    server.behaviours["asked-first"] = server.behaviours["asked-last"] = answering()
    cases = (Case("asked-first", answering(), fields=asked), Case("asked-last", answering(), fields=asked))
    for kind, case in zip((MUTATING, VALIDATING), cases, strict=True):
        last = webhook(server, Case("last", denying()))
        apply(pair, tmp_path, configuration(kind, webhook(server, case), last, name="zz-asked"))
    installed(pair, tmp_path)
    labels = {"asked": "yes"}
    containers = {"containers": [{"name": "main", "image": "none"}]}
    documents = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "asked", "labels": labels}},
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "labels": labels},
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": containers},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "one", "labels": labels},
            "spec": containers,
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web", "labels": labels},
            "spec": {"ports": [{"port": 80}], "type": "ExternalName", "externalName": "x.example"},
        },
    ]
    file = tmp_path / "asked.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    generated = tmp_path / "generated.yaml"
    metadata = {"generateName": "gen-", "labels": labels}
    generated.write_text(yaml.safe_dump({**documents[2], "metadata": metadata}))
    pair.compare(
        f"""
        create -f {file}
        label pod one more=yes
        annotate deployment web note=x --field-manager=me
        scale deployment web --replicas=1
        patch deployment web --subresource=status --type=merge -p '{{"status":{{"replicas":1}}}}'
        patch deployment web --type=json -p '[{{"op":"add","path":"/metadata/labels/b","value":"c"}}]'
        apply --server-side -f {file} --dry-run=server
        create -f {generated} --dry-run=server -o name
        delete pod one --grace-period=0 --force
        delete deployment web --wait=false
        delete service web
        delete namespace asked --wait=false
    """,
        mask(r"gen-[a-z0-9]{5}", "gen-<random>"),
    )
    for path in ("asked-first", "asked-last"):
        ours, real = _by_server(server.seen[path])
        assert [_shown(each) for each in ours] == [_shown(each) for each in real]
        assert len(ours) > 10
        different = [
            text
            for mine, theirs in zip(ours, real, strict=True)
            if (text := unlike(_shown(mine), _comparable(mine), _comparable(theirs), ()))
        ]
        assert not different, "\n".join(different)


def _shown(review: dict[str, Any]) -> str:
    request = review["request"]
    what = f"{request['resource']['resource']}/{request.get('subResource', '')}"
    return f"{request['operation']} {what} {request.get('name', '')[:4]}"


def _by_server(reviews: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Those of our server, whose user has this name, and those of the real one."""
    split: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for review in reviews:
        is_real = review["request"]["userInfo"]["username"] != "kubernetes-admin"
        known = split[is_real]
        # The real one asks twice about a pod that goes at once, first about its end, then about its removal.
        if known and review["request"]["operation"] == "DELETE" and _shown(known[-1]) == _shown(review):
            continue
        known.append(review)
    return split


def _comparable(review: dict[str, Any]) -> str:
    request = {name: each for name, each in review["request"].items() if name not in ("uid", "userInfo")}
    for name in ("object", "oldObject"):
        # They are in the order of their times, which may be others by a second.
        ((request[name] or {}).get("metadata") or {}).get("managedFields", []).sort(
            key=lambda each: each["manager"]
        )
    text = json.dumps({**review, "request": request}, sort_keys=True, indent=1)
    for each in (
        mask(r'"(uid|resourceVersion|creationTimestamp|time|lastTransitionTime)": "[^"]*"', r'"\1": ""'),
        mask(r"kube-api-access-[a-z0-9]{5}", "kube-api-access"),
        mask(r"gen-[a-z0-9]{5}", "gen-random"),
    ):
        text = each(text)
    return text


def test_configurations_are_checked(pair: Pair, tmp_path: Path) -> None:
    good = {"name": "a.b.c", "clientConfig": {"url": "https://x.example"}, "sideEffects": "None"}
    good["admissionReviewVersions"] = ["v1"]
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    service = {"name": "x", "namespace": "y"}
    wrong: tuple[dict[str, Any], ...] = (
        {},
        {"name": "short", "rules": [{}]},
        {**good, "name": "not_valid!.b.c", "sideEffects": "Some", "timeoutSeconds": 31},
        {**good, "timeoutSeconds": 0, "failurePolicy": "Maybe", "matchPolicy": "None"},
        {**good, "reinvocationPolicy": "Always"},
        {**good, "clientConfig": {}},
        {**good, "clientConfig": {"url": "https://x.example", "service": service}},
        {**good, "clientConfig": {"url": "http://u:p@x.example/a?b=c#d"}},
        {**good, "clientConfig": {"service": {"name": "", "namespace": "", "port": 0}}},
        {**good, "clientConfig": {"service": {**service, "path": "a//b_c", "port": 70000}}},
        {**good, "clientConfig": {"service": {**service, "path": "//"}}},
        {**good, "admissionReviewVersions": ["v2", "v2", "V_1"]},
        {**good, "admissionReviewVersions": []},
        {**good, "rules": [{**rule, "operations": ["*", "CREATE", "READ"], "scope": "World"}]},
        {**good, "rules": [{**rule, "apiGroups": ["*", "apps"], "apiVersions": ["", "*"]}]},
        {**good, "rules": [{**rule, "resources": ["*/*", "pods", ""]}]},
        {**good, "rules": [{**rule, "resources": ["pods/*", "pods/status", "*/scale", "x/scale"]}]},
        {**good, "rules": [{**rule, "resources": ["*", "pods"]}]},
        {**good, "namespaceSelector": {"matchExpressions": [{"key": "!", "operator": "Is"}]}},
        {**good, "matchConditions": [{"name": "", "expression": ""}, {"name": "a b", "expression": "1 +"}]},
        {**good, "matchConditions": [{"name": "x", "expression": "params.x == 1"}]},
        {**good, "matchConditions": [{"name": "x", "expression": "object.x"}]},
        {**good, "matchConditions": [{"name": "x", "expression": "request.nothing == ''"}]},
        {
            **good,
            "matchConditions": [{"name": "x", "expression": "true"}, {"name": "x", "expression": "true"}],
        },
    )
    commands = []
    for kind in (MUTATING, VALIDATING):
        for place, hook in enumerate(wrong):
            file = tmp_path / f"{kind}-{place}.yaml"
            file.write_text(yaml.safe_dump(configuration(kind, hook, name="wrong")))
            commands.append(f"create -f {file} --validate=ignore")
        file = tmp_path / f"{kind}-twice.yaml"
        file.write_text(yaml.safe_dump(configuration(kind, good, good, name="twice")))
        commands.append(f"create -f {file}")
        file = tmp_path / f"{kind}-good.yaml"
        file.write_text(yaml.safe_dump(configuration(kind, {**good, "rules": []}, name="good")))
        resource = kind.lower()
        commands += [
            f"create -f {file}",
            f"get {resource} good -o yaml --show-managed-fields",
            f"get {resource}s good",
            f"describe {resource} good",
            f'patch {resource} good -p \'{{"webhooks":[{{"name":"a.b.c","timeoutSeconds":5}}]}}\'',
            f"get {resource} good -o jsonpath={{.metadata.generation}}",
            f"delete {resource} good",
        ]
    pair.compare_all(commands)
