"""What a schema makes of a custom object: unknown fields go, defaults come."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.custom.structural import META_FIELDS
from moorage.cluster.schema.model import ABSENT, Field, Schema

_EXACT_FLOATS = float(2**53)


def prune(schema: Schema, document: Document) -> tuple[Document, list[str]]:
    """A copy without the fields the schema does not know, and where those were, in order.

    Nulls go too where a value may not be null and no default takes their place.
    """
    pruning = _Pruning()
    pruned = pruning.known_object(schema, document, "")
    return pruned, sorted(pruning.unknown)


def default(schema: Schema, document: Document) -> None:
    """Puts defaults where nothing is, or null where that is not allowed; in place."""
    _default(schema, document)


def plain_copy(value: Any) -> Any:
    """A deep copy in which whole numbers are integers, as they are when JSON is read back."""
    if type(value) is dict:
        return {name: plain_copy(part) for name, part in value.items()}
    if type(value) is list:
        return [plain_copy(part) for part in value]
    if type(value) is float and value.is_integer() and -_EXACT_FLOATS < value < _EXACT_FLOATS:
        return int(value)
    return value


class _Pruning:
    def __init__(self) -> None:
        self.unknown: list[str] = []

    def known(self, schema: Schema, value: Any, path: str) -> Any:
        if type(value) is dict:
            return self.known_object(schema, value, path)
        if type(value) is list:
            kept = self._kept_item if schema.keeps_unknown else self.known
            items = schema.items or _NOTHING
            return [kept(items, each, f"{path}[{place}]") for place, each in enumerate(value)]
        return plain_copy(value)

    def known_object(self, schema: Schema, found: Document, path: str, *, keeps: bool = False) -> Document:
        fields, values, whole = schema.fields, schema.values, schema.embedded
        keeps = keeps or schema.keeps_unknown
        prefix = f"{path}." if path else ""
        kept: Document = {}
        for name, value in found.items():
            if whole and name in META_FIELDS:
                kept[name] = plain_copy(value)
                continue
            field = fields.get(name)
            shape = field.schema if field is not None else values
            if shape is not None:
                if value is None and _goes(field, shape):
                    continue
                kept[name] = self.known(shape, value, prefix + name)
            elif keeps:
                kept[name] = plain_copy(value)
            elif path or name not in META_FIELDS:
                self.unknown.append(prefix + name)
        return kept

    def _kept_item(self, schema: Schema, value: Any, path: str) -> Any:
        """An item of a list that keeps what it does not know: the item does too, but not what is in it."""
        if type(value) is dict:
            return self.known_object(schema, value, path, keeps=True)
        if type(value) is list:
            items = schema.items or _NOTHING
            return [self._kept_item(items, each, f"{path}[{place}]") for place, each in enumerate(value)]
        return plain_copy(value)


_NOTHING = Schema()


def _goes(field: Field | None, shape: Schema) -> bool:
    """Whether a null is dropped: it may not be there, and nothing takes its place."""
    if shape.nullable:
        return False
    return field.default is ABSENT if field is not None else "default" not in shape.rules


def _default(schema: Schema, value: Any) -> None:
    if type(value) is dict:
        _default_fields(schema, value)
    elif type(value) is list and schema.items is not None:
        items = schema.items
        replaced = None if items.nullable else items.rules.get("default")
        for place, each in enumerate(value):
            if each is None and replaced is not None:
                value[place] = deepcopy(replaced)
            _default(items, value[place])


def _default_fields(schema: Schema, found: Document) -> None:
    fields, values = schema.fields, schema.values
    for name, field in fields.items():
        if field.default is not ABSENT and (
            name not in found or (found[name] is None and not field.schema.nullable)
        ):
            found[name] = deepcopy(field.default)
        if name in found:
            _default(field.schema, found[name])
    if values is None:
        return
    replaced = None if values.nullable else values.rules.get("default")
    for name, value in found.items():
        if name not in fields:
            if value is None and replaced is not None:
                found[name] = value = deepcopy(replaced)
            _default(values, value)
