"""Requests that are wrong in every way one can think of, made by damaging good ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tests.embedded.api_samples import Collection, Document
from tests.embedded.odd_values import (
    ACCEPTED,
    HEADERS,
    MEDIA_TYPES,
    METHOD_OF,
    METHODS,
    NUMBERS,
    OPERATIONS,
    PARAMETERS,
    PATCH_TYPES,
    TEXTS,
)

NAMESPACES = ("default", "default", "default", "team", "kube-system", "none")
NAMES = ("x", "d1", "a", "web", "things.shop.example.com")


class Wrong(NamedTuple):
    """A request, ready to be sent."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


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
