"""AdmissionReviews: the question that a webhook is asked, and what its answer means."""

from __future__ import annotations

import base64
import binascii
import uuid
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.store import Document
from moorage.cluster.base.webhook_client import BadBundle, CallFailed, WebhookClient, target_of
from moorage.cluster.kinds.admission_hooks import REVIEW_VERSIONS
from moorage.cluster.objects.merging.json_patches import json_patch

_GROUP = "admission.k8s.io"
_KIND = "AdmissionReview"
_LEAST_CODE = 400

_encode = msgspec.json.Encoder(order="sorted").encode


class NoAnswer(Exception):
    """A webhook could not be asked, or did not answer as it should: its failure policy decides."""


@dataclass(frozen=True)
class Reply:
    """What came back: a document, or why there is none."""

    uid: str
    document: Document | None
    problem: str = ""


@dataclass(frozen=True)
class Review:
    """A question to one webhook about one request. Its answer is a Reply."""

    client: WebhookClient
    hook: Document
    hook_id: str
    version: str
    request: Document
    key: Hashable = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", (self.hook_id, _encode(self.request)))

    async def ask(self) -> Reply:
        uid = str(uuid.uuid4())
        review = {
            "kind": _KIND,
            "apiVersion": f"{_GROUP}/{self.version}",
            "request": {"uid": uid, **self.request},
        }
        try:
            target, seconds = target_of(self.hook["clientConfig"]), self.hook.get("timeoutSeconds", 10)
            return Reply(uid, await self.client.post(target, review, seconds))
        except BadBundle as error:
            return Reply(uid, None, f"could not get REST client: {error}")
        except CallFailed as error:
            return Reply(uid, None, f"failed to call webhook: {error}")


def review_version(hook: Document) -> str:
    """The first that both sides know."""
    for version in hook.get("admissionReviewVersions") or ():
        if version in REVIEW_VERSIONS:
            return str(version)
    known = ", ".join(REVIEW_VERSIONS)
    why = f"webhook does not accept known AdmissionReview versions ({known})"
    raise NoAnswer(f"could not create admission objects: {why}")


@dataclass(frozen=True)
class Verdict:
    allowed: bool
    patch: Any = None
    """The operations, if there are any."""
    status: Document = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def verdict_of(reply: Reply, version: str, *, mutating: bool) -> Verdict:
    """Raises NoAnswer for what is none."""
    if reply.document is None:
        raise NoAnswer(reply.problem)
    document = _checked_kind(reply.document, version)
    response = document.get("response")
    if response is None:
        raise NoAnswer("received invalid webhook response: webhook response was absent")
    _check_types(response)
    patch, patch_type = _patch_bytes(response), response.get("patchType")
    if version == "v1":
        _check_v1(document, response, reply.uid)
        _check_patch(patch, patch_type, mutating=mutating)
    elif not mutating:
        patch = b""
    return Verdict(
        response.get("allowed") is True,
        _operations(patch, patch_type if version == "v1" else "JSONPatch") if patch else None,
        response.get("status") or {},
        response.get("warnings") or [],
    )


def _checked_kind(document: Document, wanted: str) -> Document:
    """What is no AdmissionReview cannot be read as one."""
    version, kind = document.get("apiVersion") or "", document.get("kind") or ""
    group = version.rpartition("/")[0] if isinstance(version, str) else ""
    if not kind and (version or "response" not in document):
        shown = msgspec.json.encode(document).decode()
        raise NoAnswer(f"failed to call webhook: Object 'Kind' is missing in '{shown}'")
    if kind and (kind != _KIND or group != _GROUP):
        if kind == "Status" and document.get("status") == "Failure":
            raise NoAnswer(f"failed to call webhook: {document.get('message') or ''}")
        known = f'no kind "{kind}" is registered for version "{version}" in scheme'
        raise NoAnswer(f'failed to call webhook: {known} "pkg/runtime/scheme.go:111"')
    given = version.rpartition("/")[2]
    if kind and given in REVIEW_VERSIONS and given != wanted:
        why = f"converting ({given}.{_KIND}) to ({wanted}.{_KIND}): unknown conversion"
        raise NoAnswer(f"failed to call webhook: {why}")
    return document


def _check_types(response: Any) -> None:
    wanted = {"uid": str, "allowed": bool, "patch": str, "patchType": str, "status": dict, "warnings": list}
    names = {str: "string", bool: "bool", dict: "Go struct", list: "array"}
    if not isinstance(response, dict):
        raise NoAnswer("failed to call webhook: json: cannot unmarshal response into AdmissionResponse")
    for name, type_ in wanted.items():
        value = response.get(name)
        if value is not None and not isinstance(value, type_):
            field = f"AdmissionResponse.response.{name}"
            why = f"cannot unmarshal {_json_name(value)} into Go struct field {field} of type {names[type_]}"
            raise NoAnswer(f"failed to call webhook: json: {why}")


