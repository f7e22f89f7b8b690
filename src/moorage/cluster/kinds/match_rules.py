"""What is checked of the rules by which webhooks and policies choose requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from moorage.cluster.base.errors import (
    Cause,
    duplicate_value,
    invalid_value,
    required,
    too_many,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.schema.checking import check, check_form

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")
_MOST_CONDITIONS = 64


def choice(value: str | None, path: str, known: Sequence[str]) -> Iterator[Cause]:
    """Something that is given has to be one of what is known."""
    if value is not None and value not in known:
        yield unsupported_value(path, value, known)


def rule_problems(rule: Document, path: str) -> Iterator[Cause]:
    operations = rule.get("operations") or []
    if not operations:
        yield required(f"{path}.operations")
    if len(operations) > 1 and "*" in operations:
        why = "if '*' is present, must not specify other operations"
        yield invalid_value(f"{path}.operations", operations, why)
    for place, operation in enumerate(operations):
        yield from choice(operation, f"{path}.operations[{place}]", _OPERATIONS)
    for name, what in (("apiGroups", "groups"), ("apiVersions", "versions")):
        given = rule.get(name) or []
        if not given:
            yield required(f"{path}.{name}")
        if len(given) > 1 and "*" in given:
            why = f"if '*' is present, must not specify other API {what}"
            yield invalid_value(f"{path}.{name}", given, why)
    for place, version in enumerate(rule.get("apiVersions") or ()):
        if not version:
            yield required(f"{path}.apiVersions[{place}]")
    yield from _resource_problems(rule.get("resources") or [], f"{path}.resources")
    yield from choice(rule.get("scope"), f"{path}.scope", _SCOPES)


def _resource_problems(resources: list[str], path: str) -> Iterator[Cause]:
    if not resources:
        yield required(path)
    all_parts, all_resources = set(), set()
    has_plain = False
    for place, name in enumerate(resources):
        where = f"{path}[{place}]"
        if not name:
            yield required(where)
            continue
        resource, slash, part = name.partition("/")
        if not slash:
            has_plain = name != "*"
            continue
        if resource in all_parts:
            yield invalid_value(where, name, f"if '{resource}/*' is present, must not specify {name}")
        if part in all_resources:
            yield invalid_value(where, name, f"if '*/{part}' is present, must not specify {name}")
        if part == "*":
            all_parts.add(resource)
        if resource == "*":
            all_resources.add(part)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid_value(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and has_plain:
        why = "if '*' is present, must not specify other resources without subresources"
        yield invalid_value(path, resources, why)


def selector_problems(holder: Document, name: str, path: str) -> list[Cause]:
    return check("meta.v1.LabelSelector", holder.get(name), f"{path}.{name}")


def condition_problems(conditions: list[Document], path: str, *, has_params: bool) -> Iterator[Cause]:
    if not conditions:
        return
    from moorage.cluster.kinds.admission_expressions import (
        CONDITION,
        compiled,
    )  # expressions take long to load

    if len(conditions) > _MOST_CONDITIONS:
        yield too_many(path, len(conditions), _MOST_CONDITIONS)
    names: set[str] = set()
    for place, condition in enumerate(conditions):
        where, name = f"{path}[{place}]", condition.get("name", "")
        expression = condition.get("expression", "").strip()
        if not expression:
            yield required(f"{where}.expression")
        elif problem := compiled(expression, CONDITION, has_params=has_params).error:
            yield invalid_value(f"{where}.expression", expression, problem)
        if not name:
            yield required(f"{where}.name")
            continue
        yield from check_form("qualified-name", name, f"{where}.name")
        if name in names:
            yield duplicate_value(f"{where}.name", name)
        names.add(name)
