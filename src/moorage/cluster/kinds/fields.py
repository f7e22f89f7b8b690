"""Rules that fields of several kinds have in common, as iterators of what is broken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from moorage.api import quantities
from moorage.api.names import is_qualified_name, label_value_problems, qualified_name_problems
from moorage.api.resources import COUNTED, is_extended
from moorage.cluster.base.errors import Cause, forbidden_value, invalid_value, required, too_long
from moorage.cluster.base.store import Document
from moorage.cluster.kinds.rules import (
    IMMUTABLE,
    NEGATIVE,
    Found,
    check_label_selector,
    check_labels,
)
from moorage.cluster.schema.forms import (
    config_key_problems,
    dns_label_problems,
    dns_subdomain_problems,
    percent_problems,
    port_name_problems,
    port_number_problems,
    size,
)

NOT_INTEGER = "must be an integer"
PROTOCOLS = ("SCTP", "TCP", "UDP")

_MOST = quantities.MAX_INT64 * quantities.NANOS


def broken(field: str, value: Any, problems: Iterable[str]) -> Iterator[Cause]:
    """One broken rule per complaint about a value."""
    for problem in problems:
        yield invalid_value(field, value, problem)


# Names


def dns_label(field: str, value: str) -> Iterator[Cause]:
    return broken(field, value, dns_label_problems(value))


def dns_subdomain(field: str, value: str) -> Iterator[Cause]:
    return broken(field, value, dns_subdomain_problems(value))


def qualified_name(field: str, value: str) -> Iterator[Cause]:
    return iter(()) if is_qualified_name(value) else broken(field, value, qualified_name_problems(value))


def driver_name(field: str, name: str) -> Iterator[Cause]:
    """The name of a CSI driver."""
    if not name:
        yield required(field)
        return
    if size(name) > 63:
        yield too_long(field, 63)
    yield from broken(field, name, dns_subdomain_problems(name.lower()))


def config_key(field: str, value: str) -> Iterator[Cause]:
    """The name of a file in a ConfigMap or Secret."""
    return broken(field, value, config_key_problems(value))


# Labels and selectors


def labels(field: str, labels: Mapping[str, str]) -> Iterator[Cause]:
    found: Found = []
    check_labels(labels, field, found)
    return iter(found)


def label_selector(field: str, selector: Document | None) -> Iterator[Cause]:
    found: Found = []
    check_label_selector(selector, field, found)
    return iter(found)


def node_selector(field: str, selector: Document) -> Iterator[Cause]:
    terms = selector.get("nodeSelectorTerms") or ()
    if not terms:
        yield required(f"{field}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        place = f"{field}.nodeSelectorTerms[{index}]"
        for number, requirement in enumerate(term.get("matchExpressions") or ()):
            yield from _label_requirement(f"{place}.matchExpressions[{number}]", requirement)
        for number, requirement in enumerate(term.get("matchFields") or ()):
            yield from _field_requirement(f"{place}.matchFields[{number}]", requirement)


def _label_requirement(field: str, requirement: Document) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield required(f"{field}.values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden_value(f"{field}.values", text)
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            yield required(f"{field}.values", text)
    else:
        yield invalid_value(f"{field}.operator", operator, "not a valid selector operator")
    yield from qualified_name(f"{field}.key", requirement.get("key", ""))
    for index, value in enumerate(values):
        yield from broken(f"{field}.values[{index}]", value, label_value_problems(value))


def _field_requirement(field: str, requirement: Document) -> Iterator[Cause]:
    operator, values = requirement.get("operator", ""), requirement.get("values") or ()
    if operator not in ("In", "NotIn"):
        yield invalid_value(f"{field}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{field}.values", text)
    key = requirement.get("key", "")
    if key != "metadata.name":
        yield invalid_value(f"{field}.key", key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from dns_subdomain(f"{field}.values[{index}]", value)


# Numbers


def nanos(quantity: Any) -> int:
    """A quantity that has passed the schema as a number of nanos, within what 64 bits hold in whole units."""
    try:
        amount = quantities.parse(quantity)
    except quantities.QuantityError:
        return 0
    return max(-_MOST, min(amount, _MOST))


def not_negative(field: str, value: int) -> Iterator[Cause]:
    if value < 0:
        yield invalid_value(field, value, NEGATIVE)


def not_negative_quantity(field: str, quantity: str) -> Iterator[Cause]:
    if nanos(quantity) < 0:
        yield invalid_value(field, quantity, NEGATIVE)


def resource_quantity(field: str, resource: str, quantity: str) -> Iterator[Cause]:
    """An amount of a resource: not negative, and whole where the resource is counted."""
    yield from not_negative_quantity(field, quantity)
    counted = resource in COUNTED or is_extended(resource)
    if counted and quantities.milli(nanos(quantity)) % 1000:
        yield invalid_value(field, quantity, NOT_INTEGER)


def int_or_percent(field: str, value: int | str) -> Iterator[Cause]:
    """Not negative, and not more than all."""
    if isinstance(value, int):
        yield from not_negative(field, value)
    elif problems := percent_problems(value):
        yield from broken(field, value, problems)
    elif int(value[:-1][:1000]) > 100:
        yield invalid_value(field, value, "must not be greater than 100%")


# Ports


def port_number(field: str, value: int) -> Iterator[Cause]:
    return broken(field, value, port_number_problems(value))


def port_number_or_name(field: str, value: int | str) -> Iterator[Cause]:
    problems = port_number_problems(value) if isinstance(value, int) else port_name_problems(value)
    return broken(field, value, problems)


# Changes


def immutable(field: str, new: Any, old: Any) -> Iterator[Cause]:
    if new != old:
        yield invalid_value(field, new, IMMUTABLE)
