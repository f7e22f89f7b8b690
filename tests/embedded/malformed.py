"""Requests that are wrong in every way one can think of, made by damaging good ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

Document = dict[str, Any]

RECORDED = Path(__file__).parent.parent / "cluster"
NAMESPACES = ("default", "default", "default", "team", "kube-system", "none")
NAMES = ("x", "d1", "a", "web", "things.shop.example.com")

TEXTS = (
    "",
    " ",
    "x",
    "a=b",
    "A b",
    "../..",
    "/",
    "%",
    "%00",
    "\x00",
    "\ud800",
    "\udfff\ud800",
    "é\u2028\u202e",
    "😀" * 40,
    "a" * 300,
    "a" * 5000,
    "true",
    "null",
    "0",
    "-1",
    "1e400",
    "NaN",
    "1Gi",
    "-100m",
    "1e-9",
    "2026-01-01T00:00:00Z",
    "2026-13-45T99:99:99Z",
    "0000-00-00T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
    "10.0.0.1",
    "::1",
    "10.0.0.0/8",
    "25%",
    "(a+)+$",
    "[",
    "$(X)",
    "{.spec.x",
    "Always",
    "Exists",
    "Gt",
    "TCP",
    "metadata.name['a']",
    "*",
    "system:masters",
    "kubernetes.io/x",
    "a/b/c",
    "==",
    "99999999999999999999",
)
NUMBERS: tuple[Any, ...] = (
    0,
    -0.0,
    1,
    -1,
    0.5,
    80,
    65536,
    2**31,
    -(2**31) - 1,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    10**25,
    1e19,
    1e308,
    -1e-320,
    float("nan"),
    float("inf"),
    float("-inf"),
)
PATCH_TYPES = (
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)
MEDIA_TYPES = (
    *PATCH_TYPES,
    "application/json",
    "application/yaml",
    "application/json; charset=utf-8",
    "text/plain",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "application/apply-patch+cbor",
    "",
    ";;",
    "json",
    "multipart/form-data",
    "APPLICATION/JSON",
    "application/json,application/yaml",
    "\x80",
)
ACCEPTED = (
    "",
    "application/json",
    "application/yaml",
    "*/*",
    "text/html",
    "application/vnd.kubernetes.protobuf",
    "application/json;as=Table;v=v1;g=meta.k8s.io",
    "application/yaml;as=Table;v=v1;g=meta.k8s.io",
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    "application/json;as=Pod;v=v1;g=",
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json",
    ",,;=;as",
    "q=;;",
    "*",
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    "application/json;stream=watch",
)
PARAMETERS: dict[str, tuple[str, ...]] = {
    "limit": ("1", "2", "500", "-1", "0", "x", "1e3", "9223372036854775807", "99999999999999999999"),
    "continue": (
        "x",
        "eyJsaXN0IjoxLCJzdGFydCI6MX0",
        "eyJsaXN0IjoxLCJzdGFydCI6LTV9",
        "e30",
        "====",
        "é",
        "W10",
    ),
    "resourceVersion": ("0", "1", "5", "x", "-1", "99999999", "18446744073709551616", "1.5", "٣"),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x", ""),
    "sendInitialEvents": ("true", "false", "x", ""),
    "allowWatchBookmarks": ("true", "false", "2"),
    "timeoutSeconds": ("1", "0", "-5", "x", "9223372036854775807"),
    "watch": ("true", "false", "1", "yes", ""),
    "labelSelector": (
        "a=b",
        "a in (b,c)",
        "!a",
        "a in (",
        "a==b==c",
        "=",
        ",",
        "a>1",
        "a<x",
        "\x00",
        "é=é",
        "(",
        "!",
    ),
    "fieldSelector": (
        "metadata.name=x",
        "spec.nodeName=",
        "status.phase!=Running",
        "x",
        "=",
        "a\\",
        "a=b=c",
        "\\,",
    ),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x", ""),
    "dryRun": ("All", "x", ""),
    "fieldManager": ("me", "x" * 129, "a\x01b", "", "é"),
    "force": ("true", "false", "x"),
    "gracePeriodSeconds": ("0", "30", "-1", "x", "9223372036854775807"),
    "propagationPolicy": ("Background", "Foreground", "Orphan", "x"),
    "orphanDependents": ("true", "x"),
    "includeObject": ("None", "Metadata", "Object", "x"),
    "container": ("c", "main", "x", "\x00"),
    "tailLines": ("0", "5", "-1", "x", "9223372036854775807"),
    "sinceTime": ("2026-01-01T00:00:00Z", "x", "9999-12-31T23:59:59Z", ""),
    "sinceSeconds": ("1", "-1", "9223372036854775807", "x"),
    "limitBytes": ("0", "10", "-1", "x"),
    "follow": ("true", "x"),
    "timestamps": ("true", "x"),
    "previous": ("true", "x"),
    "pretty": ("true", "x"),
}
HEADERS: dict[str, tuple[str, ...]] = {
    "authorization": ("Bearer x", "Bearer ", "Basic eDp5", "Bearer a.b.c", "Bearer \ud800", "x", "Bearer é"),
    "impersonate-user": (
        "alice",
        "",
        "system:serviceaccount:default:default",
        "\x00",
        "é",
        "system:serviceaccount::",
    ),
    "impersonate-group": ("devs", "", "system:masters"),
    "impersonate-uid": ("1", ""),
    "impersonate-extra-a%2": ("x",),
    "impersonate-extra-": ("x",),
    "user-agent": ("", "é/1", "x" * 500, "\x01"),
}
OPERATIONS = ("add", "remove", "replace", "move", "copy", "test", "x")
METHOD_OF = {
    "get": "GET",
    "list": "GET",
    "watch": "GET",
    "create": "POST",
    "update": "PUT",
    "patch": "PATCH",
    "delete": "DELETE",
    "deletecollection": "DELETE",
}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "", "get", "G T")


class Wrong(NamedTuple):
    """A request, ready to be sent."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


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
    entries = json.loads((RECORDED / "kinds_other/created.json").read_text())
    entries += json.loads((RECORDED / "kinds_other/refused.json").read_text())
    documents = [entry["document"] for entry in entries]
    lines = (RECORDED / "kinds/recorded_creates.jsonl").read_text().splitlines()
    documents += [json.loads(line)["given"] for line in lines]
    cases = json.loads((RECORDED / "custom/recorded/definitions.json").read_text())["cases"]
    documents += [case["object"] for case in cases if isinstance(case["object"], dict)]
    documents += [crd(), *_gadgets(), *_questions()]
    found: dict[str, list[Document]] = {}
    for document in documents:
        found.setdefault(document["kind"], []).append(document)
    return found


