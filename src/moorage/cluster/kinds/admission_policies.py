"""Admission policies, whose rules are expressions, and their bindings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from moorage.api.names import dns_subdomain_problems
from moorage.cluster.base.errors import (
    Cause,
    duplicate_value,
    forbidden_value,
    invalid_value,
    required,
    unsupported_value,
)
from moorage.cluster.base.store import Document
from moorage.cluster.custom.rules.names import RESERVED
from moorage.cluster.kinds.admission_hooks import static_suffix_warnings
from moorage.cluster.kinds.common import KindStrategy, WithStatus, items_of, part
from moorage.cluster.kinds.match_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    choice,
    condition_problems,
    rule_problems,
    selector_problems,
)
from moorage.cluster.schema.checking import check, check_form
from moorage.cluster.schema.definitions import keep_but
from moorage.cluster.schema.forms import dns_1035_label_problems

if TYPE_CHECKING:
    from moorage.cluster.kinds.policy_expressions import Expressions

POLICIES = "validatingadmissionpolicies.admissionregistration.k8s.io"
BINDINGS = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_NOT_FOUND_ACTIONS = ("Deny", "Allow")
_MOST_ANNOTATIONS = 20
_LONGEST_ANNOTATION = 5 * 1024
_IDENTIFIER = re.compile("[_a-zA-Z][_a-zA-Z0-9]*")
_LINE_END = re.compile(r"[\n\r]")
_NOTHING_TO_DO = "validations or auditAnnotations must contain at least one item"
_EXCLUSIVE = "name and selector are mutually exclusive"


class PolicyStrategy(WithStatus):
    type_name = "admissionregistration.v1.ValidatingAdmissionPolicy"

    def prepare_status_update(self, new: Document, old: Document) -> None:
        keep_but(new, old, "status")

    def validate(self, document: Document) -> Iterator[Cause]:
        return _policy_problems(document, None)

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        if subresource:
            return check(
                "admissionregistration.v1.ValidatingAdmissionPolicyStatus", new.get("status"), "status"
            )
        return _policy_problems(new, old)

    def warnings(self, document: Document) -> list[str]:
        return static_suffix_warnings(document)


class BindingStrategy(KindStrategy):
    type_name = "admissionregistration.v1.ValidatingAdmissionPolicyBinding"

    def validate(self, document: Document) -> Iterator[Cause]:
        return _binding_problems(part(document, "spec"))

    def validate_change(
        self, new: Document, old: Document, subresource: str, warnings: list[str]
    ) -> Iterable[Cause]:
        return _binding_problems(part(new, "spec"))

    def warnings(self, document: Document) -> list[str]:
        return static_suffix_warnings(document)


def _policy_problems(document: Document, old: Document | None) -> Iterator[Cause]:
    from moorage.cluster.kinds.policy_expressions import Expressions  # they take long to load

    spec = part(document, "spec")
    expressions = Expressions(spec)
    policy = spec.get("failurePolicy")
    yield from (
        choice(policy, "spec.failurePolicy", FAILURE_POLICIES)
        if policy is not None
        else (required("spec.failurePolicy"),)
    )
    if expressions.has_params:
        yield from _param_kind_problems(spec["paramKind"], "spec.paramKind")
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield required("spec.matchConstraints")
    else:
        yield from _match_problems(constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
    before = {} if old is None else part(old, "spec")
    if old is None or any(before.get(name) != spec.get(name) for name in ("paramKind", "matchConditions")):
        conditions = spec.get("matchConditions") or []
        has_params = expressions.has_params
        yield from condition_problems(conditions, "spec.matchConditions", has_params=has_params)
    for variable, path in items_of(spec, "variables", "spec"):
        yield from _variable_problems(variable, expressions, path)
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        yield required("spec.validations", _NOTHING_TO_DO)
        yield required("spec.auditAnnotations", _NOTHING_TO_DO)
        return
    for place, (validation, path) in enumerate(items_of(spec, "validations", "spec")):
        yield from _validation_problems(validation, expressions, place, path)
    yield from _annotations_problems(spec, expressions, document["metadata"].get("name", ""))


def _param_kind_problems(kind: Document, path: str) -> Iterator[Cause]:
    text, name, where = kind.get("apiVersion", ""), kind.get("kind", ""), f"{path}.apiVersion"
    group, _, version = text.rpartition("/")
    if not text:
        yield required(where)
    elif text.count("/") > 1:
        yield invalid_value(where, text, f"unexpected GroupVersion string: {text}")
    else:
        if group and (problems := dns_subdomain_problems(group)):
            yield invalid_value(where, group, ",".join(problems))
        if not version:
            yield invalid_value(where, text, "version must be specified")
        elif problems := dns_1035_label_problems(version):
            yield invalid_value(where, version, ",".join(problems))
    if not name:
        yield required(f"{path}.kind")
    elif problems := dns_1035_label_problems(name.lower()):
        why = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield invalid_value(f"{path}.kind", name, why)


def _match_problems(match: Document, path: str) -> Iterator[Cause]:
    yield from choice(match.get("matchPolicy"), f"{path}.matchPolicy", MATCH_POLICIES)
    yield from selector_problems(match, "namespaceSelector", path)
    yield from selector_problems(match, "objectSelector", path)
    for name in ("resourceRules", "excludeResourceRules"):
        for rule, where in items_of(match, name, path):
            names: list[str] = rule.get("resourceNames") or []
            for place, each in enumerate(names):
                yield from check_form("path-segment", each, f"{where}.resourceNames[{place}]")
                if each in names[:place]:
                    yield duplicate_value(f"{where}.resourceNames[{place}]", each)
            yield from rule_problems(rule, where)


def _variable_problems(variable: Document, expressions: Expressions, path: str) -> Iterator[Cause]:
    name, expression = variable.get("name", ""), variable.get("expression", "")
    if not name.strip():
        yield required(f"{path}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or name in RESERVED:
        yield invalid_value(f"{path}.name", name, "must be a valid CEL identifier")
    if not expression.strip():
        yield required(f"{path}.expression", "expression is not specified")
    elif problem := expressions.variables[name].error:
        yield invalid_value(f"{path}.expression", expression, problem)


def _validation_problems(
    validation: Document, expressions: Expressions, place: int, path: str
) -> Iterator[Cause]:
    expression, message = validation.get("expression", ""), validation.get("message", "")
    computed = validation.get("messageExpression", "")
    if not expression.strip():
        yield required(f"{path}.expression", "expression is not specified")
    elif problem := expressions.validations[place].error:
        yield invalid_value(f"{path}.expression", expression, problem)
    program = expressions.messages[place]
    if computed and not computed.strip():
        yield invalid_value(f"{path}.messageExpression", computed, "must be non-empty if specified")
    elif program is not None and program.error:
        yield invalid_value(f"{path}.messageExpression", computed, program.error)
    if message and not message.strip():
        yield invalid_value(f"{path}.message", message, "must be non-empty if specified")
    elif _LINE_END.search(message.strip()):
        yield invalid_value(f"{path}.message", message, "must not contain line breaks")
    yield from choice(validation.get("reason"), f"{path}.reason", _REASONS)


def _annotations_problems(spec: Document, expressions: Expressions, policy: str) -> Iterator[Cause]:
    given: list[Document] = spec.get("auditAnnotations") or []
    if len(given) > _MOST_ANNOTATIONS:
        why = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield invalid_value("spec.auditAnnotations", given, why)
    for place, (annotation, path) in enumerate(items_of(spec, "auditAnnotations", "spec")):
        key, expression = annotation.get("key", ""), annotation.get("valueExpression", "")
        if policy:
            yield from check_form("qualified-name", f"{policy}/{key}", f"{path}.key")
        else:
            yield invalid_value(f"{path}.key", key, "requires metadata.name be non-empty")
        if not expression.strip():
            yield required(f"{path}.valueExpression", "valueExpression is not specified")
        elif len(expression.strip().encode()) > _LONGEST_ANNOTATION:
            yield required(
                f"{path}.valueExpression", f"must not exceed {_LONGEST_ANNOTATION} bytes in length"
            )
        elif problem := expressions.annotations[place].error:
            yield invalid_value(f"{path}.valueExpression", expression, problem)
        if key in [each.get("key", "") for each in given[:place]]:
            yield duplicate_value(f"{path}.key", key)


def _binding_problems(spec: Document) -> Iterator[Cause]:
    if not (policy := spec.get("policyName", "")):
        yield required("spec.policyName")
    for problem in dns_subdomain_problems(policy) if policy else ():
        yield invalid_value("spec.policyName", policy, problem)
    if spec.get("paramRef") is not None:
        yield from _param_ref_problems(spec["paramRef"], "spec.paramRef")
    yield from _match_problems(part(spec, "matchResources"), "spec.matchResources")
    yield from _action_problems(spec.get("validationActions") or [], "spec.validationActions")


def _param_ref_problems(reference: Document, path: str) -> Iterator[Cause]:
    name, selector = reference.get("name", ""), reference.get("selector")
    if name:
        yield from check_form("path-segment", name, f"{path}.name")
        if selector is not None:
            yield forbidden_value(f"{path}.name", _EXCLUSIVE)
    if selector is not None:
        yield from selector_problems(reference, "selector", path)
        if name:
            yield forbidden_value(f"{path}.selector", _EXCLUSIVE)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    if not (action := reference.get("parameterNotFoundAction")):
        yield required(f"{path}.parameterNotFoundAction")
    elif action not in _NOT_FOUND_ACTIONS:
        yield unsupported_value(f"{path}.parameterNotFoundAction", action, _NOT_FOUND_ACTIONS)


def _action_problems(actions: list[str], path: str) -> Iterator[Cause]:
    for place, action in enumerate(actions):
        yield from choice(action, f"{path}[{place}]", _ACTIONS)
        if action in actions[:place]:
            yield duplicate_value(f"{path}[{place}]", action)
    if {"Deny", "Warn"} <= set(actions):
        why = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the "
            "API response and headers serves no purpose)"
        )
        yield invalid_value(path, actions, why)
    if not actions:
        yield required(path, "at least one validation action is required")
