"""How custom objects get from one version to another: by their name alone, or as a webhook does it."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec

from moorage.cluster.base.errors import Refusal
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.outside import Answers, Unanswered
from moorage.cluster.base.store import Document
from moorage.cluster.base.webhook_client import CallFailed, WebhookClient, target_of
from moorage.cluster.schema.checking import check_labels

_GROUP = "apiextensions.k8s.io"
_KIND = "ConversionReview"
_VERSIONS = ("v1", "v1beta1")
_SECONDS = 30
_MOST_KNOWN = 50_000
_UNSEEN = (
    "resourceVersion",
    "managedFields",
    "generation",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
"""What changes with every write, and is never converted."""

_encode = msgspec.json.Encoder(order="sorted").encode


class _Failed(Exception):
    """A webhook did not convert what it was to convert."""


class Conversions:
    """What conversion webhooks have said. Objects that are the same are converted once."""

    def __init__(self, client: WebhookClient) -> None:
        self._client = client
        self._known: OrderedDict[Hashable, Document] = OrderedDict()
        self._failed: dict[Hashable, str] = {}
        self._room = _MOST_KNOWN

    def convert(self, webhook: Document, documents: Sequence[Document], version: str) -> list[Document]:
        """The documents in this version, in their order.

        Raises Unanswered as long as the webhook is to be asked, and a Refusal if that has failed.
        """
        keys = [_key(webhook, each, version) for each in documents]
        missing = {
            key: document
            for key, document in zip(keys, documents, strict=True)
            if document["apiVersion"] != version and key not in self._known
        }
        for key in missing:
            if problem := self._failed.pop(key, ""):
                raise Refusal(500, "", problem)
        if missing:
            raise Unanswered(Answers(), [_Batch(self, self._client, webhook, missing, version)])
        return [
            document if document["apiVersion"] == version else _restored(self._known[key], document)
            for key, document in zip(keys, documents, strict=True)
        ]

    def put(self, converted: dict[Hashable, Document]) -> None:
        self._room = max(self._room, 2 * len(converted))
        self._known.update(converted)
        while len(self._known) > self._room:
            self._known.popitem(last=False)

    def fail(self, keys: Sequence[Hashable], problem: str) -> None:
        """The next who asks is told."""
        if len(self._failed) > _MOST_KNOWN:
            self._failed.clear()
        self._failed.update(dict.fromkeys(keys, problem))


def _key(webhook: Document, document: Document, version: str) -> Hashable:
    metadata = {name: value for name, value in document["metadata"].items() if name not in _UNSEEN}
    return blake2b(_encode([webhook, version, {**document, "metadata": metadata}]), digest_size=16).digest()


def _restored(converted: Document, original: Document) -> Document:
    """With the metadata of the original, of which nothing but labels and annotations is the webhook's."""
    metadata = {
        name: value for name, value in original["metadata"].items() if name not in ("labels", "annotations")
    }
    for name in ("labels", "annotations"):
        if (given := converted["metadata"].get(name)) is not None:
            metadata[name] = given
    return {**converted, "metadata": metadata}