def _gadgets() -> list[Document]:
    cases = json.loads((RECORDED / "custom/recorded/rules.json").read_text())["cases"]
    made = [{"spec": {case["field"]: case["value"]}} for case in cases if "field" in case and "value" in case]
    plain = {"apiVersion": "shop.example.com/v1", "kind": "Gadget", "metadata": {"name": "x"}}
    return [{**plain, "spec": {}}, *({**plain, **each} for each in made)]


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


_PART_KINDS = {"binding": "Binding", "eviction": "Eviction", "scale": "Scale", "token": "TokenRequest"}


class Generator:
    """The same seed gives the same requests, as long as `look` finds the same objects at the same paths."""

    def __init__(
        self,
        seed: int,
        served: Sequence[Collection],
        objects: dict[str, list[Document]],
        look: Callable[[str], Document | None] = lambda path: None,
    ) -> None:
        self._random = Random(seed)
        self._served = served
        self._objects = objects
        self._look = look

    def request(self) -> Wrong:
        random = self._random
        place = random.choice(self._served)
        part = random.choice(sorted(place.parts)) if place.parts and random.random() < 0.3 else ""
        verb = random.choice(place.parts[part] if part else place.verbs)
        if verb in ("delete", "deletecollection") and random.random() < 0.9:
            verb = "patch" if "patch" in place.verbs else "create"
        document = self._document(_PART_KINDS.get(part, place.kind))
        name = self._name(document)
        if not part and verb in ("create", "list", "watch", "deletecollection"):
            name = ""
        namespace = random.choice(NAMESPACES)
        path = place.path(namespace, name, part)
        if name and random.random() < 0.7:
            document = self._look(place.path(namespace, name)) or document
        self._remove_versions(document, keep_namespace=not place.namespaced)
        method = METHOD_OF[verb] if random.random() < 0.95 else random.choice(METHODS)
        headers = self._headers(method)
        body = self._body(method, document, headers)
        query = self._query(watch=verb == "watch")
        if random.random() < 0.04:
            path = self._damaged_path(path)
        return Wrong(method, path + query, headers, body)

    def _name(self, document: Document) -> str:
        metadata = document.get("metadata")
        given = metadata.get("name") if isinstance(metadata, dict) else None
        if isinstance(given, str) and given and self._random.random() < 0.9:
            return given
        return self._random.choice(NAMES)

    def _remove_versions(self, document: Document, *, keep_namespace: bool) -> None:
        """What would have most requests refused before anything else is looked at."""
        metadata = document.get("metadata")
        if isinstance(metadata, dict) and self._random.random() < 0.9:
            for name in ("resourceVersion", "uid", *(() if keep_namespace else ("namespace",))):
                metadata.pop(name, None)

    def _document(self, kind: str) -> Document:
        known = self._objects.get(kind)
        if not known:
            return {"metadata": {"name": "x"}}
        document: Document = json.loads(json.dumps(self._random.choice(known)))
        return document

    def _damaged_path(self, path: str) -> str:
        random = self._random
        odd = random.choice(
            ("%00", "%2F", "%", "%zz", "//", "/..", "%C3%28", "a" * 5000, "/namespaces", "é", ";", "#")
        )
        at = random.randrange(len(path) + 1)
        return path[:at] + odd + path[at + random.randrange(3) :]

    def _query(self, *, watch: bool) -> str:
        random = self._random
        if random.random() < 0.5:
            return "?watch=1" if watch else ""
        names = random.choices(tuple(PARAMETERS), k=random.randrange(1, 5))
        pairs = [(name, random.choice(PARAMETERS[name])) for name in names]
        if random.random() < 0.05:
            return "?" + random.choice(
                ("&&&", "=", "%", "a" * 3000, "limit=1&limit=x", "%ff=%fe", "&".join("a" * 200))
            )
        if watch:
            pairs.append(("watch", "1"))
        return f"?{urlencode(pairs)}"

    def _headers(self, method: str) -> dict[str, str]:
        random = self._random
        media_type = random.choice(PATCH_TYPES) if method == "PATCH" else "application/json"
        if random.random() < 0.1:
            media_type = random.choice(MEDIA_TYPES)
        headers = {
            "content-type": media_type,
            "accept": random.choice(ACCEPTED) if random.random() < 0.4 else "",
        }
        if random.random() < 0.05:
            for name in random.choices(tuple(HEADERS), k=2):
                headers[name] = random.choice(HEADERS[name])
        return headers

    def _body(self, method: str, document: Document, headers: dict[str, str]) -> bytes:
        random = self._random
        value: Any = document
        if method == "DELETE":
            value = (
                {"kind": "DeleteOptions", "preconditions": {"uid": "x"}} if random.random() < 0.4 else None
            )
        elif method == "PATCH":
            value = self._patch(document, headers["content-type"])
        for _ in range(random.choice((0, 1, 1, 1, 2, 3, 8))):
            value = self.damaged(value)
        text = json.dumps(value) if value is not None else ""
        if random.random() < 0.1:
            return self._damaged_bytes(text)
        return text.encode(errors="surrogatepass")

    def _patch(self, document: Document, media_type: str) -> Any:
        random = self._random
        if media_type == "application/json-patch+json":
            return [self._operation(document) for _ in range(random.randrange(4))]
        if media_type == "application/apply-patch+yaml":
            return document
        kept = random.sample(sorted(document), k=random.randrange(len(document) + 1))
        patch: Document = {name: document[name] for name in kept}
        if random.random() < 0.3:
            self._direct(patch)
        return patch

    def _operation(self, document: Document) -> Any:
        random = self._random
        place: Any = document
        path = ""
        while isinstance(place, dict | list) and place and random.random() < 0.8:
            known: Any = place if isinstance(place, dict) else dict(enumerate(place))
            key = random.choice([*known, "-", -1, 99] if isinstance(place, list) else [*known])
            path += f"/{str(key).replace('~', '~0').replace('/', '~1')}"
            place = known.get(key)
        operation: Document = {"op": random.choice(OPERATIONS), "path": path}
        if random.random() < 0.8:
            operation["value"] = self._junk() if random.random() < 0.7 else place
        if random.random() < 0.4:
            operation["from"] = random.choice((path, "", "/metadata", "/metadata/labels", "/spec/x", "~"))
        return operation

    def _direct(self, patch: Any) -> None:
        """Puts a directive of strategic merge patches somewhere."""
        random = self._random
        place = patch
        while isinstance(place, dict) and place and random.random() < 0.8:
            inner = place[random.choice(sorted(place))]
            if isinstance(inner, list) and inner:
                inner = random.choice(inner)
            if not isinstance(inner, dict):
                break
            place = inner
        name = random.choice(
            (
                "$patch",
                "$retainKeys",
                "$deleteFromPrimitiveList/finalizers",
                "$setElementOrder/containers",
                "$x",
            )
        )
        place[name] = random.choice(
            ("delete", "replace", "merge", "x", ["name"], [{"name": "c"}], [1], {}, None, 5)
        )

    def damaged(self, value: Any) -> Any:
        """The value with something wrong at a random place in it."""
        random = self._random
        if isinstance(value, dict) and value and random.random() < 0.9:
            key = random.choice(sorted(value))
            what = random.random()
            if what < 0.75:
                return {**value, key: self.damaged(value[key])}
            if what < 0.85:
                return {name: inner for name, inner in value.items() if name != key}
            return {**value, random.choice(TEXTS): self._junk()}
        if isinstance(value, list) and value and random.random() < 0.9:
            at = random.randrange(len(value))
            what = random.random()
            if what < 0.7:
                return [*value[:at], self.damaged(value[at]), *value[at + 1 :]]
            if what < 0.8:
                return value[:at] + value[at + 1 :]
            if what < 0.9:
                return [*value, value[at]]
            return [*value, self._junk()]
        return self._junk()

    def _junk(self) -> Any:
        random = self._random
        what = random.random()
        if what < 0.3:
            return random.choice(TEXTS)
        if what < 0.6:
            return random.choice(NUMBERS)
        if what < 0.7:
            return random.choice((None, True, False))
        if what < 0.8:
            return random.choice(([], {}, [[]], [None], {"": None}, [{}], {"a": {}}))
        if what < 0.98:
            document = self._document(random.choice(sorted(self._objects)))
            return random.choice([*document.values(), document, [document]])
        return self._nested(random.choice((5, 50, 90)))

    def _nested(self, depth: int) -> Any:
        value: Any = {}
        for _ in range(depth):
            value = (
                {"properties": {"a": value}, "items": value}
                if self._random.random() < 0.02
                else [{"a": value}]
            )
        return value

    def _damaged_bytes(self, text: str) -> bytes:
        random = self._random
        body = text.encode(errors="surrogatepass")
        at = random.randrange(len(body) + 1)
        return random.choice(
            (
                b"",
                body[:at],
                body[:at] + random.randbytes(3) + body[at:],
                body[:at] + b"\x00" + body[at:],
                body[:at] + b"\xff\xfe" + body[at + 2 :],
                b"\xef\xbb\xbf" + body,
                text.encode("utf-16", errors="surrogatepass"),
                body + body,
                b"[" * 5000 + b"]" * 5000,
                b'{"a":' * 5000,
                b"k8s\x00" + random.randbytes(40),
                random.randbytes(200),
                b"- a\n- &x [*x]\n",
                b"&a [x, x]: *a",
                b"a: !!python/object:os.system x",
                b"? {a: b}\n: c",
                b"a: .nan\nb: 2001-01-01\nc: !!binary x",
                body.replace(b":", b':1,"kind":', 1),
                b'{"metadata":{"name":"x","name":"x"},"metadata":{}}',
            )
        )
