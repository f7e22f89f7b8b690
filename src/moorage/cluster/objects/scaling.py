"""The scale of an object: how many pods it wants and has, the same for all kinds that have one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from moorage.api.selectors import EXISTS, IN, NOT_IN, Requirement
from moorage.cluster.access.write_options import Options
from moorage.cluster.base import parts
from moorage.cluster.base.errors import invalid, invalid_value, unsupported_media_type
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.custom.strategy import CustomStrategy
from moorage.cluster.objects.admission.attempt import UPDATE
from moorage.cluster.objects.decoding import before_write, media_type
from moorage.cluster.objects.hooks.wishes import Wish
from moorage.cluster.objects.patching import PLAIN_PATCHES, patched_document
from moorage.cluster.objects.writes import Objects
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.definitions import Definition

_PATHS = (".spec.replicas", ".status.replicas", ".spec.selector")


def scale_of(definition: Definition, stored: Stored) -> Document:
    document, metadata = stored.document, stored.document["metadata"]
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    replicas, present, selector = (parts.value(document, *path) for path in _paths(definition))
    scale: Document = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in shown if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": present if isinstance(present, int) else 0},
    }
    if text := selector if isinstance(selector, str) else _selector_text(selector):
        scale["status"]["selector"] = text
    return scale


def patched_scale(
    definition: Definition, stored: Stored, body: bytes, content_type: str, options: Options
) -> Document:
    """The scale that a patch makes of the present one."""
    patch_type = media_type(content_type)
    if patch_type not in PLAIN_PATCHES:
        raise unsupported_media_type(PLAIN_PATCHES)
    return patched_document(scale_definition(), scale_of(definition, stored), body, patch_type, options)


def write_scale(
    objects: Objects, definition: Definition, stored: Stored, scale: Document, options: Options
) -> Stored:
    """Gives the object the number of pods that the scale wants."""
    replicas = scale.get("spec", {}).get("replicas", 0)
    if replicas < 0 and not definition.custom:
        cause = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        raise invalid("Scale", "autoscaling", stored.name, [cause])
    wish = Wish(
        definition,
        UPDATE,
        options,
        scale,
        scale_of(definition, stored),
        stored.name,
        stored.namespace,
        "scale",
        kind=scale_definition(),
    )
    replicas = parts.number(objects.hooks.admit(wish).document or {}, "spec", "replicas")
    document = deepcopy(before_write(definition, stored.document))
    if version := scale["metadata"].get("resourceVersion"):
        document["metadata"]["resourceVersion"] = version
    *above, last = _paths(definition)[0]
    place = document
    for name in above:
        if not isinstance(place.get(name), dict):
            place[name] = {}
        place = place[name]
    place[last] = replicas
    return objects.update(definition, stored, document, options, "scale")


def scale_definition() -> Definition:
    return Definition("autoscaling", "v1", "scales", "Scale", True, schema_of("autoscaling", "v1", "Scale"))


def _paths(definition: Definition) -> list[list[str]]:
    """Where an object says how many it wants, how many it has, and by which labels they are found."""
    strategy = definition.strategy
    custom = strategy.scale_paths if isinstance(strategy, CustomStrategy) else None
    return [path.strip(".").split(".") for path in custom or _PATHS]


def _selector_text(selector: Any) -> str:
    """A selector as it stands in URLs; that of a ReplicationController is a plain map."""
    if isinstance(selector, dict) and "matchLabels" not in selector and "matchExpressions" not in selector:
        selector = {"matchLabels": selector}
    return ",".join(map(_term, parts.selector_of(selector).requirements))


def _term(requirement: Requirement) -> str:
    key, values = requirement.key, ",".join(sorted(requirement.values))
    if requirement.operator == IN:
        return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
    if requirement.operator == NOT_IN:
        return f"{key} notin ({values})"
    return key if requirement.operator == EXISTS else f"!{key}"
