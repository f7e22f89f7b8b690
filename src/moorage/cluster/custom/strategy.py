"""How custom objects are completed and checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from moorage.api.names import qualified_name_problems
from moorage.cluster.base.errors import Cause, bad_request, forbidden
from moorage.cluster.base.go_text import shown, type_name
from moorage.cluster.base.quoting import quoted
from moorage.cluster.base.store import Document
from moorage.cluster.custom.definition_rules import versions_of
from moorage.cluster.custom.metadata import (
    WrongMetadata,
    has_embedded,
    read_embedded,
    read_metadata,
    validate_embedded,
)
from moorage.cluster.custom.stored_form import StoredForm, open_api_of
from moorage.cluster.custom.structural import declared_schema
from moorage.cluster.custom.uniqueness import duplicates, has_unique_lists
from moorage.cluster.custom.validation import validate
from moorage.cluster.custom.values import default, prune
from moorage.cluster.custom.wording import invalid
from moorage.cluster.schema.conform import Conformed
from moorage.cluster.schema.definitions import Strategy, keep_but, keep_status, version_order
from moorage.cluster.schema.model import ABSENT

_MOST_REPLICAS = 2**31 - 1
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")
_GO_TYPES: dict[type, str] = {str: "string", int: "int64"}
_AGE_COLUMN: Document = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}


class ScalePaths(NamedTuple):
    """Where an object says how many it wants and has, and by which labels they are found."""

    spec_replicas: str
    status_replicas: str
    label_selector: str


class CustomStrategy(Strategy):
    """The rules of one version of a custom resource."""

    counts_generations = True
    updates_name_version = True
    qualified_finalizers = False

    def __init__(self, definition: Document, version: Document) -> None:
        spec = definition["spec"]
        self._resource = f"{spec['names']['plural']}.{spec['group']}"
        self._kind = spec["names"]["kind"]
        self._version = version["name"]
        self._terminating = "deletionTimestamp" in definition["metadata"]
        self._stored_form = None if version["storage"] else StoredForm(definition)
        self._schema = declared_schema(open_api_of(version))
        self._has_embedded = has_embedded(self._schema)
        self._has_unique_lists = has_unique_lists(self._schema)
        subresources = version.get("subresources") or {}
        self.has_status = subresources.get("status") is not None
        self.scale_paths = _scale_paths(subresources.get("scale"))
        self.printer_columns: list[Document] = version.get("additionalPrinterColumns") or [_AGE_COLUMN]
        self._selectable = [each["jsonPath"].lstrip(".") for each in version.get("selectableFields") or ()]
        self.deprecation = _deprecation(spec, version)

    def conform(self, document: Document) -> Conformed:
        """The document without what its schema does not know. Wrong types in it are for `validate`."""
        unknown: list[str] = []
        try:
            metadata = read_metadata(document.get("metadata"))
            pruned, unknown = prune(self._schema, document)
            pruned["metadata"] = metadata.document
            inside: list[str] = []
            if self._has_embedded:
                read_embedded(self._schema, pruned, "", inside)
        except WrongMetadata as error:
            raise self._unreadable(str(error)) from None
        except RecursionError:
            raise self._unreadable("json: exceeded max depth") from None
        of_metadata = [f"metadata.{name}" for name in metadata.unknown]
        return Conformed(pruned, [*of_metadata, *unknown, *sorted(inside)])

    def _unreadable(self, why: str) -> Exception:
        named = f'{self._kind} in version "{self._version}" cannot be handled as a {self._kind}'
        return bad_request(f"{named}: {why}")

    def default(self, document: Document) -> None:
        default(self._schema, document)

    def prepare_create(self, document: Document) -> None:
        if self._terminating:
            name = document["metadata"].get("name", "")
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(self._resource, name, why)
        if self.has_status:
            document.pop("status", None)

    def prepare_update(self, new: Document, old: Document) -> None:
        if self.has_status:
            keep_status(new, old)
        elif new.get("status") != old.get("status"):
            # Where it has no address of its own, the status is an ordinary field.
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")

    def validate(self, document: Document) -> Iterable[Cause]:
        """The rules a new object breaks; those of a changed one are all for `validate_update`."""
        if "resourceVersion" in document["metadata"]:
            return
        yield from validate(self._schema, document)
        yield from self._validate_scale(document)
        yield from self._validate_embedded(document)
        yield from self._duplicates(document)

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        """All the rules; what breaks them already, and is not changed, may go on doing so."""
        yield from validate(self._schema, new, old=old)
        yield from self._validate_scale(new)
        yield from self._validate_embedded(new)
        yield from self._new_duplicates(new, old)

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        field = self._schema.fields.get("status")
        if "status" in new and field is not None:
            before = old.get("status", ABSENT)
            yield from validate(field.schema, new["status"], field="status", old=before)
        if self.scale_paths is not None:
            yield from self._validate_scale_status(new, self.scale_paths)
        yield from self._new_duplicates(new, old)

    def _new_duplicates(self, new: Document, old: Document) -> Iterator[Cause]:
        found = list(self._duplicates(new))
        if found and not any(self._duplicates(old)):
            yield from found

    def _duplicates(self, document: Document) -> Iterable[Cause]:
        return duplicates(self._schema, document) if self._has_unique_lists else ()

    def _validate_embedded(self, document: Document) -> Iterator[Cause]:
        if self._has_embedded:
            yield from validate_embedded(self._schema, document)

    def _validate_scale(self, document: Document) -> Iterator[Cause]:
        if self.scale_paths is not None:
            yield from _validate_replicas(document, self.scale_paths.spec_replicas)
            yield from self._validate_scale_status(document, self.scale_paths)

    @staticmethod
    def _validate_scale_status(document: Document, paths: ScalePaths) -> Iterator[Cause]:
        yield from _validate_replicas(document, paths.status_replicas)
        if paths.label_selector:
            _, problem = _nested(document, paths.label_selector, str)
            if problem:
                yield invalid(paths.label_selector, "", problem)

    def stored(self, document: Document) -> Document:
        return document if self._stored_form is None else self._stored_form.written(document)

    def selectable_fields(self, document: Document) -> dict[str, str]:
        return {path: _selected(document, path) for path in self._selectable}

    def warnings(self, document: Document) -> list[str]:
        warnings: list[str] = []
        for finalizer in sorted(document["metadata"].get("finalizers", ())):
            warnings += _finalizer_warnings(finalizer)
        return warnings


def _scale_paths(scale: Document | None) -> ScalePaths | None:
    if scale is None:
        return None
    return ScalePaths(
        scale.get("specReplicasPath", ""),
        scale.get("statusReplicasPath", ""),
        scale.get("labelSelectorPath") or "",
    )


def _deprecation(spec: Document, version: Document) -> str:
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    told = f"{group}/{name} {kind} is deprecated"
    others = [each["name"] for each in versions_of(spec) if each["served"] and not each.get("deprecated")]
    best = min(others, key=version_order, default=name)
    return told if version_order(best) >= version_order(name) else f"{told}; use {group}/{best} {kind}"


def _nested(document: Document, path: str, wanted: type) -> tuple[Any, str]:
    """The value at a path, or what is wrong with it. Absent is fine."""
    names = path.removeprefix(".").split(".")
    value: Any = document
    for name in names:
        if not isinstance(value, dict):
            return None, _not_what(value, names, "map[string]interface{}")
        if name not in value:
            return None, ""
        value = value[name]
    if type(value) is not wanted:
        return None, _not_what(value, names, _GO_TYPES[wanted])
    return value, ""


def _not_what(value: Any, names: list[str], wanted: str) -> str:
    way = "." + ".".join(names)
    kind = "<nil>" if value is None else type_name(value)
    return f"{way} accessor error: {shown(value)} is of the type {kind}, expected {wanted}"


def _validate_replicas(document: Document, path: str) -> Iterator[Cause]:
    replicas, problem = _nested(document, path, int)
    if problem:
        yield invalid(path, 0, problem)
    elif replicas is not None and replicas < 0:
        yield invalid(path, replicas, "should be a non-negative integer")
    elif replicas is not None and replicas > _MOST_REPLICAS:
        yield invalid(path, replicas, f"should be less than or equal to {_MOST_REPLICAS}")


def _selected(document: Document, path: str) -> str:
    value: Any = document
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return "" if value is None else shown(value)


def _finalizer_warnings(finalizer: str) -> Iterator[str]:
    for problem in qualified_name_problems(finalizer):
        yield f"metadata.finalizers: {quoted(finalizer)}: {problem}"
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        including = " including a path (/)" if "." in finalizer else ""
        yield (
            f"metadata.finalizers: {quoted(finalizer)}: prefer a domain-qualified finalizer name{including} "
            "to avoid accidental conflicts with other finalizer writers"
        )
