"""What is wrong with a review of someone's access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from moorage.api.names import label_value_problems, qualified_name_problems
from moorage.api.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN
from moorage.cluster.base.errors import Cause, Refusal, forbidden_value, invalid_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.schema.selecting import field_selector, label_selector

_RESOURCE = "spec.resourceAttributes"


def broken_rules(document: Document, *, of_others: bool, local: bool) -> Iterator[Cause]:
    """The rules that a review of one's own access, or of the access of others, breaks."""
    spec = document.get("spec") or {}
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        yield invalid_value("spec.nonResourceAttributes", _shown(other), why)
    if resource is None and other is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid_value(_RESOURCE, None, why)
    if of_others and not spec.get("user") and not spec.get("groups"):
        yield invalid_value("spec.user", "", "at least one of user or group must be specified")
    if resource is not None:
        yield from _broken_by_selector(resource.get("fieldSelector"), "fieldSelector")
        yield from _broken_by_selector(resource.get("labelSelector"), "labelSelector")
    yield from _broken_by_metadata(document.get("metadata") or {}, local)
    if not local:
        return
    namespace = (document.get("metadata") or {}).get("namespace", "")
    if resource is not None and resource.get("namespace", "") != namespace:
        given = resource.get("namespace", "")
        yield invalid_value(f"{_RESOURCE}.namespace", given, "must match metadata.namespace")
    if other is not None:
        yield invalid_value("spec.nonResourceAttributes", _shown(other), "disallowed on this kind of request")


def evaluation_error(resource: Document) -> str:
    """Which selectors did not count, or not all of them, because they cannot be understood."""
    problems = []
    for name in ("fieldSelector", "labelSelector"):
        ignored = _ignored(name, resource.get(name) or {})
        if ignored:
            problems.append(f"{_RESOURCE}.{name} {ignored} due to parse error")
    return "; ".join(problems)


def _broken_by_metadata(metadata: Document, local: bool) -> Iterator[Cause]:
    known = ("namespace", "managedFields")
    if any(value for field, value in metadata.items() if field not in known):
        yield invalid_value(
            "metadata", metadata, "must be empty except for namespace" if local else "must be empty"
        )


def _broken_by_selector(selector: Document | None, name: str) -> Iterator[Cause]:
    if selector is None:
        return
    field = f"{_RESOURCE}.{name}"
    raw, requirements = selector.get("rawSelector"), selector.get("requirements") or ()
    if raw and requirements:
        yield invalid_value(f"{field}.rawSelector", raw, "may not specified at the same time as requirements")
    if not raw and not requirements:
        why = f"when {field} is specified, requirements or rawSelector is required"
        yield required(f"{field}.requirements", why)
    for index, requirement in enumerate(requirements):
        place = f"{field}.requirements[{index}]"
        key, values = requirement.get("key", ""), requirement.get("values") or ()
        if name == "fieldSelector" and not key:
            yield required(f"{place}.key", "must be specified")
        operator = requirement.get("operator")
        if operator in (IN, NOT_IN) and not values:
            yield required(f"{place}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        if operator in (EXISTS, DOES_NOT_EXIST) and values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden_value(f"{place}.values", why)
        if name == "labelSelector":
            for problem in qualified_name_problems(key):
                yield invalid_value(f"{place}.key", key, problem)
            for position, value in enumerate(values):
                for problem in label_value_problems(value):
                    yield invalid_value(f"{place}.values[{position}]", value, problem)


def _ignored(name: str, selector: Document) -> str:
    """How much of a selector that breaks no rules is not understood; empty if all is."""
    if selector.get("rawSelector"):
        try:
            (field_selector if name == "fieldSelector" else label_selector)(selector["rawSelector"])
        except Refusal:
            return "ignored"
        return ""
    requirements = selector.get("requirements") or ()
    understood = sum(_is_understood(name, requirement) for requirement in requirements)
    if understood == len(requirements):
        return ""
    return "partially ignored" if understood else "ignored"


def _is_understood(name: str, requirement: Document) -> bool:
    operator = requirement.get("operator")
    if name == "fieldSelector":
        return operator in (IN, NOT_IN) and len(requirement.get("values") or ()) == 1
    return operator in (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)


def _shown(attributes: Document) -> dict[str, Any]:
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}
