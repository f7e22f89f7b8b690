"""How CustomResourceDefinitions are completed and checked."""

from __future__ import annotations

from collections.abc import Iterable

from moorage.cluster.base.errors import Cause
from moorage.cluster.base.go_text import quoted
from moorage.cluster.base.store import Document
from moorage.cluster.custom.definition_rules import change_problems, definition_problems, names_problems
from moorage.cluster.custom.formats import is_known
from moorage.cluster.custom.structural import all_schemas, versions_of
from moorage.cluster.schema.definitions import Strategy, keep_status

_HTTPS = 443
_NO_RULES = "x-kubernetes-validations: the rules are accepted, but objects are not checked by them"
_NO_WEBHOOKS = "spec.conversion: webhooks are not called; versions differ in their apiVersion only"


class CrdStrategy(Strategy):
    counts_generations = True
    updates_name_version = True
    qualified_finalizers = False

    def default(self, document: Document) -> None:
        spec = document["spec"]
        names = spec["names"]
        if not names.get("singular") and names.get("kind"):
            names["singular"] = names["kind"].lower()
        if not names.get("listKind") and names.get("kind"):
            names["listKind"] = f"{names['kind']}List"
        if spec.get("conversion") is None:
            spec["conversion"] = {"strategy": "None"}
        status = document.get("status")
        if status is not None and not status.get("storedVersions"):
            _remember_storage_version(document)
        client = (spec["conversion"].get("webhook") or {}).get("clientConfig") or {}
        if client.get("service") is not None:
            client["service"].setdefault("port", _HTTPS)

    def prepare_create(self, document: Document) -> None:
        document["status"] = {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}}
        _remember_storage_version(document)

    def prepare_update(self, new: Document, old: Document) -> None:
        keep_status(new, old)
        _remember_storage_version(new)

    def validate(self, document: Document) -> Iterable[Cause]:
        # Only what is stored has a version, so this tells a new definition from a changed one.
        return definition_problems(document, new="resourceVersion" not in document["metadata"])

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return change_problems(new, old)

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        accepted = (new.get("status") or {}).get("acceptedNames") or {}
        return names_problems(accepted, "status.acceptedNames")

    def warnings(self, document: Document) -> list[str]:
        schemas = list(all_schemas(document["spec"]))
        formats = ((schema.get("type", ""), schema.get("format", "")) for schema in schemas)
        warnings = [
            f"unrecognized format {quoted(name)}"
            for kind, name in formats
            if name and not is_known(kind, name)
        ]
        if any(schema.get("x-kubernetes-validations") for schema in schemas):
            warnings.append(_NO_RULES)
        if (document["spec"].get("conversion") or {}).get("strategy") == "Webhook":
            warnings.append(_NO_WEBHOOKS)
        return list(dict.fromkeys(warnings))


def _remember_storage_version(document: Document) -> None:
    status = document["status"]
    storage = next((each["name"] for each in versions_of(document["spec"]) if each["storage"]), None)
    stored = status.get("storedVersions") or []
    if storage is not None and storage not in stored:
        # The status may be that of the stored definition, which must stay as it is.
        document["status"] = {**status, "storedVersions": [*stored, storage]}
