"""Records what a real API server makes of rules in CEL, in definitions and for objects.

python -m tools.record_custom_rules
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
from pathlib import Path
from typing import Any

from tests.controlplane import build
from tests.controlplane.servers import HOST, ControlPlane, wait_for
from tools.custom_object_cases import groups
from tools.custom_rule_cases import (
    CHANGES,
    DEFINITIONS,
    EXPRESSIONS,
    RULES,
    SPEC,
    SYNTAX,
    Document,
    root,
    ruled,
)

RECORDED = Path(__file__).parent.parent / "tests/cluster/custom/recorded"
GROUP = "rules.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DRY = "dryRun=All&fieldManager=recorder"
_SELF_TYPE = re.compile(r"selfType[0-9]+")


class Server:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def ask(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> Document:
        """The answer: code, causes, message, warnings."""
        context = ssl.create_default_context(cafile=self._plane.ca_file)
        port = int(self._plane.url.rpartition(":")[2])
        connection = http.client.HTTPSConnection(HOST, port, timeout=60, context=context)
        headers = {"Authorization": f"Bearer {self._plane.admin_token}", "Content-Type": content_type}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = _SELF_TYPE.sub("selfType0", answer.read().decode())
            warnings = answer.headers.get_all("Warning") or []
        finally:
            connection.close()
        document = json.loads(text)
        found: Document = {"code": answer.status, "document": document}
        if answer.status >= 300:
            found["message"] = document["message"]
            found["causes"] = document.get("details", {}).get("causes", [])
        if warnings:
            found["warnings"] = [re.fullmatch(r'299 - "(.*)"', each)[1] for each in warnings]  # type: ignore[index]
        return found


def outcome(answer: Document) -> Document:
    """What is kept of an answer. The message is only a list of the causes where there are several."""
    kept = {name: answer[name] for name in ("code", "causes", "message", "warnings") if name in answer}
    if len(kept.get("causes", ())) > 1:
        del kept["message"]
    return kept


def definition(plural: str, schema: Document, subresources: Document | None = None) -> Document:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if subresources is not None:
        version["subresources"] = subresources
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": plural[:-1].capitalize()},
            "versions": [version],
        },
    }


def without_rules(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: without_rules(inner) for name, inner in schema.items() if name != RULES}
    return [without_rules(each) for each in schema] if isinstance(schema, list) else schema


def record_definitions(server: Server) -> Document:
    def created(schema: Document) -> Document:
        return outcome(server.ask("POST", f"{CRDS}?{DRY}", definition("things", schema)))

    expressions = [{"rule": text, **created(root(ruled(SPEC, text)))} for text in EXPRESSIONS + SYNTAX]
    whole = [{"name": name, "schema": schema, **created(schema)} for name, schema in DEFINITIONS.items()]
    changes = []
    for number, (name, before, after) in enumerate(CHANGES):
        stored = server.ask("POST", CRDS, definition(f"change{number}s", before))["document"]
        path = f"{CRDS}/{stored['metadata']['name']}"
        wait_for("a good definition", lambda path=path: _is_established(server.ask("GET", path)["document"]))
        changed = server.ask("GET", path)["document"]
        changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = after
        answer = outcome(server.ask("PUT", f"{path}?{DRY}", changed))
        changes.append(
            {"name": name, "plural": f"change{number}s", "before": before, "schema": after, **answer}
        )
    return {"spec": SPEC, "expressions": expressions, "definitions": whole, "changes": changes}


def _is_established(crd: Document) -> bool:
    conditions = crd.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def record_objects(plane: ControlPlane, server: Server) -> Document:
    found = []
    named = [(f"thing{number}s", group) for number, group in enumerate(groups())]
    for plural, group in named:
        earlier = without_rules(group.earlier or group.schema)
        made = server.ask("POST", CRDS, definition(plural, earlier, group.subresources))
        assert made["code"] == 201, (group.name, made.get("message"))
    for plural, group in named:
        path = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
        wait_for(f"{plural} being served", lambda path=path: server.ask("GET", path)["code"] == 200)
        for number, write in enumerate(group.writes):
            if "before" in write:
                made = server.ask(
                    "POST", f"{path}?fieldManager=recorder", _object(plural, f"o{number}", write["before"])
                )
                assert made["code"] == 201, (group.name, write, made)
    for plural, group in named:
        address = f"{CRDS}/{plural}.{GROUP}"
        crd = server.ask("GET", address)["document"]
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = group.schema
        answer = server.ask("PUT", address, crd)
        assert answer["code"] == 200, (group.name, answer.get("message"))
    plane.restart_apiserver()
    for plural, group in named:
        path = f"/apis/{GROUP}/v1/namespaces/default/{plural}"
        wait_for(f"{plural} being served", lambda path=path: server.ask("GET", path)["code"] == 200)
        writes = [
            {**write, **outcome(_written(server, path, plural, number, write))}
            for number, write in enumerate(group.writes)
        ]
        kept: Document = {"name": group.name, "plural": plural, "schema": group.schema}
        for name in ("earlier", "subresources"):
            if (value := getattr(group, name)) is not None:
                kept[name] = value
        found.append({**kept, "writes": writes})
    return {"groups": found}


def _object(plural: str, name: str, body: Document) -> Document:
    metadata = {"name": name, **body.get("metadata", {})}
    kind = plural[:-1].capitalize()
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, **body, "metadata": metadata}


def _written(server: Server, path: str, plural: str, number: int, write: Document) -> Document:
    name, part = f"o{number}", write.get("part", "")
    if "before" not in write:
        return server.ask("POST", f"{path}?{DRY}", _object(plural, name, write["body"]))
    address = f"{path}/{name}"
    place = f"{address}/{part}" if part else address
    if patch := write.get("patch"):
        body = write["body"]
        if "apply" in patch:
            body = _object(plural, name, body)
        return server.ask(
            "PATCH", f"{place}?{DRY}&force=true" if "apply" in patch else f"{place}?{DRY}", body, patch
        )
    stored = server.ask("GET", address)["document"]
    body = _object(plural, name, write["body"])
    body["metadata"] = {**stored["metadata"], **write["body"].get("metadata", {})}
    body["metadata"].pop("managedFields", None)
    return server.ask("PUT", f"{place}?{DRY}", body)


def write(name: str, found: Document) -> None:
    """With a line for each case."""
    parts = []
    for key, value in found.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(each, sort_keys=True) for each in value)
            parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value, sort_keys=True)}")
    (RECORDED / f"{name}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    programs = build.assets()
    assert programs is not None
    with ControlPlane(programs) as plane:
        server = Server(plane)
        write("rule_definitions", record_definitions(server))
        for group in record_objects(plane, server)["groups"]:
            write("rules_" + group["name"].replace(" ", "_"), group)
