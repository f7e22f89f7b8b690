"""Authorization checks: whether the one who makes a request, or a service account, may do something.

Who has an authorizer binds an `Authorizer` to a variable; without one, no call of these can be reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, ClassVar, NamedTuple

from moorage.api.names import dns_label_problems, dns_subdomain_problems
from moorage.cel import costs
from moorage.cel.costs import CREATE_LIST, CREATE_STRUCT, STRING_TRAVERSAL, actual_size
from moorage.cel.declarations import Argument, CallEstimate, Function, Library, Overload
from moorage.cel.types import BOOL, STRING, Type
from moorage.cel.values import EvaluationError

_AUTHORIZER, _PATH, _GROUP, _RESOURCE, _DECISION = (
    Type(f"kubernetes.authorization.{name}")
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
AUTHORIZER, RESOURCE_CHECK = _AUTHORIZER, _RESOURCE
_CHECK_COST = 350_000


class Right(NamedTuple):
    """Something that somebody may do, or may not: to a resource, or to a path."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str | None = None


Decide = Callable[[tuple[str, str] | None, Right], tuple[bool, str]]
"""Whether it is allowed and why: to a service account, by namespace and name, or to whoever asks."""


@dataclass(frozen=True)
class Authorizer:
    CEL_TYPE: ClassVar = _AUTHORIZER
    decide: Decide
    account: tuple[str, str] | None = None


@dataclass(frozen=True)
class _PathCheck:
    CEL_TYPE: ClassVar = _PATH
    authorizer: Authorizer
    path: str


@dataclass(frozen=True)
class _GroupCheck:
    CEL_TYPE: ClassVar = _GROUP
    authorizer: Authorizer
    group: str


@dataclass(frozen=True)
class ResourceCheck:
    CEL_TYPE: ClassVar = _RESOURCE
    authorizer: Authorizer
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""


@dataclass(frozen=True)
class _Decision:
    CEL_TYPE: ClassVar = _DECISION
    allowed: bool
    reason: str


def _path(authorizer: Authorizer, path: str) -> _PathCheck:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return _PathCheck(authorizer, path)


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if dns_subdomain_problems(name):
        raise EvaluationError("Invalid service account name")
    if dns_label_problems(namespace):
        raise EvaluationError("Invalid service account namespace")
    return replace(authorizer, account=(namespace, name))


def _resource(check: _GroupCheck, resource: str) -> ResourceCheck:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return ResourceCheck(check.authorizer, check.group, resource)


def _check_path(check: _PathCheck, verb: str) -> _Decision:
    return _Decision(*check.authorizer.decide(check.authorizer.account, Right(verb, path=check.path)))


def _check_resource(check: ResourceCheck, verb: str) -> _Decision:
    where = check.group, check.resource, check.subresource, check.namespace, check.name
    return _Decision(*check.authorizer.decide(check.authorizer.account, Right(verb, *where)))


def _check_cost(arguments: Sequence[Any], result: Any) -> int:
    return _CHECK_COST


def _check_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    return CallEstimate(costs.fixed(_CHECK_COST))


def _selector_cost(arguments: Sequence[Any], result: Any) -> int:
    size = actual_size(arguments[1])
    return CREATE_LIST + ceil(size * STRING_TRAVERSAL) + ceil(size * 0.5) * (CREATE_LIST + CREATE_STRUCT)


def _selector_estimate(arguments: Sequence[Argument]) -> CallEstimate:
    size = arguments[1].size
    requirements = costs.scale(costs.scale(size, 0.5), CREATE_LIST + CREATE_STRUCT)
    parsing = costs.add(costs.fixed(CREATE_LIST), costs.scale(size, STRING_TRAVERSAL))
    return CallEstimate(costs.add(parsing, requirements))


def _function(name: str, id: str, call: Callable[..., Any], result: Type, *parameters: Type) -> Function:
    return Function(name, (Overload(id, parameters, result, call),))


def _checks() -> Function:
    return Function(
        "check",
        tuple(
            Overload(name, (kind, STRING), _DECISION, call, actual_cost=_check_cost, estimate=_check_estimate)
            for name, kind, call in (
                ("pathcheck_check", _PATH, _check_path),
                ("resourcecheck_check", _RESOURCE, _check_resource),
            )
        ),
        unresolved_cost=_check_cost,
    )


def _part(name: str, id: str) -> Function:
    """Says of which objects a check is."""
    return _function(
        name, id, lambda check, text: replace(check, **{name: text}), _RESOURCE, _RESOURCE, STRING
    )


def _selector(name: str, id: str) -> Function:
    """Roles know no selectors, so whoever may do something may do it to a selection."""
    overload = Overload(
        id,
        (_RESOURCE, STRING),
        _RESOURCE,
        lambda check, text: check,
        actual_cost=_selector_cost,
        estimate=_selector_estimate,
    )
    return Function(name, (overload,))


LIBRARY = Library(
    (
        _function("path", "authorizer_path", _path, _PATH, _AUTHORIZER, STRING),
        _function("group", "authorizer_group", _GroupCheck, _GROUP, _AUTHORIZER, STRING),
        _function(
            "serviceAccount",
            "authorizer_serviceaccount",
            _service_account,
            _AUTHORIZER,
            _AUTHORIZER,
            STRING,
            STRING,
        ),
        _function("resource", "groupcheck_resource", _resource, _RESOURCE, _GROUP, STRING),
        _part("subresource", "resourcecheck_subresource"),
        _part("namespace", "resourcecheck_namespace"),
        _part("name", "resourcecheck_name"),
        _checks(),
        _function("errored", "decision_errored", lambda decision: False, BOOL, _DECISION),
        _function("error", "decision_error", lambda decision: "", STRING, _DECISION),
        _function("allowed", "decision_allowed", lambda decision: decision.allowed, BOOL, _DECISION),
        _function("reason", "decision_reason", lambda decision: decision.reason, STRING, _DECISION),
        _selector("fieldSelector", "authorizer_fieldselector"),
        _selector("labelSelector", "authorizer_labelselector"),
    )
)
