"""Records anew what a real API server makes of rules in CEL, in definitions and for objects.

    python -m tools.record_custom_rules

What it is asked is what the recordings hold: to have more, add cases without an answer to them.
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

Document = dict[str, Any]
RECORDED = Path(__file__).parent.parent / "tests/cluster/custom/recorded"
GROUP = "rules.example.com"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DRY = "dryRun=All&fieldManager=recorder"
RULES = "x-kubernetes-validations"
_ANSWER = ("code", "causes", "message", "warnings")
_SELF_TYPE = re.compile("selfType[0-9]+")  # another number each time


class Server:
    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane

    def ask(
        self, method: str, path: str, body: Any = None, content_type: str = "application/json"
    ) -> Document:
        """The answer with its document."""
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
        # What is not served at all is answered in plain words.
        document: Document = json.loads(text) if text.startswith("{") else {"message": text}
        found: Document = {"code": answer.status, "document": document}
        if answer.status >= http.HTTPStatus.MULTIPLE_CHOICES:
            found["message"] = document["message"]
            found["causes"] = document.get("details", {}).get("causes", [])
        if warnings:
            found["warnings"] = [each.removeprefix('299 - "').removesuffix('"') for each in warnings]
        return found

    def is_served(self, path: str) -> bool:
        return bool(self.ask("GET", path)["code"] == http.HTTPStatus.OK)

    def is_established(self, path: str) -> bool:
        conditions = self.ask("GET", path)["document"].get("status", {}).get("conditions") or ()
        return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def answered(case: Document, answer: Document) -> Document:
    """A case with what is kept of its answer: where there are several causes, the message only lists them."""
    kept = {name: answer[name] for name in _ANSWER if name in answer}
    if len(kept.get("causes", ())) > 1:
        del kept["message"]
    return {name: value for name, value in case.items() if name not in _ANSWER} | kept


def definition(plural: str, schema: Document, subresources: Document | None = None) -> Document:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if subresources is not None:
        version["subresources"] = subresources
    names = {"plural": plural, "kind": plural[:-1].capitalize()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def without_rules(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: without_rules(inner) for name, inner in schema.items() if name != RULES}
    return [without_rules(each) for each in schema] if isinstance(schema, list) else schema


def record_definitions(server: Server, recorded: Document) -> Document:
    def created(schema: Document) -> Document:
        return server.ask("POST", f"{CRDS}?{DRY}", definition("things", schema))

    def ruled(text: str) -> Document:
        return {"type": "object", "properties": {"spec": {**recorded["spec"], RULES: [{"rule": text}]}}}

    return {
        "spec": recorded["spec"],
        "expressions": [answered(case, created(ruled(case["rule"]))) for case in recorded["expressions"]],
        "definitions": [answered(case, created(case["schema"])) for case in recorded["definitions"]],
        "changes": [answered(case, _changed(server, case)) for case in recorded["changes"]],
    }


def _changed(server: Server, case: Document) -> Document:
    path = f"{CRDS}/{case['plural']}.{GROUP}"
    server.ask("POST", CRDS, definition(case["plural"], case["before"]))
    wait_for(f"{case['plural']} being established", lambda: server.is_established(path))
    crd = server.ask("GET", path)["document"]
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = case["schema"]
    return server.ask("PUT", f"{path}?{DRY}", crd)


def prepare_objects(server: Server, group: Document) -> None:
    """The objects as they are before they are written, from a time without rules; then the rules."""
    plural, path = group["plural"], path_of(group)
    earlier = without_rules(group.get("earlier") or group["schema"])
    server.ask("POST", CRDS, definition(plural, earlier, group.get("subresources")))
    wait_for(f"{plural} being served", lambda: server.is_served(path))
    for number, write in enumerate(group["writes"]):
        if "before" in write:
            made = server.ask(
                "POST", f"{path}?fieldManager=recorder", an_object(plural, f"o{number}", write["before"])
            )
            assert made["code"] == http.HTTPStatus.CREATED, (group["name"], write, made)
    address = f"{CRDS}/{plural}.{GROUP}"
    crd = server.ask("GET", address)["document"]
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = group["schema"]
    changed = server.ask("PUT", address, crd)
    assert changed["code"] == http.HTTPStatus.OK, (group["name"], changed.get("message"))


def record_objects(server: Server, group: Document) -> Document:
    wait_for(f"{group['plural']} being served", lambda: server.is_served(path_of(group)))
    writes = [
        answered(write, written(server, group, number, write)) for number, write in enumerate(group["writes"])
    ]
    return {**group, "writes": writes}


def path_of(group: Document) -> str:
    return f"/apis/{GROUP}/v1/namespaces/default/{group['plural']}"


def an_object(plural: str, name: str, body: Document) -> Document:
    metadata = {"name": name, **body.get("metadata", {})}
    kind = plural[:-1].capitalize()
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, **body, "metadata": metadata}


def written(server: Server, group: Document, number: int, write: Document) -> Document:
    """The answer to a write that is not stored."""
    plural, name, path = group["plural"], f"o{number}", path_of(group)
    if "before" not in write:
        return server.ask("POST", f"{path}?{DRY}", an_object(plural, name, write["body"]))
    address = f"{path}/{name}"
    place = f"{address}/{write['part']}" if "part" in write else address
    if patch := write.get("patch"):
        if "apply" not in patch:
            return server.ask("PATCH", f"{place}?{DRY}", write["body"], patch)
        return server.ask("PATCH", f"{place}?{DRY}&force=true", an_object(plural, name, write["body"]), patch)
    stored = server.ask("GET", address)["document"]
    body = an_object(plural, name, write["body"])
    body["metadata"] = {**stored["metadata"], **write["body"].get("metadata", {})}
    body["metadata"].pop("managedFields", None)
    return server.ask("PUT", f"{place}?{DRY}", body)


def read(name: str) -> Document:
    loaded: Document = json.loads((RECORDED / f"{name}.json").read_text())
    return loaded


def save(name: str, found: Document) -> None:
    """With a line for each case."""
    parts = []
    for key, value in found.items():
        text = json.dumps(value, sort_keys=True)
        if isinstance(value, list):
            text = "[\n" + ",\n".join(json.dumps(each, sort_keys=True) for each in value) + "\n]"
        parts.append(f"{json.dumps(key)}: {text}")
    (RECORDED / f"{name}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n")


def main() -> None:
    programs = build.assets()
    assert programs is not None
    groups = {file.stem: read(file.stem) for file in sorted(RECORDED.glob("rules_*.json"))}
    with ControlPlane(programs) as plane:
        server = Server(plane)
        save("rule_definitions", record_definitions(server, read("rule_definitions")))
        for group in groups.values():
            prepare_objects(server, group)
        plane.restart_apiserver()  # now all rules count for certain
        for name, group in groups.items():
            save(name, record_objects(server, group))


if __name__ == "__main__":
    main()
