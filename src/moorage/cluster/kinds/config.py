"""ConfigMaps and Secrets."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, too_long
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.common import KindStrategy, part
from moorage.cluster.schema.checking import check_change, check_form
from moorage.cluster.schema.forms import size

MAX_SIZE = 1024 * 1024
SERVICE_ACCOUNT_TOKEN = "kubernetes.io/service-account-token"
SERVICE_ACCOUNT_NAME = "kubernetes.io/service-account.name"

_FROZEN = "field is immutable when `immutable` is set"
TLS = "kubernetes.io/tls"
_SSH = "kubernetes.io/ssh-auth"
CERTIFICATE, PRIVATE_KEY = "tls.crt", "tls.key"
_PEM = re.compile(rb"-----BEGIN [^\n]*-----\s*\n.*-----END ", re.DOTALL)
_REDACTED = "<secret contents redacted>"
_JSON = ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson")
_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/basic-auth": ("username", "password"),
    _SSH: ("ssh-privatekey",),
    TLS: (CERTIFICATE, PRIVATE_KEY),
}
"""What secrets of a type must have; for basic-auth, one is enough."""


class ConfigMapStrategy(KindStrategy):
    type_name = "core.v1.ConfigMap"
    tells_changes_first = True

    def validate(self, document: Document) -> Iterator[Cause]:
        data, binary = part(document, "data"), part(document, "binaryData")
        total = 0
        for key, value in sorted(data.items()):
            yield from check_form("config-key", key, f"data[{key}]")
            if key in binary:
                yield invalid_value(f"data[{key}]", key, "duplicate of key present in binaryData")
            total += size(value)
        for key, value in sorted(binary.items()):
            yield from check_form("config-key", key, f"binaryData[{key}]")
            total += _decoded_size(value)
        if total > MAX_SIZE:
            yield too_long("[]", MAX_SIZE)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        return _frozen(new, old, "data", "binaryData")


class SecretStrategy(KindStrategy):
    type_name = "core.v1.Secret"
    tells_changes_first = True

    def default(self, document: Document) -> None:
        texts = document.pop("stringData", None)
        if texts:
            data = document["data"] = dict(part(document, "data"))
            for key, text in texts.items():
                data[key] = base64.b64encode(text.encode(errors="surrogatepass")).decode()
        super().default(document)

    def prepare_update(self, new: Document, old: Document) -> None:
        if not new.get("type") and old.get("type"):
            new["type"] = old["type"]

    def validate(self, document: Document) -> Iterator[Cause]:
        data = part(document, "data")
        total = 0
        for key, value in sorted(data.items()):
            yield from check_form("config-key", key, f"data[{key}]")
            total += _decoded_size(value)
        if total > MAX_SIZE:
            yield too_long("data", MAX_SIZE)
        yield from _type_rules(document, data)

    def validate_update(self, new: Document, old: Document) -> Iterator[Cause]:
        yield from check_change(self.type_name, new, old)
        yield from _frozen(new, old, "data")

    def warnings(self, document: Document) -> list[str]:
        """A certificate nobody can use is accepted all the same."""
        data = part(document, "data")
        if document.get("type") != TLS:
            return []
        for key, what in ((CERTIFICATE, "certificate"), (PRIVATE_KEY, "key")):
            if not _PEM.search(_decoded(data.get(key, ""))):
                return [f"tls: failed to find any PEM data in {what} input"]
        return []


def _type_rules(document: Document, data: Document) -> Iterator[Cause]:
    kind = document.get("type", "")
    annotations = part(document["metadata"], "annotations")
    if kind == SERVICE_ACCOUNT_TOKEN and not annotations.get(SERVICE_ACCOUNT_NAME):
        yield required(f"metadata.annotations[{SERVICE_ACCOUNT_NAME}]")
    missing = [key for key in _KEYS.get(kind, ()) if key not in data or (kind == _SSH and not data[key])]
    if kind == "kubernetes.io/basic-auth" and len(missing) == 1:
        return
    for key in missing:
        yield required(f"data[{key}]")
    if kind in _JSON and not missing:
        key = _KEYS[kind][0]
        if problem := _json_problem(data[key]):
            yield invalid_value(f"data[{key}]", _REDACTED, problem)


def _frozen(new: Document, old: Document, *names: str) -> Iterator[Cause]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield forbidden_value("immutable", _FROZEN)
    for name in names:
        if part(new, name) != part(old, name):
            yield forbidden_value(name, _FROZEN)


def _decoded(encoded: str) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return b""


def _decoded_size(encoded: str) -> int:
    return len(encoded) // 4 * 3 - encoded.count("=", -2)


def _json_problem(encoded: str) -> str:
    text = _decoded(encoded).decode(errors="replace")
    if not text.strip():
        return "unexpected end of JSON input"
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text):
            return "unexpected end of JSON input"
        return f"invalid character {text[error.pos]!a} looking for beginning of value"
    except (ValueError, RecursionError):
        return "exceeded max depth"
    if found is not None and not isinstance(found, dict):
        kind = {str: "string", bool: "bool", list: "array"}.get(type(found), "number")
        return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
    return ""
