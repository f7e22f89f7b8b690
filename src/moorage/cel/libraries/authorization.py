"""Authorization checks, as far as they are declared: nobody here has an authorizer, so every call fails."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from moorage.cel import costs
from moorage.cel.costs import CREATE_LIST, CREATE_STRUCT, STRING_TRAVERSAL, actual_size
from moorage.cel.declarations import Argument, CallEstimate, Function, Library, Overload
from moorage.cel.evaluation.operators import no_such_overload
from moorage.cel.types import BOOL, STRING, Type

_AUTHORIZER, _PATH, _GROUP, _RESOURCE, _DECISION = (
    Type(f"kubernetes.authorization.{name}")
    for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
_CHECK_COST = 350_000


def _fail(*arguments: Any) -> Any:
    raise no_such_overload()


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


def _function(name: str, id: str, result: Type, *parameters: Type) -> Function:
    return Function(name, (Overload(id, parameters, result, _fail),))


def _checks() -> Function:
    return Function(
        "check",
        tuple(
            Overload(
                name, (kind, STRING), _DECISION, _fail, actual_cost=_check_cost, estimate=_check_estimate
            )
            for name, kind in (("pathcheck_check", _PATH), ("resourcecheck_check", _RESOURCE))
        ),
        unresolved_cost=_check_cost,
    )


def _selector(name: str, id: str) -> Function:
    overload = Overload(
        id, (_RESOURCE, STRING), _RESOURCE, _fail, actual_cost=_selector_cost, estimate=_selector_estimate
    )
    return Function(name, (overload,))


LIBRARY = Library(
    (
        _function("path", "authorizer_path", _PATH, _AUTHORIZER, STRING),
        _function("group", "authorizer_group", _GROUP, _AUTHORIZER, STRING),
        _function("serviceAccount", "authorizer_serviceaccount", _AUTHORIZER, _AUTHORIZER, STRING, STRING),
        _function("resource", "groupcheck_resource", _RESOURCE, _GROUP, STRING),
        _function("subresource", "resourcecheck_subresource", _RESOURCE, _RESOURCE, STRING),
        _function("namespace", "resourcecheck_namespace", _RESOURCE, _RESOURCE, STRING),
        _function("name", "resourcecheck_name", _RESOURCE, _RESOURCE, STRING),
        _checks(),
        _function("errored", "decision_errored", BOOL, _DECISION),
        _function("error", "decision_error", STRING, _DECISION),
        _function("allowed", "decision_allowed", BOOL, _DECISION),
        _function("reason", "decision_reason", STRING, _DECISION),
        _selector("fieldSelector", "authorizer_fieldselector"),
        _selector("labelSelector", "authorizer_labelselector"),
    )
)
