"""Patches of the four kinds: merge, JSON, strategic merge and server-side apply."""

from __future__ import annotations

import json
from typing import Any

from moorage.cluster.access.requests import Place
from moorage.cluster.access.write_options import Options
from moorage.cluster.base import errors
from moorage.cluster.base.go_text import shown
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.objects import decoding
from moorage.cluster.objects.identity import check_address
from moorage.cluster.objects.merging.json_patches import json_patch, merge_patch
from moorage.cluster.objects.merging.managed_fields import without_managed_fields
from moorage.cluster.objects.merging.strategic import remainder, strategic_merge
from moorage.cluster.objects.writes import Objects
from moorage.cluster.objects.yaml_bodies import read_yaml
from moorage.cluster.schema.conform import Undecodable
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.schema.mistakes import conversion_problem, duplicate_fields, patch_warnings

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
PLAIN_PATCHES = (JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH)


def patch(
    objects: Objects, definition: Definition, place: Place, body: bytes, content_type: str, options: Options
) -> tuple[Stored, bool]:
    """The patched object, and whether it was created by an apply."""
    patch_type = decoding.media_type(content_type)
    known = (JSON_PATCH, MERGE_PATCH) if definition.custom else PLAIN_PATCHES
    if patch_type not in (*known, APPLY_PATCH):
        raise errors.unsupported_media_type((*known, APPLY_PATCH))
    if patch_type == APPLY_PATCH:
        if not options.names_itself:
            raise _bad_options(errors.required("fieldManager", "is required for apply patch"))
        value, repeated = read_yaml(body)
        return objects.apply(definition, place, _applied(definition, value), options, repeated)
    if options.force:
        raise _bad_options(errors.forbidden_value("force", "may not be specified for non-apply patch"))
    old = objects.get(definition, place.namespace, place.name)
    original = decoding.from_stored(definition, old.document)
    document = decoding.to_stored(
        definition, patched_document(definition, original, body, patch_type, options)
    )
    check_address(document["metadata"], place)
    return objects.update(definition, old, document, options, place.subresource), False


def _applied(definition: Definition, value: Any) -> Document:
    """What somebody applies, of the right kind. Its shape is looked at when it is merged."""
    given = value if isinstance(value, dict) else {}
    kind, version = given.get("kind", ""), given.get("apiVersion", "")
    if (kind, version) != (definition.kind, definition.api_version):
        group = version if "/" in str(version) or not version else f"/{version}"
        raise errors.bad_request(f"invalid object type: {group or '/'}, Kind={kind}")
    metadata = given.get("metadata") or {}
    if not isinstance(metadata, dict) or not all(
        isinstance(metadata.get(name, ""), str) for name in ("name", "namespace")
    ):
        raise errors.bad_request("metadata: must be an object whose name and namespace are texts")
    return {**given, "metadata": dict(metadata)}


def patched_document(
    definition: Definition, original: Document, body: bytes, patch_type: str, options: Options
) -> Document:
    """What a patch makes of a document, which stays as it is."""
    given = decoding.read_json(body)
    if patch_type == STRATEGIC_PATCH:
        patched = strategic_merge(definition.schema, original, given)
    else:
        patched = (json_patch if patch_type == JSON_PATCH else merge_patch)(original, given)
    try:
        conformed = decoding.conformed_value(definition, patched)
        if options.validation != "Ignore":
            repeated = [] if patch_type == JSON_PATCH else duplicate_fields(body)
            unknown = sorted(conformed.unknown) if patch_type == STRATEGIC_PATCH else conformed.unknown
            if mistakes := patch_warnings(unknown, repeated):
                decoding.complain(definition, mistakes, options)
    except Undecodable as error:
        if patch_type == STRATEGIC_PATCH:
            raise _unreadable(shown(remainder(original, given)), conversion_problem(error.problem)) from None
        raise _unreadable(_as_json(patched), error.problem) from None
    document: Document = conformed.document
    return document


def _unreadable(value: str, problem: str) -> errors.Refusal:
    """A patch after which something has a wrong type or is unknown."""
    return errors.invalid("", "", "", [errors.invalid_value("patch", value, problem)])


def _as_json(patched: Any) -> str:
    if isinstance(patched, dict) and isinstance(patched.get("metadata"), dict):
        patched = without_managed_fields(patched)
    return json.dumps(patched, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _bad_options(cause: errors.Cause) -> Exception:
    return errors.invalid("PatchOptions", "meta.k8s.io", "", [cause])