def _json_name(value: Any) -> str:
    known = {str: "string", bool: "bool", dict: "object", list: "array"}
    return known.get(type(value), "number")


def _check_v1(document: Document, response: Document, uid: str) -> None:
    given = response.get("uid") or ""
    if given != uid:
        why = f"expected response.uid={quoted(uid)}, got {quoted(given)}"
        raise NoAnswer(f"received invalid webhook response: {why}")
    version, kind = document.get("apiVersion") or "", document.get("kind") or ""
    if (version, kind) != (f"{_GROUP}/v1", _KIND):
        wanted = f"{_GROUP}/v1, Kind={_KIND}"
        shown = f"{version or '/'}, Kind={kind}"
        raise NoAnswer(
            f"received invalid webhook response: expected webhook response of {wanted}, got {shown}"
        )


def _check_patch(patch: bytes, patch_type: str | None, *, mutating: bool) -> None:
    problem = ""
    if mutating:
        if patch and patch_type is None:
            problem = "webhook returned response.patch but not response.patchType"
        elif not patch and patch_type is not None:
            problem = "webhook returned response.patchType but not response.patch"
        elif patch_type == "":
            problem = 'webhook returned invalid response.patchType of ""'
    elif patch:
        problem = "validating webhook may not return response.patch"
    elif patch_type is not None:
        problem = "validating webhook may not return response.patchType"
    if problem:
        raise NoAnswer(f"received invalid webhook response: {problem}")


def _patch_bytes(response: Document) -> bytes:
    try:
        return base64.b64decode(response.get("patch") or "", validate=True)
    except binascii.Error:
        place = _first_wrong(response["patch"])
        raise NoAnswer(f"failed to call webhook: illegal base64 data at input byte {place}") from None


def _first_wrong(text: str) -> int:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
    return next((place for place, letter in enumerate(text) if letter not in letters), len(text) // 4 * 4)


def _operations(patch: bytes, patch_type: str | None) -> Any:
    try:
        operations = msgspec.json.decode(patch)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        start = patch.lstrip()[:1].decode(errors="replace")
        why = f"invalid character '{start}' looking for beginning of value"
        told = why if start and start not in '{["-0123456789tfn' else str(error)
        raise NoAnswer(f"received undecodable patch in webhook response: {told}") from None
    if operations is not None and not isinstance(operations, list):
        why = f"json: cannot unmarshal {_json_name(operations)} into Go value of type jsonpatch.Patch"
        raise NoAnswer(f"received undecodable patch in webhook response: {why}")
    if operations and patch_type != "JSONPatch":
        raise NoAnswer(f"unsupported patch type {quoted(patch_type or '')}")
    return operations or None


# What is told to the one who made the request


def denied(hook: str, status: Document) -> Refusal:
    """A webhook said no."""
    message, reason = status.get("message") or "", status.get("reason") or ""
    by = f'admission webhook "{hook}" denied the request'
    told = message or reason
    code = status.get("code")
    return Refusal(
        code if isinstance(code, int) and code >= _LEAST_CODE else _LEAST_CODE,
        str(reason),
        f"{by}: {told}" if told else f"{by} without explanation",
        details=status.get("details"),
        metadata=status.get("metadata") or {},
    )


def internal_error(text: str) -> Refusal:
    details = {"causes": [{"message": text}]}
    return Refusal(500, "InternalError", f"Internal error occurred: {text}", details=details)


def patched(document: Document, operations: list[Any]) -> Document:
    """What the operations make of a document; raises the refusal of those that cannot be done."""
    for operation in operations:
        try:
            document = json_patch(document, [operation])
        except Refusal:
            raise internal_error(_failed_operation(operation)) from None
    return document


def _failed_operation(operation: Any) -> str:
    if not isinstance(operation, dict):
        return f"json: cannot unmarshal {_json_name(operation)} into Go value of type jsonpatch.Operation"
    kind, path = operation.get("op"), operation.get("path")
    if kind == "test":
        return f"testing value {path} failed: test failed"
    if kind not in ("add", "remove", "replace", "move", "copy"):
        return f"Unexpected kind: {kind}"
    if kind == "remove":
        return f"remove operation does not apply: doc is missing path: {quoted(str(path))}: missing value"
    if kind == "replace":
        return f"replace operation does not apply: doc is missing key: {path}: missing value"
    return f"{kind} operation does not apply: doc is missing path: {quoted(str(path))}: missing value"
