"""Custom objects in several versions, converted by a webhook, on our API server and on the real one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.controlplane.servers import wait_for
from tests.embedded.comparing import Pair, mask
from tests.webhook_server import Review, Sent, WebhookServer

GROUP = "shapes.example.com"


def converted(review: Review) -> Review:
    """In v1 a box has a size as a text, in v2 numbers. What its note says is done wrongly."""
    request = review["request"]
    version = request["desiredAPIVersion"]
    objects = [_converted(each, version) for each in request["objects"]]
    notes = [each["spec"].get("note", "") for each in request["objects"]]
    answer = {"uid": request["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    whole = {"kind": review["kind"], "apiVersion": review["apiVersion"], "response": answer}
    for note in notes:
        if note in WRONG:
            WRONG[note](whole)
    return whole


def _converted(document: dict[str, Any], version: str) -> dict[str, Any]:
    spec = dict(document["spec"])
    if version.endswith("v2"):
        width, _, height = spec.pop("size", "0x0").partition("x")
        spec |= {"width": int(width), "height": int(height)}
    else:
        spec["size"] = f"{spec.pop('width')}x{spec.pop('height')}"
    labels = {**(document["metadata"].get("labels") or {}), "converted": version.rpartition("/")[2]}
    metadata = {**document["metadata"], "labels": labels, "resourceVersion": "ignored"}
    return {**document, "apiVersion": version, "spec": spec, "metadata": metadata}


def _change(**fields: Any) -> Callable[[Review], None]:
    def change(whole: Review) -> None:
        for each in whole["response"]["convertedObjects"]:
            each.update(fields)

    return change


def _rename(**fields: Any) -> Callable[[Review], None]:
    def change(whole: Review) -> None:
        for each in whole["response"]["convertedObjects"]:
            each["metadata"] = {**each["metadata"], **fields}

    return change


def _respond(**fields: Any) -> Callable[[Review], None]:
    return lambda whole: whole["response"].update(fields)


WRONG: dict[str, Callable[[Review], None]] = {
    "wrong-kind": _change(kind="Ball"),
    "wrong-version": _change(apiVersion=f"{GROUP}/v9"),
    "wrong-name": _rename(name="other"),
    "wrong-namespace": _rename(namespace="other"),
    "wrong-uid": _rename(uid="1234"),
    "wrong-label": _rename(labels={"a b": "c"}),
    "no-objects": _respond(convertedObjects=[]),
    "two-objects": lambda whole: whole["response"].update(
        convertedObjects=whole["response"]["convertedObjects"] * 2
    ),
    "other-uid": _respond(uid="x"),
    "failed": _respond(result={"status": "Failure", "message": "cannot do that"}),
    "failed-silently": _respond(result={"status": "Failure"}),
    "other-review": lambda whole: whole.update(apiVersion="apiextensions.k8s.io/v1beta1"),
    "no-response": lambda whole: whole.pop("response"),
}


def definition(server: WebhookServer) -> dict[str, Any]:
    def version(name: str, **fields: str) -> dict[str, Any]:
        properties = {field: {"type": type_} for field, type_ in {**fields, "note": "string"}.items()}
        properties["color"] = {"type": "string", "default": f"{name}-blue"}
        schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
        columns = [
            {"name": field, "type": type_, "jsonPath": f".spec.{field}"} for field, type_ in fields.items()
        ]
        return {
            "name": name,
            "served": True,
            "storage": name == "v2",
            "schema": {"openAPIV3Schema": schema},
            "additionalPrinterColumns": columns,
        }

    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": server.client("convert")}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"boxes.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "boxes", "kind": "Box"},
            "versions": [version("v1", size="string"), version("v2", width="integer", height="integer")],
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


def box(name: str, version: str = "v1", **spec: Any) -> dict[str, Any]:
    head = {"apiVersion": f"{GROUP}/{version}", "kind": "Box", "metadata": {"name": name}}
    return {**head, "spec": spec}


@pytest.fixture(scope="module")
def server() -> Iterator[WebhookServer]:
    with WebhookServer(convert=converted) as running:
        yield running


@pytest.fixture(scope="module")
def boxes(pair: Pair, server: WebhookServer, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("boxes") / "definition.yaml"
    file.write_text(yaml.safe_dump(definition(server)))
    pair.compare(f"create -f {file}")
    pair.prepare(f"wait --for=condition=Established crd/boxes.{GROUP}")
    for version in ("v1", "v2"):
        asked = f"get boxes.{version}.{GROUP}"
        wait_for("the boxes", lambda asked=asked: not any(done.code for done in pair.on_both(asked)))  # type: ignore[misc]


def test_objects_in_both_versions(pair: Pair, boxes: None, tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text(yaml.safe_dump(box("one", size="3x4")))
    two.write_text(yaml.safe_dump(box("two", "v2", width=5, height=6)))
    pair.compare(f"""
        create -f {one} -o yaml
        create -f {two}
        get boxes.v1.{GROUP}
        get boxes.v2.{GROUP}
        get boxes.v1.{GROUP} -o yaml
        get boxes.v2.{GROUP} one -o yaml
        patch boxes.v1.{GROUP} two --type=merge -p '{{"spec":{{"size":"7x8"}}}}'
        get boxes.v2.{GROUP} two -o jsonpath={{.spec}}
        apply -f {one}
        replace -f {two}
        get boxes.v1.{GROUP} two -o jsonpath={{.spec}}
        get boxes.v1.{GROUP} --raw /apis/{GROUP}/v1/namespaces/default/boxes/none
        delete boxes.v1.{GROUP} one
        get boxes.v1.{GROUP} -o name
    """)


def test_what_is_converted_wrongly(pair: Pair, boxes: None, tmp_path: Path) -> None:
    commands = []
    for name in WRONG:
        stored = tmp_path / f"{name}-stored.yaml"
        stored.write_text(yaml.safe_dump(box(name, "v2", width=1, height=2, note=name)))
        new = tmp_path / f"{name}-new.yaml"
        new.write_text(yaml.safe_dump(box(f"{name}-new", size="1x2", note=name)))
        commands += [
            f"create -f {new}",
            f"create -f {stored}",
            f"get boxes.v1.{GROUP} {name}",
            f"get boxes.v1.{GROUP}",
            f"delete boxes.v2.{GROUP} {name}",
        ]
    pair.compare_all(commands, mask(r"map\[string\]interface \{\}", "map"))


def test_a_webhook_that_is_no_use(pair: Pair, server: WebhookServer, boxes: None, tmp_path: Path) -> None:
    stored = tmp_path / "stored.yaml"
    stored.write_text(yaml.safe_dump(box("stored", "v2", width=1, height=2)))
    pair.prepare(f"create -f {stored}")
    for sent in (Sent(b"no"), Sent(b"oh", 500, (("Content-Type", "text/plain"),)), Sent(b"")):
        server.behaviours["convert"] = lambda review, sent=sent: sent  # type: ignore[misc]
        pair.compare(f"get boxes.v1.{GROUP} stored")
    server.behaviours["convert"] = lambda review: None
    pair.compare(f"get boxes.v1.{GROUP} stored")
    server.behaviours["convert"] = converted
