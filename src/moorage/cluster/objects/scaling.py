"""The scale of an object: how many pods it wants and has, the same for all kinds that have one."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from moorage.api.selectors import EXISTS, IN, NOT_IN, Requirement
from moorage.cluster.access.write_options import Options
from moorage.cluster.base.errors import invalid, invalid_value, unsupported_media_type
from moorage.cluster.base.store import Document, Stored
from moorage.cluster.custom.strategy import CustomStrategy
from moorage.cluster.objects.decoding import media_type
from moorage.cluster.objects.patching import PLAIN_PATCHES, patched_document
from moorage.cluster.objects.versions import before_write
from moorage.cluster.objects.writes import Objects
from moorage.cluster.schema.builtin import schema_of
from moorage.cluster.schema.definitions import Definition
from moorage.cluster.schema.selecting import selector_of

_SPEC_PATH, _STATUS_PATH = ".spec.replicas", ".status.replicas"


class Scales:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def scale_of(self, definition: Definition, stored: Stored) -> Document:
        document = stored.document
        metadata = document["metadata"]
        spec_path, status_path, selector_path = _paths(definition)
        shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        replicas, present = _at(document, spec_path), _at(document, status_path)
        scale: Document = {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": {name: metadata[name] for name in shown if name in metadata},
            "spec": {"replicas": replicas} if replicas else {},
            "status": {"replicas": present if isinstance(present, int) else 0},
        }
        selector = _at(document, selector_path) if selector_path else None
        text = selector if isinstance(selector, str) else _selector_text(selector)
        if text:
            scale["status"]["selector"] = text
        return scale

    def patched(
        self, definition: Definition, stored: Stored, body: bytes, content_type: str, options: Options
    ) -> Document:
        """The scale that a patch makes of the present one."""
        patch_type = media_type(content_type)
        if patch_type not in PLAIN_PATCHES:
            raise unsupported_media_type(PLAIN_PATCHES)
        present = self.scale_of(definition, stored)
        return patched_document(scale_definition(), present, body, patch_type, options)

    def write(self, definition: Definition, stored: Stored, scale: Document, options: Options) -> Stored:
        """Gives the object the number of pods that the scale wants."""
        replicas = scale.get("spec", {}).get("replicas", 0)
        if replicas < 0 and not definition.custom:
            cause = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
            raise invalid("Scale", "autoscaling", stored.name, [cause])
        document = deepcopy(before_write(definition, stored.document))
        version = scale["metadata"].get("resourceVersion")
        if version:
            document["metadata"]["resourceVersion"] = version
        *above, last = _paths(definition)[0].strip(".").split(".")
        place = document
        for name in above:
            if not isinstance(place.get(name), dict):
                place[name] = {}
            place = place[name]
        place[last] = replicas
        return self._objects.update(definition, stored, document, options, "scale")


def scale_definition() -> Definition:
    return Definition("autoscaling", "v1", "scales", "Scale", True, schema_of("autoscaling", "v1", "Scale"))


def _paths(definition: Definition) -> tuple[str, str, str]:
    strategy = definition.strategy
    if isinstance(strategy, CustomStrategy) and strategy.scale_paths is not None:
        spec, status, selector = strategy.scale_paths
        return spec, status, selector or ""
    return _SPEC_PATH, _STATUS_PATH, ".spec.selector"


def _at(document: Document, path: str) -> Any:
    value: Any = document
    for name in path.strip(".").split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _selector_text(selector: Any) -> str:
    """A selector as it stands in URLs; that of a ReplicationController is a plain map."""
    if isinstance(selector, dict) and "matchLabels" not in selector and "matchExpressions" not in selector:
        selector = {"matchLabels": selector}
    return ",".join(map(_term, selector_of(selector).requirements))


def _term(requirement: Requirement) -> str:
    key, values = requirement.key, ",".join(sorted(requirement.values))
    if requirement.operator == IN:
        return f"{key}={values}" if len(requirement.values) == 1 else f"{key} in ({values})"
    if requirement.operator == NOT_IN:
        return f"{key} notin ({values})"
    return key if requirement.operator == EXISTS else f"!{key}"
