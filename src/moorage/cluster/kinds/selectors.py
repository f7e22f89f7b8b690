"""What relates the fields of selectors of labels and nodes, wherever they stand, and what they select."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required
from moorage.cluster.base.store import Document
from moorage.cluster.schema.checking import Around, check_form, relates

_NO_OPERATOR = "not a valid selector operator"


@relates("meta.v1.LabelSelectorRequirement")
def _label_requirement(requirement: Document, path: str, around: Around) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden_value(f"{path}.values", text)
    else:
        yield invalid_value(f"{path}.operator", operator, _NO_OPERATOR)


@relates("core.v1.NodeSelectorTerm")
def _node_term(term: Document, path: str, around: Around) -> Iterator[Cause]:
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        yield from _node_labels(requirement, f"{path}.matchExpressions[{index}]", around)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        yield from _node_field(requirement, f"{path}.matchFields[{index}]")


def _node_labels(requirement: Document, path: str, around: Around) -> Iterator[Cause]:
    values = requirement.get("values") or ()
    if requirement.get("operator") not in ("Gt", "Lt"):
        yield from _label_requirement(requirement, path, around)
    elif len(values) != 1:
        yield required(f"{path}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
    yield from check_form("qualified-name", requirement.get("key", ""), f"{path}.key")
    if "core.v1.PreferredSchedulingTerm" in around:
        return  # whatever is only preferred may be impossible
    for index, value in enumerate(values):
        yield from check_form("label-value", value, f"{path}.values[{index}]")


def _node_field(requirement: Document, path: str) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield invalid_value(f"{path}.operator", operator, _NO_OPERATOR)
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{path}.values", text)
    key = requirement.get("key", "")
    if key != "metadata.name":
        yield invalid_value(f"{path}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from check_form("dns-subdomain", value, f"{path}.values[{index}]")


def is_empty_selector(selector: Document) -> bool:
    """Whether it selects everything."""
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def shown_labels(labels: Mapping[str, str] | None) -> dict[str, str] | None:
    """As messages show them: in the order of their keys, and null if there are none."""
    return dict(sorted(labels.items())) if labels else None


def shown_selector(selector: Document | None) -> Document | None:
    labels = selector.get("matchLabels") if selector else None
    return {**(selector or {}), "matchLabels": shown_labels(labels)} if labels else selector
