"""Selectors as authors of plugins have them: a text, a mapping as in a manifest, or part of an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from moorage.api.selector_text import SelectorSyntaxError, parse_selector_text
from moorage.api.selectors import (
    LabelSelector,
    NodeSelector,
    NodeSelectorTerm,
    Selector,
    SelectorError,
    parse_selector,
)

T = TypeVar("T", bound=msgspec.Struct)


def parse_label_selector(selector: LabelSelector | Mapping[str, Any] | str | None) -> Selector:
    """The usable form of a label selector: it has `matches(labels)`. Parse it once, not for every pod.

        web = parse_label_selector("app=web,tier in (front, back),!old")
        web.matches(pod.labels)
        parse_label_selector({"matchLabels": {"app": "web"}})

    As in the API, an empty selector (`""` or `{}`) matches everything and `None` matches nothing. Raises
    SelectorError, a ValueError, for one that cannot be used.
    """
    if isinstance(selector, str):
        try:
            return parse_selector_text(selector)
        except SelectorSyntaxError as error:
            raise SelectorError(f"selector {selector!r}: {error}") from None
    if isinstance(selector, Mapping):
        selector = _read(selector, LabelSelector, "label selector")
    if selector is not None and not isinstance(selector, LabelSelector):
        raise SelectorError(
            "a label selector is a text such as app=web, a mapping or a LabelSelector, "
            f"not {type(selector).__name__}"
        )
    return parse_selector(selector)


def parse_node_selector(selector: NodeSelector | NodeSelectorTerm | Mapping[str, Any]) -> NodeSelector:
    """The usable form of a node selector or of one of its terms: it has `matches(labels, node_name)`.

        fast = parse_node_selector(
            {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd", "nvme"]}]}
        )
        fast.matches(node.labels, node.name)

    A mapping is a term (`matchExpressions`, `matchFields`), or has `nodeSelectorTerms`, of which one must
    match. A term without requirements matches no node. Raises SelectorError, a ValueError, for one that
    cannot be used.
    """
    if isinstance(selector, Mapping):
        if "nodeSelectorTerms" in selector:
            selector = _read(selector, NodeSelector, "node selector")
        else:
            selector = _read(selector, NodeSelectorTerm, "node selector term")
    if isinstance(selector, NodeSelectorTerm):
        selector = NodeSelector((selector,))
    if not isinstance(selector, NodeSelector):
        raise SelectorError(
            "a node selector is a mapping, a NodeSelector or a NodeSelectorTerm, "
            f"not {type(selector).__name__}"
        )
    for term in selector.node_selector_terms:
        problem = term.problem()
        if problem is not None:
            raise SelectorError(problem)
    return selector


def _read(given: Mapping[str, Any], kind: type[T], what: str) -> T:
    fields = [field.encode_name for field in msgspec.structs.fields(kind)]
    for name in given:
        if name not in fields:
            raise SelectorError(f"{name!r} is no field of a {what}: it has {' and '.join(fields)}")
    try:
        return msgspec.convert(dict(given), kind)
    except msgspec.ValidationError as error:
        raise SelectorError(f"a {what} cannot be read: {error}") from None
