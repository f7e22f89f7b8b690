"""How custom objects are completed, checked and kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from moorage.api.names import qualified_name_problems
from moorage.cluster.base import parts
from moorage.cluster.base.errors import Cause, bad_request, forbidden, invalid_value
from moorage.cluster.base.go_text import quoted, shown, type_name
from moorage.cluster.base.store import Document
from moorage.cluster.custom import values
from moorage.cluster.custom.conversion import Conversions
from moorage.cluster.custom.structural import declared_schema, has_rules, open_api_of, shapes_in, versions_of
from moorage.cluster.custom.validation import duplicates, validate
from moorage.cluster.kinds.metadata import name_rule_of, validate_metadata, validate_metadata_update
from moorage.cluster.schema.conform import Conformed
from moorage.cluster.schema.definitions import Strategy, keep_status, version_order
from moorage.cluster.schema.model import ABSENT, MAP, SET

if TYPE_CHECKING:
    from moorage.cluster.custom.rules.tree import RuleNode

_MOST_REPLICAS = 2**31 - 1
_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")
_SCALE_PATHS = ("specReplicasPath", "statusReplicasPath", "labelSelectorPath")
_AGE_COLUMN: Document = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_BLOCKING = frozenset(
    f"FieldValue{name}" for name in ("NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid")
)
"""What an object must not have wrong for expressions to make sense of it."""
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to "
    "complete validation"
)


class ScalePaths(NamedTuple):
    """Where an object says how many it wants and has, and by which labels they are found."""

    spec_replicas: str
    status_replicas: str
    label_selector: str


class StoredForm:
    """Every object is kept in the version that was the stored one when it was written.

    By the schema of that version it is completed when it is read, and loses what is unknown: what is read is
    as the present definition says, even if it was written under an earlier one.
    """

    def __init__(self, definition: Document, conversions: Conversions | None = None) -> None:
        spec = definition["spec"]
        self._webhook = webhook_of(spec)
        self._conversions = conversions
        versions = {f"{spec['group']}/{version['name']}": version for version in versions_of(spec)}
        self._schemas = {
            name: declared_schema(open_api_of(version) or {}) for name, version in versions.items()
        }
        self._present = next((name for name, version in versions.items() if version["storage"]), "")

    def written(self, document: Document) -> Document:
        """A document of any version as it is kept from now on."""
        webhook, conversions = self._webhook, self._conversions
        if webhook is None or conversions is None or document["apiVersion"] == self._present:
            return self.read({**document, "apiVersion": self._present})
        return self.read(conversions.convert(webhook, [document], self._present)[0])

    def read(self, document: Document) -> Document:
        schema = self._schemas.get(document["apiVersion"])
        if schema is None:
            return document
        known, _ = values.prune(schema, document)
        values.default(schema, known)
        known["metadata"] = document["metadata"]
        return known


class CustomStrategy(Strategy):
    """The rules of one version of a custom resource."""

    counts_generations = True
    updates_name_version = True
    qualified_finalizers = False

    def __init__(
        self, definition: Document, version: Document, conversions: Conversions | None = None
    ) -> None:
        spec = definition["spec"]
        self._api_version = f"{spec['group']}/{version['name']}"
        self._webhook = webhook_of(spec)
        self._conversions = conversions
        self._resource = f"{spec['names']['plural']}.{spec['group']}"
        self._kind = spec["names"]["kind"]
        self._version = version["name"]
        self._terminating = "deletionTimestamp" in definition["metadata"]
        self._stored_form = None if version["storage"] else StoredForm(definition, conversions)
        self._open_api = open_api_of(version) or {}
        self._schema = declared_schema(self._open_api)
        self._has_rules = has_rules(self._open_api)
        self._namespaced = spec.get("scope") == "Namespaced"
        self._has_embedded = any(shape.embedded for shape in shapes_in(self._schema))
        self._has_unique_lists = any(shape.list_type in (SET, MAP) for shape in shapes_in(self._schema))
        subresources = version.get("subresources") or {}
        self.has_status = subresources.get("status") is not None
        scale = subresources.get("scale")
        paths = ((scale or {}).get(name) or "" for name in _SCALE_PATHS)
        self.scale_paths = None if scale is None else ScalePaths(*paths)
        self.printer_columns: list[Document] = version.get("additionalPrinterColumns") or [_AGE_COLUMN]
        self._selectable = [each["jsonPath"].lstrip(".") for each in version.get("selectableFields") or ()]
        self.deprecation = _deprecation(spec, version)

    @property
    def is_converted(self) -> bool:
        """Whether versions differ in more than their name."""
        return self._webhook is not None

    def in_this_version(self, documents: Sequence[Document]) -> list[Document]:
        """Documents of any versions in this one. Raises Unanswered if a webhook is to be asked about them."""
        if self._webhook is None or self._conversions is None:
            return [{**document, "apiVersion": self._api_version} for document in documents]
        converted = self._conversions.convert(self._webhook, documents, self._api_version)
        for document, original in zip(converted, documents, strict=True):
            if document is not original:
                values.default(self._schema, document)
        return converted

    def conform(self, document: Document) -> Conformed:
        """The document without what its schema does not know. Wrong types in it are for `validate`."""
        inside: list[str] = []
        try:
            metadata = values.read_metadata(document.get("metadata"))
            pruned, unknown = values.prune(self._schema, document)
            pruned["metadata"] = metadata.document
            if self._has_embedded:
                values.read_embedded(self._schema, pruned, "", inside)
        except (values.WrongMetadata, RecursionError) as error:
            why = str(error) if isinstance(error, values.WrongMetadata) else "json: exceeded max depth"
            what = f'{self._kind} in version "{self._version}" cannot be handled as a {self._kind}'
            raise bad_request(f"{what}: {why}") from None
        of_metadata = [f"metadata.{name}" for name in metadata.unknown]
        return Conformed(pruned, [*of_metadata, *unknown, *sorted(inside)])

    def default(self, document: Document) -> None:
        values.default(self._schema, document)

    def prepare_create(self, document: Document) -> None:
        if self._terminating:
            why = "create not allowed while custom resource definition is terminating"
            raise forbidden(self._resource, document["metadata"].get("name", ""), why)
        if self.has_status:
            document.pop("status", None)

    def prepare_update(self, new: Document, old: Document) -> None:
        if self.has_status:
            keep_status(new, old)
        elif new.get("status") != old.get("status"):
            # Where it has no address of its own, the status is an ordinary field.
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, document: Document) -> Iterable[Cause]:
        """The rules a new object breaks; those of a changed one are all for `validate_update`."""
        if "resourceVersion" in document["metadata"]:
            return ()
        found = [*self._schema_problems(document, None)]
        if self._has_rules:
            name_rule, namespaced = name_rule_of(self._resource), self._namespaced
            of_metadata = validate_metadata(document, namespaced=namespaced, name_rule=name_rule)
            found += self._rule_problems(document, None, [*of_metadata, *found], [])
        return found

    def validate_update(self, new: Document, old: Document) -> Iterable[Cause]:
        """All the rules; what breaks them already, and is not changed, may go on doing so."""
        return self.validate_change(new, old, "", [])

    def validate_status_update(self, new: Document, old: Document) -> Iterable[Cause]:
        return self.validate_change(new, old, "status", [])

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        found = [*(self._status_problems if subresource == "status" else self._schema_problems)(new, old)]
        if self._has_rules:
            of_metadata = validate_metadata_update(new, old, qualified_finalizers=False)
            found += self._rule_problems(new, old, [*of_metadata, *found], warnings)
        return found

    def _status_problems(self, new: Document, old: Document) -> Iterator[Cause]:
        field = self._schema.fields.get("status")
        if "status" in new and field is not None:
            before = old.get("status", ABSENT)
            yield from validate(field.schema, new["status"], field="status", old=before)
        yield from self._scale_status_problems(new)
        yield from self._new_duplicates(new, old)

    def _rule_problems(
        self, new: Document, old: Document | None, before: Iterable[Cause], warnings: list[str]
    ) -> Iterable[Cause]:
        """What breaks rules of the definition that are expressions, unless it is wrong in other ways.

        `before` are the problems that are known already.
        """
        if any(cause.reason in _BLOCKING for cause in before):
            return [invalid_value("<nil>", None, _NOT_CHECKED)]
        from moorage.cluster.custom.rules.object_rules import ObjectRules

        rules = ObjectRules()
        if self._rule_tree is not None:
            rules.check(self._rule_tree, new, old, tolerates=old is not None)
        warnings += map(str, rules.tolerated)
        return rules.causes

    @cached_property
    def _rule_tree(self) -> RuleNode | None:
        from moorage.cluster.custom.rules.tree import rule_tree

        return rule_tree(self._open_api, self._schema)

    def _schema_problems(self, new: Document, old: Document | None) -> Iterator[Cause]:
        yield from validate(self._schema, new, old=ABSENT if old is None else old)
        if self.scale_paths:
            yield from _replicas_problems(new, self.scale_paths.spec_replicas)
        yield from self._scale_status_problems(new)
        if self._has_embedded:
            yield from values.validate_embedded(self._schema, new)
        yield from self._new_duplicates(new, old)

    def _scale_status_problems(self, document: Document) -> Iterator[Cause]:
        if self.scale_paths:
            _, status_replicas, selector = self.scale_paths
            yield from _replicas_problems(document, status_replicas)
            if selector and (problem := _nested(document, selector, str)[1]):
                yield invalid_value(selector, "", problem)

    def _new_duplicates(self, new: Document, old: Document | None) -> Iterator[Cause]:
        found = list(duplicates(self._schema, new)) if self._has_unique_lists else []
        if found and (old is None or not any(duplicates(self._schema, old))):
            yield from found

    def stored(self, document: Document) -> Document:
        return document if self._stored_form is None else self._stored_form.written(document)

    def selectable_fields(self, document: Document) -> dict[str, str]:
        found = {path: parts.value(document, *path.split(".")) for path in self._selectable}
        return {path: "" if value is None else shown(value) for path, value in found.items()}

    def warnings(self, document: Document) -> list[str]:
        finalizers = sorted(document["metadata"].get("finalizers", ()))
        return [warning for finalizer in finalizers for warning in _finalizer_warnings(finalizer)]


def webhook_of(spec: Document) -> Document | None:
    """What converts objects between versions, where more than the name of the version differs."""
    conversion = spec.get("conversion") or {}
    return (conversion.get("webhook") or {}) if conversion.get("strategy") == "Webhook" else None


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
        return None, _not_what(value, names, type_name(wanted()))
    return value, ""


def _not_what(value: Any, names: list[str], wanted: str) -> str:
    way = "." + ".".join(names)
    kind = "<nil>" if value is None else type_name(value)
    return f"{way} accessor error: {shown(value)} is of the type {kind}, expected {wanted}"


def _replicas_problems(document: Document, path: str) -> Iterator[Cause]:
    replicas, problem = _nested(document, path, int)
    if problem:
        yield invalid_value(path, 0, problem)
    elif replicas is not None and replicas < 0:
        yield invalid_value(path, replicas, "should be a non-negative integer")
    elif replicas is not None and replicas > _MOST_REPLICAS:
        yield invalid_value(path, replicas, f"should be less than or equal to {_MOST_REPLICAS}")


def _finalizer_warnings(finalizer: str) -> Iterator[str]:
    for problem in qualified_name_problems(finalizer):
        yield f"metadata.finalizers: {quoted(finalizer)}: {problem}"
    if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
        including = " including a path (/)" if "." in finalizer else ""
        yield (
            f"metadata.finalizers: {quoted(finalizer)}: prefer a domain-qualified finalizer name{including} "
            "to avoid accidental conflicts with other finalizer writers"
        )
