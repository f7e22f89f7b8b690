"""Rules that fields of many kinds share. Each check adds the rules that are broken to a list."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from moorage.api.names import (
    is_label_value,
    is_qualified_name,
    label_value_problems,
    qualified_name_problems,
)
from moorage.cluster.base.errors import (
    Cause,
    forbidden_value,
    invalid_value,
    required,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.schema.forms import (
    dns_label_problems,
    dns_subdomain_problems,
)

Found = list[Cause]

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"


def check_form(value: str, path: str, rule: Callable[[str], list[str]], found: Found) -> None:
    for problem in rule(value):
        found.append(invalid_value(path, value, problem))


def check_dns_label(value: str, path: str, found: Found) -> None:
    check_form(value, path, dns_label_problems, found)


def check_dns_subdomain(value: str, path: str, found: Found) -> None:
    check_form(value, path, dns_subdomain_problems, found)


def check_qualified_name(value: str, path: str, found: Found) -> None:
    """For label keys and everything else that may have a domain in front."""
    if not is_qualified_name(value):
        check_form(value, path, qualified_name_problems, found)


def check_label_value(value: str, path: str, found: Found) -> None:
    if not is_label_value(value):
        check_form(value, path, label_value_problems, found)


def check_labels(labels: Mapping[str, str] | None, path: str, found: Found) -> None:
    if labels:
        for key, value in labels.items():
            check_qualified_name(key, path, found)
            check_label_value(value, path, found)


def check_nonnegative(value: int | None, path: str, found: Found) -> None:
    if value is not None and value < 0:
        found.append(invalid_value(path, value, NEGATIVE))


def check_choice(value: str, path: str, choices: Collection[str], found: Found) -> None:
    """One of `choices`, which are named in this order; empty means that it is missing."""
    if value in choices:
        return
    found.append(unsupported_value(path, value, choices) if value else required(path))


def check_no_backsteps(value: str, path: str, found: Found) -> None:
    if ".." in value.split("/"):
        found.append(invalid_value(path, value, "must not contain '..'"))


def check_descending_path(value: str, path: str, found: Found) -> None:
    """A path that stays below where it starts."""
    if value.startswith("/"):
        found.append(invalid_value(path, value, "must be a relative path"))
    check_no_backsteps(value, path, found)


# Label selectors


def check_label_selector(selector: Document | None, path: str, found: Found) -> None:
    if not selector:
        return
    check_labels(selector.get("matchLabels"), f"{path}.matchLabels", found)
    for index, requirement in enumerate(selector.get("matchExpressions", ())):
        place = f"{path}.matchExpressions[{index}]"
        values = requirement.get("values", ())
        operator = requirement.get("operator", "")
        if operator in ("In", "NotIn"):
            if not values:
                found.append(
                    required(f"{place}.values", "must be specified when `operator` is 'In' or 'NotIn'")
                )
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.append(forbidden_value(f"{place}.values", detail))
        else:
            found.append(invalid_value(f"{place}.operator", operator, "not a valid selector operator"))
        check_qualified_name(requirement.get("key", ""), f"{place}.key", found)
        for number, value in enumerate(values):
            check_label_value(value, f"{place}.values[{number}]", found)


def shown_selector(selector: Document | None) -> Document | None:
    """A selector with its fields in the order in which messages have them."""
    if selector is None:
        return None
    shown: Document = {}
    if selector.get("matchLabels"):
        shown["matchLabels"] = shown_map(selector["matchLabels"])
    if selector.get("matchExpressions"):
        shown["matchExpressions"] = [
            {name: requirement[name] for name in ("key", "operator", "values") if name in requirement}
            for requirement in selector["matchExpressions"]
        ]
    return shown


def shown_map(labels: Mapping[str, str] | None) -> dict[str, str] | None:
    """Labels as messages have them: by key, and null if there are none."""
    return dict(sorted(labels.items())) if labels else None