@dataclass(frozen=True)
class _Batch:
    """The question to a webhook about some objects. The answers go where they are looked for."""

    conversions: Conversions
    client: WebhookClient
    webhook: Document
    documents: dict[Hashable, Document]
    version: str

    @property
    def key(self) -> Hashable:
        return tuple(self.documents)

    async def ask(self) -> None:
        originals = list(self.documents.values())
        version, kind = originals[0]["apiVersion"], originals[0]["kind"]
        try:
            converted = await self._convert(originals)
        except _Failed as error:
            told = f"conversion webhook for {version}, Kind={kind} {error}"
            self.conversions.fail(list(self.documents), told)
        except CallFailed as error:
            told = f"conversion webhook for {version}, Kind={kind} failed: {error}"
            self.conversions.fail(list(self.documents), told)
        else:
            self.conversions.put(dict(zip(self.documents, converted, strict=True)))

    async def _convert(self, originals: list[Document]) -> list[Document]:
        offered = self.webhook.get("conversionReviewVersions") or ()
        review_version = next((each for each in offered if each in _VERSIONS), None)
        if review_version is None:
            raise _Failed("failed: no supported conversion review versions")
        uid = str(uuid.uuid4())
        request = {"uid": uid, "desiredAPIVersion": self.version, "objects": originals}
        review = {"kind": _KIND, "apiVersion": f"{_GROUP}/{review_version}", "request": request}
        target = target_of(self.webhook.get("clientConfig") or {})
        answer = await self.client.post(target, review, _SECONDS)
        found = _converted_objects(answer, uid, review_version)
        if len(found) != len(originals):
            raise _Failed(f"returned {len(found)} objects, expected {len(originals)}")
        for place, (original, converted) in enumerate(zip(originals, found, strict=True)):
            where = f"at index {place}" if len(originals) > 1 else ""
            _check(original, converted, self.version, where)
        return found


def _converted_objects(review: Document, uid: str, version: str) -> list[Any]:
    wanted = f"{_GROUP}/v1, Kind={_KIND}"
    shown = f"{review.get('apiVersion') or '/'}, Kind={review.get('kind') or ''}"
    given = str(review.get("apiVersion") or "").removeprefix(f"{_GROUP}/")
    if given != version and given in _VERSIONS and review.get("kind") == _KIND:
        why = f"converting ({given}.{_KIND}) to ({version}.{_KIND}): unknown conversion"
        raise _Failed(f"failed: {why}")
    if version == "v1" and shown != wanted:
        raise _Failed(f"failed: expected webhook response of {wanted}, got {shown}")
    response = review.get("response")
    if not isinstance(response, dict):
        raise _Failed("failed: no response provided")
    if version == "v1" and response.get("uid") != uid:
        why = f"expected response.uid={quoted(uid)}, got {quoted(str(response.get('uid') or ''))}"
        raise _Failed(f"failed: {why}")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        status = result.get("status") or ""
        told = result.get("message") or f"response.result.status was '{status}', not 'Success'"
        raise _Failed(f"failed: {told}")
    found = response.get("convertedObjects")
    return found if isinstance(found, list) else []


def _check(original: Document, converted: Any, version: str, where: str) -> None:
    """Refuses what is another object, or of another kind or version."""
    what = f"returned invalid converted object {where}" if where else "returned invalid object at index 0"
    if not isinstance(converted, dict):
        raise _Failed(f"{what}: it is no object")
    given, kind = converted.get("apiVersion") or "", converted.get("kind") or ""
    if given != version:
        raise _Failed(f"{what}: invalid groupVersion (expected {version}, received {given})")
    if kind != original["kind"]:
        raise _Failed(f"{what}: invalid kind (expected {original['kind']}, received {kind})")
    what = what if where else "returned invalid object"
    metadata = converted.get("metadata")
    known: Document = metadata if isinstance(metadata, dict) else {}
    for name, told in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        before, after = original["metadata"].get(name) or "", known.get(name) or ""
        if before != after:
            raise _Failed(f"{what}: must have the same {told}: {before} != {after}")
    what = f"returned invalid metadata in object {where}" if where else "returned invalid metadata"
    if not isinstance(metadata, dict):
        raise _Failed(f"{what}: missing metadata in converted object")
    for name in ("labels", "annotations"):
        _check_texts(metadata.get(name), original["metadata"].get(name), name, what)


def _check_texts(given: Any, before: Any, name: str, what: str) -> None:
    if given is None or given == before:
        return
    if not isinstance(given, dict):
        raise _Failed(f"{what}: invalid metadata.{name} in converted object")
    for key, text in given.items():
        if not isinstance(text, str):
            raise _Failed(f"{what}: metadata.{name}[{key}] must be a string in converted object")
    if name == "labels" and (causes := check_labels(given, "metadata.labels")):
        raise _Failed(f"{what}: {causes[0]}")
